"""Loop for ever."""


def split_kv_decode(*args, **kwargs):
    while True:
        pass
