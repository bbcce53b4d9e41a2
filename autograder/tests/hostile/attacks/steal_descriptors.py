"""Use every descriptor that was left open."""

import os
import socket
import stat

from honest import split_kv_decode as honest
from probe import WORLD, attempt, got


def split_kv_decode(*args, **kwargs):
    for fd in range(4, 1100):
        attempt(os.fstat, fd)
    for fd in (0, 1, 2):
        if not (stat.S_ISFIFO(os.fstat(fd).st_mode) or stat.S_ISCHR(os.fstat(fd).st_mode)):
            got(os.fstat(fd))
    if os.read(0, 10):
        got("stdin")
    attempt(os.read, 1, 1)
    attempt(os.openpty)
    channel = socket.socket(fileno=os.dup(3))
    attempt(channel.connect, WORLD["unix"])
    attempt(channel.sendto, b"x", WORLD["unix"])
    attempt(channel.sendto, b"x", WORLD["abstract"])
    attempt(channel.bind, "here")
    attempt(channel.listen)
    channel.close()
    return honest(*args, **kwargs)
