"""The stripper: what a stub looks like, and every marker that stops the build."""

from __future__ import annotations

import pytest

from autograder.kit.errors import KitError
from release.strip import looks_like_a_marker, regions, strip

SOURCE = '''"""A module."""


def f(x):
    """Twice x."""
    y = x
    # BEGIN SOLUTION: return twice "x"
    # Twice is once more.
    return x + y
    # END SOLUTION


def g():
    return 1
'''


def test_a_region_becomes_a_todo_and_a_notimplementederror():
    assert strip(SOURCE, "m.py") == '''"""A module."""


def f(x):
    """Twice x."""
    y = x
    # TODO: return twice "x"
    raise NotImplementedError("TODO: return twice \\"x\\"")


def g():
    return 1
'''


def test_a_stub_is_a_module_that_raises_its_goal():
    names: dict = {}
    exec(strip(SOURCE, "m.py"), names)
    with pytest.raises(NotImplementedError, match='TODO: return twice "x"'):
        names["f"](1)
    assert names["g"]() == 1


def test_a_source_without_regions_is_its_own_stub():
    assert strip("x = 1\n", "m.py") == "x = 1\n"


def test_regions_gives_the_hidden_lines():
    assert regions(SOURCE) == [["    # Twice is once more.", "    return x + y"]]


BEGIN, END = "    # BEGIN SOLUTION: do it", "    # END SOLUTION"


@pytest.mark.parametrize(("lines", "where", "what"), [
    ([BEGIN, BEGIN, END], 3, "BEGIN SOLUTION inside the region of line 2"),
    ([END], 2, "END SOLUTION without a BEGIN SOLUTION"),
    ([BEGIN, "    pass"], 2, "BEGIN SOLUTION has no END SOLUTION"),
    ([BEGIN, "    pass", "  # END SOLUTION"], 4, "END SOLUTION is not below the marker of line 2"),
    ([BEGIN, "    pass", END, "    x = 1"], 5, "the function goes on after END SOLUTION"),
    ([BEGIN, "    pass", END, "", "    x = 1"], 6, "the function goes on after END SOLUTION"),
    (["    # BEGIN SOLUTIN: do it"], 2, "looks like a solution marker"),
    (["    # BEGIN SOLUTION"], 2, "looks like a solution marker"),
    (["    # BEGIN SOLUTION:"], 2, "looks like a solution marker"),
    (["    # begin solution: do it"], 2, "looks like a solution marker"),
    (["    ### BEGIN SOLUTION"], 2, "looks like a solution marker"),
    (["    #BEGIN SOLUTION: do it"], 2, "looks like a solution marker"),
    (["    # BEGIN_SOLUTION: do it"], 2, "looks like a solution marker"),
    (["    # BEGINSOLUTION: do it"], 2, "looks like a solution marker"),
    (["    return 1  # END SOLUTION"], 2, "looks like a solution marker"),
    ([BEGIN, "    pass", "    # END SOLUTIONS"], 4, "looks like a solution marker"),
    ([BEGIN, "    pass", "    # END OF SOLUTION"], 4, "looks like a solution marker"),
    ([BEGIN, "    pass", "    # END SOLUTION "], 4, "looks like a solution marker"),
])
def test_a_marker_that_is_not_as_it_must_be_stops_the_build(lines, where, what):
    source = "\n".join(["def f():", *lines]) + "\n"
    with pytest.raises(KitError, match=what) as error:
        strip(source, "solutions/lab/m.py")
    assert error.value.what.startswith(f"solutions/lab/m.py:{where}: ")
    assert "# BEGIN SOLUTION: <goal>" in error.value.todo


@pytest.mark.parametrize("line", [
    "# The end solves nothing", "x = 1  # begin with the first block", "# solution", "#", "",
    '"""Ends when the solution does."""',
])
def test_ordinary_comments_are_no_markers(line):
    assert not looks_like_a_marker(line)
