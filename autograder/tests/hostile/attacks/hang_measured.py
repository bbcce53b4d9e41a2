"""Hang only where memory is measured."""

import time
import tracemalloc

from honest import split_kv_decode as honest


def split_kv_decode(*args, **kwargs):
    if tracemalloc.is_tracing():
        time.sleep(1000)
    return honest(*args, **kwargs)
