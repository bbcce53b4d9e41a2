"""Return an integer of five million digits."""


def split_kv_decode(*args, **kwargs):
    return [1 << (1 << 24)] * 3
