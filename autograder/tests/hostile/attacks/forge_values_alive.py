"""The same, but the process lives on, and every question is answered with one odd value."""

import json
import os
import struct
import sys

import numpy as np


def number_of_the_question():
    frame = sys._getframe()
    while frame:
        if "header" in frame.f_locals and "id" in frame.f_locals["header"]:
            return frame.f_locals["header"]["id"]
        frame = frame.f_back


def split_kv_decode(*args, **kwargs):
    number = number_of_the_question()
    if number is None:
        return None
    trees = (["x"], [[]], [[[], [], []]], [None], [{"record": {"o": 1}, "kind": "o"}],
             [{"tuple": [{"dict": {}}, {"name": "q"}, 5]}], "x", 5, [[1, 2, 10**900]])
    text = json.dumps({"id": number, "value": trees[number % len(trees)], "sizes": []}).encode()
    os.write(3, struct.pack("<II", len(text), 0) + text)
    sys.settrace(None)
    os.close(3)
    return np.zeros(3)
