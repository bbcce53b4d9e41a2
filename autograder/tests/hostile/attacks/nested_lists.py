"""Return lists nested a hundred thousand deep."""


def split_kv_decode(*args, **kwargs):
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested
