"""The one error that the kit's commands show: what is wrong, and what to do; and full disks."""

import errno


class KitError(Exception):
    """A tool error: one line that says what is wrong, one that says what to do; exit code 2."""

    def __init__(self, what: str, todo: str):
        super().__init__(f"{what}\n{todo}")
        self.what = what
        self.todo = todo


def is_full(error: Exception) -> bool:
    """Whether a disk, or what somebody may put on it, is full: no fault of any file's."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
