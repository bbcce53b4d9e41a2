"""Raise an exception whose text takes for ever."""

import time


class Slow(Exception):
    def __str__(self):
        time.sleep(1000)
        return "at last"


def split_kv_decode(*args, **kwargs):
    raise Slow
