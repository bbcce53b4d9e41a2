"""Return the right result in a list that hangs when it is thrown away."""

import time

from honest import split_kv_decode as honest


class Last(list):
    def __del__(self):
        time.sleep(1000)


def split_kv_decode(*args, **kwargs):
    return Last(honest(*args, **kwargs))
