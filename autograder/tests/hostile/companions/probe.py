"""Comes along with every attack: what an attacker may know, and how it says what it got."""

import os

WORLD = {}  # filled in by the arena


def got(what):
    """The attack got what nobody may get; staff see this output, and the arena looks for it."""
    os.write(1, f"BREACH {what!r:.300}\n".encode("utf-8", "replace"))


def attempt(action, *args, **kwargs):
    """Call an action that must be refused; what it returns, or None when it is."""
    try:
        value = action(*args, **kwargs)
    except Exception:
        return None
    got((getattr(action, "__name__", action), args, value))
    return value


def read(path):
    """Read a file that nobody may read."""
    attempt(lambda: open(path, "rb").read(1000))


def write(path):
    """Write a file where nobody may write."""
    attempt(lambda: open(path, "w", encoding="utf-8").write(WORLD["mark"]))
