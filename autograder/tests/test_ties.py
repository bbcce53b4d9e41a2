"""Cases of the time model keep away from ties, where honest round-off could choose otherwise."""

from __future__ import annotations

import importlib.util
import sys
from itertools import chain
from pathlib import Path

import pytest

from autograder.checks.flash_decoding import hidden, public, reference
from autograder.kit.calls import call
from autograder.kit.lab import LocalLab

MODULE = Path(__file__).parents[2] / "solutions" / "flash_decoding" / "decode_time.py"


@pytest.fixture(scope="module")
def lab():
    spec = importlib.util.spec_from_file_location("decode_time_of_solution", MODULE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    yield LocalLab(lambda name: getattr(module, name), dict)
    del sys.modules[spec.name]


def test_no_case_lies_near_a_tie_of_products_and_reads(lab):
    frozen = [*reference.public(call, {}).values(), *reference.hidden(call, {}).values()]
    times = lab.run_all(list(chain(*frozen)))
    assert min(abs(time["t_comp"] / time["t_mem"] - 1) for time in times) > 1e-3


@pytest.mark.parametrize("choice", public.LONG + public.FITTING + hidden.CHOICES)
def test_no_candidate_is_near_1_percent_slower_than_the_best(lab, choice):
    gpu = choice.gpu or call.A100_DEC
    times = [lab.decode_attention_time(*choice.shape, "fd", gpu, n)["t"] for n in choice.fitting]
    assert min(abs(t / min(times) - 1.01) for t in times) > 1e-3
    assert lab.run(choice.call(lab))[0] in choice.fitting
