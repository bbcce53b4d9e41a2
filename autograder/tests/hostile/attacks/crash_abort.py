"""Abort, as the C library does."""

import os


def split_kv_decode(*args, **kwargs):
    os.abort()
