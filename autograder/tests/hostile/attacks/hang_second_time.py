"""Answer rightly once, then hang."""

import time

from honest import split_kv_decode as honest

calls = []


def split_kv_decode(*args, **kwargs):
    calls.append(1)
    if len(calls) > 1:
        time.sleep(1000)
    return honest(*args, **kwargs)
