"""Stop the process, as ctrl-Z does."""

import os
import signal


def split_kv_decode(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGSTOP)
