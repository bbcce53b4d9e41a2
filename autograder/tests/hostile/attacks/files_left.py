"""Leave more files than are allowed, then end: the other functions find the folder full."""

import os


def split_kv_decode(*args, **kwargs):
    for n in range(500):
        open(f"{n}.txt", "w").close()
    os._exit(0)
