"""Raise exceptions with endless texts of characters that take most room in JSON."""


def deeper(n):
    if n:
        return deeper(n - 1)
    raise type("\N{GRINNING FACE}" * 100_000, (Exception,), {})("\N{GRINNING FACE}" * 1_000_000)


def split_kv_decode(*args, **kwargs):
    deeper(500)
