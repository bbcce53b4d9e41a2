"""Answer rightly while a thread prints without end."""

import os
import threading

from honest import split_kv_decode as honest


def split_kv_decode(*args, **kwargs):
    def shout():
        while True:
            os.write(1, b"x" * 65536)

    threading.Thread(target=shout, daemon=True).start()
    return honest(*args, **kwargs)
