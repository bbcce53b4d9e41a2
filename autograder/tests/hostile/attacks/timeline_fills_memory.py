"""Fill the memory in a lab that has one function and no numpy."""


def timeline(*args, **kwargs):
    return [bytearray(1 << 20) for _ in range(1 << 20)]
