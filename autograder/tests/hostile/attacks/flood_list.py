"""Return a list without end."""

import itertools


class Endless(list):
    def __iter__(self):
        return itertools.count()


def split_kv_decode(*args, **kwargs):
    return Endless()
