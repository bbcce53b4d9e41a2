"""Hang only where memory is measured, which the sizes tell."""

import time

from honest import split_kv_decode as honest


def split_kv_decode(q, K, *args, **kwargs):
    if len(K) > 1000:
        time.sleep(1000)
    return honest(q, K, *args, **kwargs)
