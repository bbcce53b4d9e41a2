"""Fill the memory with lists."""


def split_kv_decode(*args, **kwargs):
    hoard = []
    while True:
        hoard.append([0] * 1_000_000)
