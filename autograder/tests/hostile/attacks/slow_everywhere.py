"""Take nearly all the time that a call may take, every time: never a hang, but no end either."""

import time

from honest import best_splits as honest_best
from honest import decode_attention_time as honest_time


def decode_attention_time(*args, **kwargs):
    time.sleep(0.7)
    return honest_time(*args, **kwargs)


def best_splits(*args, **kwargs):
    time.sleep(0.7)
    return honest_best(*args, **kwargs)
