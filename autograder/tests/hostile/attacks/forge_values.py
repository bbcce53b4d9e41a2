"""
Answer with values that no honest worker sends: names that objects must not have, requests,
endless use of one buffer, arrays that lie about themselves.
"""

import gc
import json
import os
import struct
import zlib

MANY = {"tuple": [{"array": 0, "dtype": "|u1", "shape": [1 << 20]}] * 1000}
TREES = (
    {"record": {"__array_interface__": {"dict": {
        "data": {"tuple": [4096, False]}, "shape": {"tuple": [1000, 1000]},
        "typestr": "<f8", "version": 3}}}, "kind": "x"},
    {"record": {"dtype": 1}, "kind": "array"},
    {"record": {"__class__": 1, "__float__": 2, "_kind": 3}, "kind": {"dict": {}}},
    {"record": {"shape": 1, "dtype": 2, "ndim": 3, "read": 1}, "kind": "x" * 10_000},
    {"record": 5}, {"record": [[1, 2]]}, {"record": {}, "kind": "x", "entries": {"a": 1}},
    {"call": "split_kv_decode", "args": [], "kwargs": {}}, {"call": 1, "args": 2},
    {"call": "x", "args": [], "kwargs": []}, {"name": ["os", "system"]}, {"name": "__import__"},
    {"request": "PeakMemory", "parts": [1, 2]}, {"request": "Popen", "parts": []},
    {"float": "1e999"}, {"float": []}, {"pairs": [[[], 1]]}, {"pairs": [[1]]}, {"dict": 7},
    {"array": 0, "dtype": "|O", "shape": [1]}, {"array": 0, "dtype": "<f8", "shape": [1 << 60]},
    {"array": -1, "dtype": "|u1", "shape": [1 << 20]}, {"array": 0, "dtype": [], "shape": []},
    {"array": 0, "dtype": "|u1", "shape": [1 << 20], "steps": [1 << 40]},
    {"array": 0, "dtype": "|u1", "shape": [1 << 20], "steps": [-1]},
    {"array": 0, "dtype": "|u1", "shape": [1 << 20], "steps": [15] },
    {"array": 0, "dtype": "|u1", "shape": [1 << 20], "steps": [0.5]},
    {"array": 0, "dtype": "|u1", "shape": [1 << 20], "steps": "x", "readonly": []},
    {"array": 0, "dtype": "|b1", "shape": [1 << 20]}, {"array": "0"}, {}, {"dtype": "<f8"},
    "x" * 1_000_000, MANY, None, True, 10**900, -(10**900), "\ud800", [], [[]], [None],
    [MANY, MANY, MANY], [[1, 2, 3]], [{"tuple": [None, None, None]}], [10**900, 10**900],
    [{"float": "nan"}, 1], [1, {"float": "nan"}], [1, -(1 << 61)], [1, 2, 3],
)


def send(number, tree):
    payload = bytes(1 << 20)
    text = json.dumps({"id": number, "value": tree, "sizes": [len(payload)]}).encode()
    data = struct.pack("<II", len(text), len(payload)) + text + payload
    while data:
        data = data[os.write(3, data):]


def split_kv_decode(q, *args, **kwargs):
    headers = [x for x in gc.get_objects() if isinstance(x, dict) and x.keys() >= {"id", "request"}]
    send(headers[-1]["id"] if headers else 1, TREES[zlib.crc32(q.tobytes()) % len(TREES)])
    os._exit(0)
