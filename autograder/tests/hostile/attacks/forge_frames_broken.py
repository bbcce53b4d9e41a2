"""Send frames that are none: another kind each call."""

import os
import struct
import zlib

import numpy as np


def frame(text, payload=b"", sizes=None):
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<II", len(text), len(payload)) + text + payload


MEGABYTE = b"x" * (1 << 20)
KINDS = (
    struct.pack("<II", 2**32 - 1, 2**32 - 1), struct.pack("<II", 0, 0), b"HTTP/1.1 200 OK\r\n\r\n",
    frame("null"), frame("[]"), frame('"passed"'), frame("1"), frame("{}"), frame(b"\xff\xfe"),
    frame('{"sizes": null}'), frame('{"sizes": [-1]}'), frame('{"sizes": [1.0]}'),
    frame('{"sizes": [true]}', b"x"), frame('{"sizes": {"0": 1}}'), frame('{"sizes": ["1"]}'),
    frame("[" * 100_000), frame('{"a":' * 100_000), frame("9" * 1_000_000),
    frame('{"sizes": [' + ",".join(["0"] * 1_000_000) + "]}"),
    frame("[" + "[]," * 2_700_000 + "[]]"), frame("[" + "{}," * 2_700_000 + "{}]"),
    frame('{"id": NaN, "sizes": []}'), frame('{"id": Infinity, "value": NaN, "sizes": []}'),
    frame(b'{"id": 1, "id": 2, "sizes": [1048576]}', MEGABYTE),
)


def split_kv_decode(q, *args, **kwargs):
    data = KINDS[zlib.crc32(q.tobytes()) % len(KINDS)]  # another one for other inputs
    while data:
        data = data[os.write(3, data):]
    return np.zeros(3)
