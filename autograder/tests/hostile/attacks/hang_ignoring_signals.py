"""Sleep, and ignore every signal that can be ignored."""

import signal
import time


def split_kv_decode(*args, **kwargs):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    time.sleep(1000)
