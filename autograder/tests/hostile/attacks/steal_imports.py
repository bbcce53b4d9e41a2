"""Import what only the grader has."""

import importlib
import sys

from honest import split_kv_decode as honest
from probe import WORLD, attempt, got

NAMES = ("autograder", "autograder.checks.oracle", "autograder.checks.flash_decoding.hidden",
         "autograder.grading.grade", "autograder.kit.frozen", "release", "release.solution",
         "gradescope_utils", "pytest", "split_kv_solution", "solutions.flash_decoding.split_kv")


def split_kv_decode(*args, **kwargs):
    kept = list(sys.path)
    sys.path[:0] = [WORLD["root"], WORLD["root"] + "/solutions/flash_decoding", WORLD["base"], ".."]
    for name in NAMES:
        attempt(importlib.import_module, name)
    for name in list(sys.modules):
        if name.startswith(("autograder", "release")):
            got(name)
    sys.path[:] = kept
    return honest(*args, **kwargs)
