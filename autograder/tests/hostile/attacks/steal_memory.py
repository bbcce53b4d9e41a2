"""Look for right answers and secrets in this process: objects, frames, modules, raw memory."""

import ctypes
import gc
import sys

from honest import split_kv_decode as honest
from probe import got

BEGINNING, END = "nobody-may-", "see"  # of the secret, never in one piece in this process
KINDS = ("Frozen", "Judge", "Check", "Release", "Diagnosis", "RemoteLab", "Grader")


def holds_the_secret(text):
    at = text.find(BEGINNING)
    while at >= 0:
        if text[at + len(BEGINNING) :][: len(END)] == END:
            return True
        at = text.find(BEGINNING, at + 1)
    return False


def look(thing):
    if isinstance(thing, (str, bytes)):
        if holds_the_secret(thing if isinstance(thing, str) else thing.decode("latin-1")):
            got(thing)
    if type(thing).__name__ in KINDS:
        got(thing)


def split_kv_decode(*args, **kwargs):
    things = gc.get_objects()
    for thing in things:
        look(thing)
        for inner in gc.get_referents(thing):
            look(inner)
    for name in sys.modules:
        if name.startswith(("autograder.checks", "autograder.grading", "release", "solutions")):
            got(name)
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            look(value)
        frame = frame.f_back
    for page in {id(thing) & ~0xFFF for thing in things}:
        if holds_the_secret(ctypes.string_at(page, 4096).decode("latin-1")):
            got("the secret in raw memory")
    return honest(*args, **kwargs)
