"""Answer rightly, and make and remove files so fast that they are gone when they are looked at."""

import os
import time

from honest import split_kv_decode as honest

started = []


def split_kv_decode(*args, **kwargs):
    end = time.monotonic() + (0.5 if not started else 0)
    started.append(1)
    while time.monotonic() < end:
        for n in range(20):
            open(f"{n}.txt", "w").close()
        for n in range(20):
            os.remove(f"{n}.txt")
    return honest(*args, **kwargs)
