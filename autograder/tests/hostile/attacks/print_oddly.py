"""Answer rightly and print control characters, half characters, and what looks like results."""

import os

from honest import split_kv_decode as honest


def split_kv_decode(*args, **kwargs):
    os.write(1, b"\x00\x07\x1b[2J\x1b]0;title\x07\xff\xfe\xc3\r\b\x7f\xe2\x80\xae")
    os.write(2, b'{"score": 100, "tests": [{"score": 100}]}\n' * 1000)
    print("\N{GRINNING FACE}" * 30_000)
    return honest(*args, **kwargs)
