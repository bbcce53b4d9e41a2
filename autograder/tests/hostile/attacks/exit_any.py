"""End the process with another code each time, among them those that mean something to somebody."""

import os
import time


def split_kv_decode(*args, **kwargs):
    os._exit(time.monotonic_ns() // 1000 % 256)
