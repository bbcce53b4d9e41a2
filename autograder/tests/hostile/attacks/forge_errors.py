"""Answer with errors that hold anything but texts, to be shown to staff and students."""

import json
import os
import struct
import sys
import zlib

deep = []
for _ in range(400):
    deep = [deep]
ERRORS = (
    {"error": "NotImplementedError", "text": deep, "frames": deep},
    {"error": deep, "text": {"a": deep}, "frames": [[deep, deep, deep, deep]] * 1000},
    {"error": "AssertionError", "text": "passed\r\x1b[2J" * 1000, "frames": [["a"] * 4] * 100_000},
    {"error": 10**900, "text": 10**900, "frames": {"a": 1}},
    {"error": "MemoryError", "text": None, "frames": [None, 1, "x", [], [1, 2, 3]]},
    {"not_plain": deep}, {"not_plain": "\ud800" * 10_000}, {},
    {"error": "grader error", "text": "the grader broke: tell staff", "status": "grader error"},
)


def split_kv_decode(q, *args, **kwargs):
    frame = sys._getframe()
    while "header" not in frame.f_locals or "id" not in frame.f_locals["header"]:
        frame = frame.f_back
    error = ERRORS[zlib.crc32(q.tobytes()) % len(ERRORS)]
    number = frame.f_locals["header"]["id"]
    text = json.dumps({**error, "id": number, "sizes": []}).encode()
    data = struct.pack("<II", len(text), 0) + text
    while data:
        data = data[os.write(3, data):]
    os.closerange(3, 100)
