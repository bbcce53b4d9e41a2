"""End by every signal there is, one a call: real-time ones have no name."""

import os
import signal
import time


def split_kv_decode(*args, **kwargs):
    number = time.monotonic_ns() // 1000 % 64 + 1
    if number in set(signal.Signals):
        try:
            signal.signal(number, signal.SIG_DFL)
        except OSError:
            pass
    os.kill(os.getpid(), number)
    os.kill(os.getpid(), 40)
