"""Hang in every function of this file; the other file's does too, once it is asked."""

import time


def decode_attention_time(*args, **kwargs):
    time.sleep(1000)


best_splits = decode_attention_time
