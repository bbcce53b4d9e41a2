"""Close stdout and put things in its place that fail or hang when they are flushed."""

import sys

from honest import split_kv_decode as honest


class Stubborn:
    def flush(self):
        raise KeyboardInterrupt

    write = flush


def split_kv_decode(*args, **kwargs):
    if sys.stdout:
        sys.stdout.close()
    sys.stdout = sys.__stdout__ = None
    sys.stderr = Stubborn()
    return honest(*args, **kwargs)
