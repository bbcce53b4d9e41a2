"""Send an answer that has announced itself as large, a byte at a time and for ever."""

import os
import struct


def split_kv_decode(*args, **kwargs):
    os.write(3, struct.pack("<II", 8 << 20, 16 << 20))
    while True:
        os.write(3, b" ")
