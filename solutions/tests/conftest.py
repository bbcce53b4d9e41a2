"""The solutions under test: one fixture a lab, whose attributes are the names of its modules."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

SOLUTIONS = Path(__file__).parent.parent
TERM = max((SOLUTIONS.parent / "release" / "terms").glob("*.toml"))  # the default term


def load_lab(name, *modules):
    """
    A fresh copy of a lab's modules, which import each other flat, as one namespace.

    The lab's folder is on sys.path, and its modules in sys.modules, only while they load: a name
    that two labs share can't mix them up.
    """
    lab = SimpleNamespace()
    kept = {module: sys.modules.pop(module) for module in modules if module in sys.modules}
    sys.path.insert(0, str(SOLUTIONS / name))
    try:
        importlib.invalidate_caches()
        for module in modules:
            loaded = vars(importlib.import_module(module))
            vars(lab).update((k, v) for k, v in loaded.items() if not k.startswith("_"))
    finally:
        sys.path.remove(str(SOLUTIONS / name))
        for module in modules:
            sys.modules.pop(module, None)
        sys.modules.update(kept)
    return lab


@pytest.fixture(scope="session")
def attention():
    """The lab flash_attention."""
    modules = ("online_softmax", "attention", "flash_forward", "flash_backward")
    return load_lab("flash_attention", *modules)


@pytest.fixture(scope="session")
def decoding():
    """The lab flash_decoding."""
    return load_lab("flash_decoding", "split_kv", "decode_time")


@pytest.fixture(scope="session")
def megakernel():
    """The lab megakernel."""
    return load_lab("megakernel", "llama_ops", "timeline")


@pytest.fixture(scope="session")
def golden():
    """golden("timeline"): the cases of one file of numbers from an independent implementation."""
    folder = Path(__file__).parent / "golden"
    return lambda name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def term():
    """The figures of the first term's questions, by lab."""
    return tomllib.loads(TERM.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def answers():
    """answers("megakernel"): the lab's answers.toml."""
    return lambda lab: tomllib.loads((SOLUTIONS / lab / "answers.toml").read_text(encoding="utf-8"))
