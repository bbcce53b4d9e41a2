"""Raise exceptions that lie about their class, text, line and traceback, or hang on them."""

import itertools
import time


class Meta(type):
    __name__ = property(lambda cls: time.sleep(1000))

    def __repr__(cls):
        raise KeyboardInterrupt


class Liar(BaseException, metaclass=Meta):
    def __str__(self):
        return Text("\N{WHITE HEAVY CHECK MARK} passed\r\x1b[2J\x00")

    __repr__ = __str__
    __traceback__ = __cause__ = __context__ = property(lambda self: 1 / 0)
    __class__ = NotImplementedError


class Text(str):
    def __getitem__(self, part):
        raise SystemExit

    encode = __len__ = __format__ = __getitem__


class Code(SyntaxError):
    filename = lineno = text = msg = property(lambda self: 1 / 0)


KINDS = itertools.cycle((Liar, Code, lambda: type("Grader error", (Exception,), {})("staff")))


def split_kv_decode(*args, **kwargs):
    raise next(KINDS)()
