"""Answer rightly; modules forgotten, calls traced, numbers of one digit, no environment left."""

import decimal
import gc
import locale
import os
import resource
import signal
import sys

from honest import split_kv_decode as honest


def ignore(*args):
    return None


decimal.getcontext().prec = 1
locale.setlocale(locale.LC_ALL, "C")
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
signal.signal(signal.SIGALRM, ignore)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
sys.setswitchinterval(100)
os.environ.clear()
os.umask(0)
gc.set_threshold(1)


def split_kv_decode(*args, **kwargs):
    answer = honest(*args, **kwargs)
    sys.settrace(ignore)
    sys.setprofile(ignore)
    sys.setrecursionlimit(60)
    sys.meta_path.clear()
    sys.path[:] = ["/"]
    sys.modules.clear()
    return answer
