"""Wait for a thread that waits for this one."""

import threading

lock = threading.Lock()


def split_kv_decode(*args, **kwargs):
    lock.acquire()
    thread = threading.Thread(target=lock.acquire)
    thread.start()
    thread.join()
