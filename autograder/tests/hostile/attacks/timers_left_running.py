"""Answer rightly, and leave a timer that runs while the process should wait."""

import os
import signal

from honest import split_kv_decode as honest


def split_kv_decode(*args, **kwargs):
    signal.signal(signal.SIGALRM, lambda *_: os.write(1, b"."))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return honest(*args, **kwargs)
