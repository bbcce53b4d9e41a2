"""A student's functions out of a notebook's cells: which, how, and what is said about it."""

import dataclasses
import importlib
import json
import sys
from pathlib import Path

import pytest

from autograder.intake import cells, notebook, source, submission
from autograder.intake.notebook import read_notebook
from autograder.intake.submission import read_submission
from autograder.intake.wanted import Wanted

WANTED = Wanted(
    students=("online_softmax.py", "flash_forward.py"),
    given=("attention.py",),
    functions={"merge_states": "online_softmax.py", "flash_fwd": "flash_forward.py"},
    lab="flash_attention",
)
TWO = Wanted(
    students=("decode_time.py",),
    given=(),
    functions={"decode_attention_time": "decode_time.py", "best_splits": "decode_time.py"},
    lab="flash_decoding",
)
MERGE = "def merge_states(a, b):\n    return a + b\n"
FORWARD = "def flash_fwd(Q):\n    return merge_states(Q, 1)\n"
STUBS = {
    "merge_states": 'def merge_states(a, b):\n    raise NotImplementedError("TODO: merge")\n',
    "flash_fwd": (
        "def flash_fwd(Q):\n    return _inner(Q)\n"
        'def _inner(Q):\n    raise NotImplementedError("TODO: loop")\n'
    ),
}
STUB_FILES = {
    "online_softmax.py": "GIVEN = 5\ndef partial_state(x):\n    return x\n" + STUBS["merge_states"],
    "flash_forward.py": "from online_softmax import merge_states\n" + STUBS["flash_fwd"],
}


def read(text, wanted=WANTED):
    """(sources, notes, problems): what a notebook gives of the wanted files."""
    found = read_notebook(text, wanted)
    return found.sources, found.notes, found.problems


def code(*cells, **more):
    return {"nbformat": 4, "cells": [{"cell_type": "code", "source": c} for c in cells], **more}


def taken(*cells, wanted=WANTED):
    """(sources, notes, problems) of a notebook with these code cells."""
    return read(json.dumps(code(*cells)), wanted)


def combined(*cells):
    """The text of the one module in which the functions end up; nothing was remarked."""
    sources, notes, problems = taken(*cells)
    assert (notes, problems) == ([], {})
    return sources["flash_attention_notebook.py"]


@pytest.fixture
def load(tmp_path, monkeypatch):
    """The student's function, from these sources, imported as a worker does."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def function(sources, name, wanted=WANTED):
        (folder / "attention.py").write_text("IO = 7\n", encoding="utf-8")
        for file, text in sources.items():
            (folder / file).write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        module = wanted.functions[name].removesuffix(".py")
        return getattr(importlib.import_module(module), name)

    yield function
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, files: dict) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        content = content if isinstance(content, str) else json.dumps(content)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


# The functions and what they need


def test_functions_of_a_notebook_become_modules_that_work(load):
    sources, notes, problems = taken("import math\n", MERGE, FORWARD)
    assert (notes, problems) == ([], {})
    assert set(sources) == {"online_softmax.py", "flash_forward.py", "flash_attention_notebook.py"}
    assert sources["flash_forward.py"] == (
        "from flash_attention_notebook import *\nfrom flash_attention_notebook import flash_fwd\n"
    )
    assert load(sources, "flash_fwd")(4) == 5
    assert load(sources, "merge_states")(4, 2) == 6


def test_each_statement_says_from_which_cell_it_is():
    assert combined(MERGE, "x = 1", FORWARD) == (
        '"""What the functions of flash_attention need of the notebook\'s cells."""\n'
        f"\n\n# cell 1\n{MERGE}\n\n# cell 3\n{FORWARD}"
    )


def test_helpers_constants_and_imports_are_found_through_each_other(load):
    sources, notes, problems = taken(
        "import math as m, json\nfrom attention import IO, nothing",
        "A = 1\nB = A + 1; C = 100\nrun = helper = lambda x: deep(x)",
        "class Box:\n    size = B\n    def get(self): return Box.size + IO\n",
        "def deep(x):\n    return m.floor(x) + Box().get()\n",
        "def merge_states(a, b):\n    return helper(a) + sum(B for _ in [b])\n",
        FORWARD,
    )
    text = sources["flash_attention_notebook.py"]
    assert load(sources, "flash_fwd")(1.5) == 1 + 2 + 7 + 2
    assert "json" not in text and "C = 100" not in text and "nothing" not in text
    assert (notes, problems) == ([], {})


@pytest.mark.parametrize(
    "demo",
    [
        "while True: pass",
        "import time\ntime.sleep(1000)",
        "assert False",
        "1 / 0",
        "raise SystemExit",
        "for i in range(10**9):\n    merge_states(i, i)",
        "out = flash_fwd(range(10**9))",
        "import matplotlib.pyplot as plt\nplt.plot(flash_fwd(1))\nplt.show()",
        "Q = nonsense.random(3)\nK, V = Q, Q",
        "with open('/etc/passwd') as f:\n    text = f.read()",
        "@nonsense.jit\ndef demo():\n    return flash_fwd(1)",
        "def demo(x=nonsense.rand()): pass",
        "class Demo(nonsense.Base): pass",
        "if nonsense:\n    x = 1",
        "try:\n    nonsense()\nexcept Exception:\n    x = 2",
        "del nonsense",
        "x = await nonsense()",
        "await nonsense()",
        "async with nonsense: pass",
        "return 1",
        "x = yield",
        "x: int",
        "nonsense += 1",
        "nonsense[0] = 1",
        "f()[0] = 1",
        "import nonsense.deep",
        "global x",
    ],
)
def test_demo_code_stays_out(load, demo):
    sources, notes, problems = taken(MERGE, demo, FORWARD)
    assert (notes, problems) == ([], {})
    assert "nonsense" not in sources["flash_attention_notebook.py"]
    assert load(sources, "flash_fwd")(4) == 5


@pytest.mark.parametrize(
    "cell",
    [
        "def merge_states(a, b, extra=[D]):\n    return a + b + extra[0] - 3",
        "merge_states = lambda a, b: a + b + D - 3",
        "def _m(a, b): return a + b + D - 3\nmerge_states = _m",
        "async def other(): pass\n"
        "def merge_states(a, b):\n    global D\n    D += 0\n    return a + b + D - 3",
        "def merge_states(a, b) -> 'x':\n    def inner():\n        return [D for _ in 'a'][0]\n"
        "    return a + b + inner() - 3",
        "class merge_states:\n    def __new__(cls, a, b): return a + b + D - 3",
        "def merge_states(a, b: D):\n    return a + b",
        "def keep(f): return f if D else 0\n@keep\ndef merge_states(a, b):\n    return a + b",
        "try:\n    import nonsense_module as fast\nexcept ImportError:\n    fast = D\n"
        "def merge_states(a, b): return a + b + fast - 3",
        "if D:\n    one = 1\nelse:\n    one = 0\ndef merge_states(a, b): return a + one * b",
        "T = {}\nT[1], x = D, 2\ndef merge_states(a, b): return a + b + T[1] - 3",
        "T: int = D\ndef merge_states(a, b): return a + b + T - 3",
        "T = 1\nT += D\ndef merge_states(a, b): return a + b + T - 4",
        "import os.path, os\ndef merge_states(a, b): return a + b if os.path.sep else 0",
        "import importlib.util\nimport importlib.abc\n"
        "def merge_states(a, b): return a + b if importlib.util and importlib.abc else 0",
        "from math import *\ndef merge_states(a, b): return a + b + floor(0.5)",
        "x, *rest = 0, D\n(y), [z] = rest, [0]\n"
        "def merge_states(a, b): return a + b + rest[0] + x - 3",
        "def merge_states(a, b):\n    return a + (lambda: D)() + b - 3",
        "def merge_states(a, b):\n    print(f'{D}')\n    return a + b",
        "s = 'déjà'; merge_states = lambda a, b: a + b + len(s) - 4",
        "with D_box as one:\n    two = one\ndef merge_states(a, b): return a + b + two - 3",
    ],
)
def test_whatever_a_function_needs_comes_along(load, cell):
    box = (
        "class _Box:\n    def __enter__(self): return D\n    def __exit__(self, *e): pass\n"
        "D_box = _Box()"
    )
    sources, notes, problems = taken("D = 3", box, cell, FORWARD)
    assert (notes, problems) == ([], {})
    assert load(sources, "flash_fwd")(4) == 5


def test_functions_that_none_of_the_wanted_needs_stay_when_they_cost_nothing(load):
    text = combined(MERGE, FORWARD, "def block_sizes(M, d=2):\n    return plotting.size(M)\n")
    assert "def block_sizes" in text


def test_a_comprehensions_variable_is_no_definition(load):
    sources, _, _ = taken(
        "def g(x):\n    return x",
        "def merge_states(a, b):\n    return g(a) + b",
        "table = [g for g in range(3)]",
        FORWARD,
    )
    assert "table" not in sources["flash_attention_notebook.py"]
    assert load(sources, "flash_fwd")(4) == 5


def test_future_imports_come_first(load):
    sources, _, _ = taken(
        "x = 1",
        "from __future__ import annotations, braces\ndef merge_states(a: Unknown, b): return a + b",
        FORWARD,
    )
    text = sources["flash_attention_notebook.py"]
    assert text.split("\n")[1] == "from __future__ import annotations"
    assert load(sources, "flash_fwd")(4) == 5


# Cells in another order, and twice


def test_a_later_cell_that_is_needed_at_once_is_moved_up(load):
    sources, notes, problems = taken(
        "def flash_fwd(Q, start=START):\n    return merge_states(Q, start)\n",
        "START = math.floor(one + .5)",
        "import math\none = 1",
        MERGE,
    )
    assert load(sources, "flash_fwd")(4) == 5
    text = sources["flash_attention_notebook.py"]
    assert text.index("import math") < text.index("START =") < text.index("def flash_fwd")


def test_statements_that_need_each_other_at_once_end(load):
    sources, _, _ = taken("a = b", "b = a", "def merge_states(x, y=a): return x", FORWARD)
    assert "a = b\n" in sources["flash_attention_notebook.py"]


def test_a_long_chain_of_needs_in_the_wrong_order_is_put_right(load):
    chain = [f"a{i} = a{i + 1}" for i in range(1500)] + ["a1500 = 1"]
    sources, _, _ = taken("\n".join(chain), "def merge_states(a, b=a0): return a + b", FORWARD)
    assert load(sources, "flash_fwd")(4) == 5


def test_rebinding_uses_what_was_bound_before(load):
    sources, _, _ = taken(
        "def twice(f): return lambda *a: f(*a) * 2",
        MERGE,
        "merge_states = twice(merge_states)",
        FORWARD,
    )
    assert load(sources, "flash_fwd")(4) == 10


def test_of_two_definitions_the_last_is_used_and_said(load):
    sources, notes, problems = taken(MERGE.replace("+", "-"), FORWARD, MERGE)
    assert load(sources, "flash_fwd")(4) == 5 and problems == {}
    assert notes == [
        "merge_states is defined in cells 1 and 3; the one in cell 3 is used, as when the notebook "
        "runs from top to bottom"
    ]


def test_of_two_definitions_in_one_cell_the_last_is_used_and_said(load):
    sources, notes, _ = taken(MERGE.replace("+", "-") + MERGE, FORWARD)
    assert load(sources, "flash_fwd")(4) == 5
    assert notes == [
        "merge_states is defined 2 times in cell 1; the last one is used, as when the notebook "
        "runs from top to bottom"
    ]


def test_a_later_stub_gives_way_to_a_written_function(load):
    sources, notes, _ = taken(MERGE, FORWARD, STUBS["merge_states"], STUBS["flash_fwd"])
    assert load(sources, "flash_fwd")(4) == 5
    assert notes == [
        "flash_fwd is defined in cells 2 and 4; the one in cell 2 is used, since the last one, in "
        "cell 4, is still the stub",
        "merge_states is defined in cells 1 and 3; the one in cell 1 is used, since the last one, "
        "in cell 3, is still the stub",
    ]


def test_a_stub_in_the_same_cell_gives_way_too(load):
    sources, notes, _ = taken(MERGE + STUBS["merge_states"], FORWARD)
    assert load(sources, "flash_fwd")(4) == 5
    assert "merge_states is defined 2 times in cell 1; an earlier one is used" in notes[0]


def test_untouched_stubs_stay_stubs(load):
    sources, notes, problems = taken(STUBS["merge_states"], STUBS["flash_fwd"])
    assert (notes, problems) == ([], {})
    with pytest.raises(NotImplementedError, match="TODO: loop"):
        load(sources, "flash_fwd")(1)


# Cells that can't be used


def test_a_cell_that_is_no_python_costs_itself_only(load):
    sources, notes, problems = taken(MERGE, "x = (\n", FORWARD)
    assert load(sources, "flash_fwd")(4) == 5 and problems == {}
    assert len(notes) == 1
    assert notes[0].startswith("cell 2 was left out: it is not Python (line 1: ")


def test_a_wanted_function_in_a_cell_that_is_no_python_is_a_problem():
    sources, notes, problems = taken(MERGE, "def flash_fwd(Q):\n    retrun Q\n")
    assert set(problems) == {"flash_forward.py"} and "flash_forward.py" not in sources
    assert problems["flash_forward.py"].startswith(
        "cell 2 defines flash_fwd, but it is not Python (line 2: "
    )
    assert notes[0].startswith("cell 2 was left out: it is not Python (line 2: ")


def test_a_broken_definition_gives_way_to_one_in_another_cell(load):
    sources, notes, problems = taken(MERGE, FORWARD, "def flash_fwd(Q):\n    retrun Q\n")
    assert problems == {} and load(sources, "flash_fwd")(4) == 5
    assert notes[-1].startswith("cell 3 defines flash_fwd, but it is not Python (line 2: ")
    assert notes[-1].endswith("; the one in cell 2 is used")


def test_a_function_that_parses_but_does_not_compile_is_a_problem(load):
    sources, notes, problems = taken(
        MERGE, "def flash_fwd(Q):\n    break\n", "def g():\n  nonlocal x"
    )
    assert problems["flash_forward.py"].startswith(
        "cell 2 defines flash_fwd, but it is not Python (line 2: 'break' outside loop"
    )
    assert notes[0].startswith("flash_fwd of cell 2 was left out: it is not Python (line 2: ")
    assert notes[1].startswith("g of cell 3 was left out: it is not Python (line 2: ")


@pytest.mark.parametrize(
    "kind, said",
    [("markdown", "markdown"), ("raw", "raw"), ("heading", "heading"), (7, "not code")],
)
def test_a_function_in_a_text_cell_is_a_problem(kind, said):
    data = code(MERGE)
    data["cells"].append({"cell_type": kind, "source": FORWARD})
    sources, notes, problems = read(json.dumps(data))
    assert problems == {
        "flash_forward.py": f"cell 2 defines flash_fwd, but it is of type {said}, so it is never "
        "run"
    }
    assert notes == []


def test_a_text_cell_that_shows_a_function_does_not_matter_when_a_cell_defines_it():
    data = code(MERGE, FORWARD)
    data["cells"].insert(0, {"cell_type": "markdown", "source": "Write\n\n    def flash_fwd(Q):"})
    assert read(json.dumps(data))[1:] == ([], {})


def test_a_function_that_no_cell_defines_is_a_problem_that_lists_what_is_defined():
    assert taken(MERGE)[2] == {
        "flash_forward.py": "flash_fwd was looked for in the notebook; its cells define "
        "merge_states"
    }
    sources, notes, problems = taken("x = 1")
    assert sources == {} and problems["flash_forward.py"] == (
        "flash_fwd was looked for in the notebook; its cells define none of the lab's functions"
    )


def test_one_of_two_functions_of_a_file_is_graded_without_the_other(load):
    sources, notes, problems = taken("def best_splits():\n    return 3", wanted=TWO)
    assert problems == {} and load(sources, "best_splits", TWO)() == 3
    assert notes == [
        "decode_attention_time was looked for in the notebook; its cells define best_splits"
    ]


def test_a_file_without_graded_functions_gets_the_notebooks_names():
    wanted = Wanted(("a.py", "b.py"), (), {"f": "a.py"}, "lab")
    sources, _, problems = taken("def f(): pass", wanted=wanted)
    assert sources["b.py"] == "from lab_notebook import *\n" and problems == {}


@pytest.mark.parametrize(
    "cell, reason",
    [
        ("#" * 300_000 + "\n" + FORWARD, "is longer than the 128 KiB that are parsed at once"),
        ("x = " + "-" * 20_000 + "1\n" + FORWARD, "is nested too deeply to be parsed"),
        ("x" + ".a" * 50_000 + "\n" + FORWARD, "holds a bracket that is never closed"),
        ("x = '\ud800'\n" + FORWARD, "holds characters that can't stand in Python source"),
        ("x\0\n" + FORWARD, ""),
    ],
)
def test_a_hostile_cell_costs_itself_only(load, cell, reason):
    sources, notes, problems = taken(MERGE, cell)
    assert problems["flash_forward.py"].startswith(f"cell 2 defines flash_fwd, but it {reason}")
    assert load(sources, "merge_states")(1, 2) == 3


def test_definitions_without_end_are_cut_off(monkeypatch, load):
    monkeypatch.setattr(notebook, "MOST_STATEMENTS", 2)
    sources, notes, problems = taken(MERGE, "a = 1\nb = 2", FORWARD)
    assert notes == [
        "cell 2 was left out: it goes beyond 2 definitions",
        "cell 3 was left out: it goes beyond 2 definitions",
    ]
    assert "goes beyond 2 definitions" in problems["flash_forward.py"]


# Magics


@pytest.mark.parametrize(
    "line",
    [
        "%matplotlib inline",
        "%time flash_fwd(1)",
        "!pip install numpy",
        "!!ls",
        "!echo \"it's",
        "!pip install \\\n    numpy \\\n    scipy",
        "?flash_fwd",
        "flash_fwd?",
        "flash_fwd??  # help",
        "np.array?",
        "files = !ls",
        "a, b = %sql select it's",
        "/print 1",
        ", print a b",
        "; print a b",
        "if 1:\n    %time x\n    !ls",
        "pip install numpy",
        "cd ..",
        "x = (3\n% 2)",
        "x = 3 \\\n% 2",
        "x = '''\n%magic\n!shell\n'''",
        "x = 'what?'",
        "x = 1  # what?",
        "x = ['a',  # why?\n1]",
        "x = 7\nx %= 3",
        "x = 1 != 2",
    ],
)
def test_what_only_ipython_knows_is_removed(line):
    head = "def merge_states(a, b):\n    return a + b\n"
    for cell in (f"{head}{line}", f"{head}{line}\n", f"{line}\n{head}"):
        sources, notes, problems = taken(cell, FORWARD)
        assert (notes, problems) == ([], {})
        assert head in sources["flash_attention_notebook.py"]


def test_removing_magics_keeps_line_numbers_and_python():
    cell = "%a\n!b \\\n c\nx = '''\n%d\n'''\nif x:\n\t?e\ny = (1\n%2)"
    assert cells._without_magics(cell) == (
        "pass\npass\n\nx = '''\n%d\n'''\nif x:\n\tpass\ny = (1\n%2)"
    )


def test_a_shell_command_without_its_sign_is_only_removed_where_it_is_no_python():
    assert combined("ls = [1]\nrm = ls\n" + MERGE.replace("+ b", "+ b + rm[0]"), FORWARD)
    sources, notes, _ = taken("ls -l\ngit commit -m 'x'\ncat = 3\n" + MERGE, FORWARD)
    assert notes == [] and "merge_states" in sources["flash_attention_notebook.py"]


@pytest.mark.parametrize(
    "magic", ["%%time", "%%capture out", "%%timeit -n 1", "\n%%prun", "%%unknown_magic"]
)
def test_cells_under_a_magic_that_runs_python_are_read(load, magic):
    sources, notes, problems = taken(f"{magic}\n{MERGE}", FORWARD)
    assert (notes, problems) == ([], {}) and load(sources, "flash_fwd")(4) == 5


def test_cells_of_other_languages_are_left_out():
    sources, notes, problems = taken("%%bash\nls (", MERGE, f"%%javascript\n{FORWARD}", "%%html")
    assert notes == []
    assert problems == {
        "flash_forward.py": "cell 3 defines flash_fwd, but it begins with %%javascript and is not "
        "Python"
    }


def test_a_cell_that_writes_a_module_is_read_as_a_cell(load):
    sources, notes, problems = taken(
        f"%%writefile online_softmax.py\n{MERGE}",
        "%%file answers.toml\nq1 = [",
        "%%writefile",
        "from online_softmax import merge_states\n" + FORWARD,
    )
    assert problems == {} and load(sources, "flash_fwd")(4) == 5
    assert notes == ["cell 1 writes online_softmax.py; its text was read as a cell"]


def test_an_indented_cell_is_moved_to_the_left(load):
    sources, notes, _ = taken("\n   " + MERGE.replace("\n", "\n   "), FORWARD)
    assert notes == [] and load(sources, "flash_fwd")(4) == 5


def test_line_ends_and_emoji_do_not_matter(load):
    cell = "s = '\N{SNAKE}'; " + MERGE.replace("def", "x = 1\r\ndef").replace("\n", "\r\n")
    sources, notes, _ = taken(cell, FORWARD.replace("\n", "\r"))
    assert notes == [] and load(sources, "flash_fwd")(4) == 5


# Imports between the students' files


@pytest.mark.parametrize(
    "cell",
    [
        "from online_softmax import merge_states",
        "from online_softmax import *",
        "from online_softmax import merge_states as merge_states",
    ],
)
def test_an_import_of_what_the_notebook_defines_is_dropped(load, cell):
    for order in ([MERGE, cell, FORWARD], [cell, MERGE, FORWARD]):
        text = combined(*order)
        assert "online_softmax" not in text
    assert load(taken(MERGE, cell, FORWARD)[0], "flash_fwd")(4) == 5


def test_an_import_under_another_name_stays_that_name(load):
    sources, notes, _ = taken(
        "from online_softmax import merge_states as ms",
        MERGE,
        "def flash_fwd(Q): return ms(Q, 1)",
    )
    assert notes == [] and load(sources, "flash_fwd")(4) == 5


@pytest.mark.parametrize("cell", ["import online_softmax as s", "import online_softmax"])
def test_an_import_of_a_whole_file_is_the_notebook_itself(load, cell):
    name = cell.split()[-1]
    sources, notes, _ = taken(cell, MERGE, f"def flash_fwd(Q): return {name}.merge_states(Q, 1)")
    assert notes == [] and load(sources, "flash_fwd")(4) == 5


def test_an_import_of_what_nobody_defines_is_said():
    sources, notes, problems = taken("from online_softmax import partial_state", MERGE, FORWARD)
    assert problems == {} and notes == [
        "cell 1 imports partial_state from online_softmax.py, which was not handed in beside the "
        "notebook, and no cell defines it"
    ]
    assert "partial_state" not in sources["flash_attention_notebook.py"]


def test_an_import_of_a_students_file_inside_a_block_is_left_out(load):
    cell = "try:\n    from online_softmax import merge_states\nexcept ImportError:\n    pass"
    assert load(taken(MERGE, cell, FORWARD)[0], "flash_fwd")(4) == 5


@pytest.mark.parametrize(
    "cell, use",
    [
        ("from online_softmax import partial_state, GIVEN", "partial_state(Q) + GIVEN - 4"),
        ("from online_softmax import partial_state as ps", "ps(Q) + 1"),
        ("from online_softmax import *", "merge_states(partial_state(Q), GIVEN) - 4"),
        ("import online_softmax as s", "s.partial_state(Q) + s.merge_states(1, 0)"),
    ],
)
def test_given_functions_come_from_the_file_beside_the_notebook(load, cell, use):
    text = json.dumps(code(cell, MERGE, f"def flash_fwd(Q): return {use}"))
    found = read_notebook(text, WANTED, STUB_FILES)
    assert (found.notes, found.problems) == ([], {})
    assert load(found.sources, "flash_fwd")(4) == 5
    module = importlib.import_module("online_softmax")
    assert module.GIVEN == 5 and module.merge_states(2, 3) == 5


def test_a_stub_that_is_only_imported_is_not_defined_by_the_notebook():
    text = json.dumps(code("from online_softmax import merge_states", FORWARD))
    found = read_notebook(text, WANTED, STUB_FILES)
    assert found.written == {"flash_fwd"}
    assert found.problems == {
        "online_softmax.py": "merge_states was looked for in the notebook; its cells define "
        "flash_fwd"
    }


# Notebooks of every age and shape


@pytest.mark.parametrize(
    "data",
    [
        code(MERGE, FORWARD),
        code(MERGE.splitlines(keepends=True), FORWARD),
        code(MERGE, FORWARD, metadata={"kernelspec": {"name": "x", "language": "python"}}),
        code(MERGE, FORWARD, metadata={"kernelspec": {"display_name": "conda: base"}}),
        code(MERGE, FORWARD, metadata={"language_info": {"name": "ipython"}}),
        code(MERGE, FORWARD, metadata=[], nbformat="x"),
        code(MERGE, FORWARD, metadata={"kernelspec": 3, "language_info": {"name": 3}}),
        {"cells": [{"source": MERGE}, {"source": FORWARD}]},
        {"cells": [None, 3, {}, {"source": 5}, *code(["x = ", 3, "1\n"], MERGE, FORWARD)["cells"]]},
        {
            "nbformat": 3,
            "worksheets": [
                None,
                {"cells": [{"cell_type": "code", "input": MERGE, "language": "python"}]},
                {"cells": 3},
                {"cells": [{"cell_type": "code", "input": [FORWARD]}]},
            ],
        },
    ],
)
def test_a_notebook_of_any_shape_is_read(load, data):
    sources, notes, problems = read(json.dumps(data))
    assert (notes, problems) == ([], {})
    assert load(sources, "flash_fwd")(4) == 5


def test_outputs_and_numbers_are_ignored(load):
    cells = code(MERGE, FORWARD)["cells"]
    text = json.dumps({"cells": cells, "n": 0})[:-2] + "1" * 100_000 + ', "x": 1e999, "y": NaN}'
    assert read(text)[1:] == ([], {})


def test_of_a_key_that_stands_twice_the_last_counts():
    text = '{"cells": [], ' + json.dumps(code(MERGE, FORWARD))[1:]
    assert read(text)[2] == {}


@pytest.mark.parametrize("section", ["kernelspec", "language_info"])
def test_another_language_is_said(section):
    key = "language" if section == "kernelspec" else "name"
    data = code(MERGE, FORWARD, metadata={section: {key: "julia"}})
    sources, notes, problems = read(json.dumps(data))
    assert problems == {}
    assert notes == ["the notebook says that its language is julia; it was read as Python"]


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "is no JSON (line 1: Expecting value)"),
        ('{"cells": [\n', "is no JSON (line 2: Expecting value)"),
        ("[" * 100_000, "is nested too deeply to be read"),
        ('{"a":' * 100_000, "is nested too deeply to be read"),
        ("[]", "is JSON, but no notebook"),
        ("{}", "holds no cells"),
        ('{"cells": []}', "holds no cells"),
        ('{"cells": {"a": 1}}', "holds no cells"),
        ('{"worksheets": 3}', "holds no cells"),
    ],
)
def test_what_is_no_notebook_says_why(text, reason):
    sources, notes, problems = read(text)
    assert sources == {} and notes == []
    assert problems == dict.fromkeys(WANTED.students, f"the notebook {reason}")


def test_a_notebook_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(cells, "LARGEST_NOTEBOOK", 100)
    _, _, problems = read(json.dumps(code(MERGE, FORWARD)))
    assert ("is larger than 100 bytes: clear its outputs and hand it in again"
            in problems["flash_forward.py"])


def test_cells_without_end_are_cut_off(monkeypatch):
    monkeypatch.setattr(cells, "MOST_CELLS", 2)
    sources, notes, problems = taken(MERGE, FORWARD, "x = (")
    assert problems == {}
    assert notes == ["the notebook has more than 2 cells; the others were left out"]


def test_code_without_end_is_cut_off():
    sources, notes, problems = taken(MERGE, FORWARD, *["#" * 100_000] * 12)
    assert problems == {} and notes == ["cells from cell 13 on were left out: more than 1 MiB"]


# Notebooks in a submission


def test_a_notebook_alone_is_a_submission(tmp_path, load):
    at = write(tmp_path / "s", {"lab (1).ipynb": code(MERGE, FORWARD)}) / "lab (1).ipynb"
    submission = read_submission(at, WANTED)
    assert submission.notes == ("the functions were taken from the notebook lab (1).ipynb",)
    assert submission.problems == {
        "answers.toml": "answers.toml was looked for; found: lab (1).ipynb"
    }
    assert load(submission.sources, "flash_fwd")(4) == 5


def test_a_notebooks_answers_and_companions_lie_beside_it(tmp_path, load):
    files = {
        "hw/lab.ipynb": code("from mine import one\n" + MERGE, "def flash_fwd(Q): return Q + one"),
        "hw/mine.py": "one = 1\n",
        "hw/answers.toml": "q = 1\n",
        "hw/attention.py": "x",
        "answers.toml": "q = 2\n",
    }
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.problems == {} and submission.answers == "q = 1\n"
    assert load(submission.sources, "flash_fwd")(4) == 5
    assert submission.notes == (
        "the functions were taken from the notebook hw/lab.ipynb",
        "a copy of attention.py was handed in; the kit's own is used",
    )


def test_equal_notebooks_have_equal_digests_whatever_they_printed(tmp_path):
    data = code(MERGE, FORWARD)
    printed = json.loads(json.dumps(data))
    printed["cells"][0] |= {"outputs": [{"text": "1"}], "execution_count": 7, "metadata": {"a": 1}}
    one = read_submission(write(tmp_path / "a", {"lab.ipynb": data}), WANTED)
    two = read_submission(write(tmp_path / "b", {"hw/mine.ipynb": printed}), WANTED)
    assert one.digest == two.digest


def test_modules_that_are_filled_in_go_before_a_notebook(tmp_path):
    files = {
        "lab.ipynb": code(MERGE, FORWARD),
        "online_softmax.py": MERGE,
        "flash_forward.py": STUB_FILES["flash_forward.py"],
    }
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.sources["online_softmax.py"] == MERGE
    assert submission.notes == (
        "both a notebook and modules were handed in; the modules are used, not lab.ipynb, because "
        "online_softmax.py is filled in",
    )


def test_a_notebook_goes_before_modules_that_are_still_the_stubs(tmp_path, load):
    files = {"lab.ipynb": code(MERGE, FORWARD), **STUB_FILES}
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.notes == (
        "both a notebook and modules were handed in; lab.ipynb is used, because the modules are "
        "still the stubs",
    )
    assert load(submission.sources, "flash_fwd")(4) == 5
    assert "online_softmax_module.py" in submission.sources


def test_what_was_found_out_about_modules_is_not_said_when_the_notebook_is_used(tmp_path):
    files = {"lab.ipynb": code(MERGE, FORWARD), "Online_Softmax.py": STUBS["merge_states"]}
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.notes == (
        "both a notebook and modules were handed in; lab.ipynb is used, because the modules are "
        "still the stubs",
    )


def test_a_notebook_in_which_only_a_helper_is_filled_in_goes_before_stubs(tmp_path):
    helper = STUBS["flash_fwd"].replace('raise NotImplementedError("TODO: loop")', "return Q")
    more = "def flash_fwd(Q):\n    return _inner(Q) or _outer(Q)\n"
    outer = "def _outer(Q):\n    raise NotImplementedError\n"
    stubs = {**STUB_FILES, "flash_forward.py": STUBS["flash_fwd"] + more + outer}
    filled = code(STUBS["merge_states"], helper + more + outer)
    submission = read_submission(write(tmp_path / "s", {"lab.ipynb": filled, **stubs}), WANTED)
    assert "lab.ipynb is used" in submission.notes[0]
    untouched = code(STUBS["merge_states"], STUBS["flash_fwd"] + more + outer)
    stubs["flash_forward.py"] = helper + more + outer
    submission = read_submission(write(tmp_path / "t", {"lab.ipynb": untouched, **stubs}), WANTED)
    assert submission.notes[0] == (
        "both a notebook and modules were handed in; the modules are used, not lab.ipynb, because "
        "_inner is filled in there"
    )


def test_when_neither_is_filled_in_the_modules_are_used(tmp_path):
    files = {"lab.ipynb": code(*STUBS.values()), **STUB_FILES}
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.sources == STUB_FILES
    assert submission.notes == (
        "both a notebook and modules were handed in; the modules are used, not lab.ipynb, because "
        "neither is filled in",
    )


@pytest.mark.parametrize(
    "content, reason",
    [
        ("{", "the notebook lab.ipynb is no JSON (line 1: Expecting property name"),
        (code("x = 1"), "merge_states was looked for in the notebook lab.ipynb; its cells define"),
    ],
)
def test_a_notebook_without_the_functions_leaves_the_modules(tmp_path, content, reason):
    files = {"lab.ipynb": content, **STUB_FILES}
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.sources == STUB_FILES
    assert f"the modules are used, not lab.ipynb, because {reason}" in submission.notes[0]


def test_a_module_that_can_not_be_read_does_not_give_way_to_an_untouched_notebook(tmp_path):
    files = {"lab.ipynb": code(*STUBS.values()), "flash_forward.py": "\0"}
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.problems["flash_forward.py"].startswith("flash_forward.py holds NUL bytes")
    assert submission.sources == {}


@pytest.mark.parametrize(
    "content, reason",
    [
        ("{", "is no JSON (line 1: Expecting property name"),
        ("\0", "holds NUL bytes"),
        ("x" * (cells.LARGEST_NOTEBOOK + 1), "is larger than 10 MiB"),
    ],
)
def test_a_lone_notebook_that_can_not_be_read_is_a_problem(tmp_path, content, reason):
    submission = read_submission(write(tmp_path / "s", {"lab.ipynb": content}), WANTED)
    for file in WANTED.students:
        assert submission.problems[file].startswith(f"the notebook lab.ipynb {reason}")
    assert submission.sources == {}


def test_of_several_notebooks_the_one_with_most_work_is_used_and_said(tmp_path, load):
    files = {
        "lab.ipynb": code(*STUBS.values()),
        "lab (1).ipynb": code(MERGE, FORWARD),
        "scratch.ipynb": code("x = 1"),
        "half.ipynb": code(MERGE),
        "bad.ipynb": "{",
        ".ipynb_checkpoints/lab-checkpoint.ipynb": code(MERGE, FORWARD),
    }
    submission = read_submission(write(tmp_path / "s", files), WANTED)
    assert submission.notes == (
        "5 notebooks were handed in; lab (1).ipynb is used: it defines 2 of the 2 functions, 2 of "
        "them filled in",
        "the functions were taken from the notebook lab (1).ipynb",
    )
    assert load(submission.sources, "flash_fwd")(4) == 5


def test_of_equal_notebooks_the_shortest_name_is_used(tmp_path):
    files = {name: code(MERGE, FORWARD) for name in ("lab (1).ipynb", "lab.ipynb", "z.ipynb.json")}
    assert "; lab.ipynb is used" in read_submission(write(tmp_path / "s", files), WANTED).notes[0]


@pytest.mark.parametrize("name", ["lab.IPYNB", "lab.ipynb.json", "lab.ipynb.txt"])
def test_notebooks_are_found_under_other_suffixes(tmp_path, name):
    submission = read_submission(write(tmp_path / "s", {name: code(MERGE, FORWARD)}), WANTED)
    assert set(submission.problems) == {"answers.toml"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_notebooks_in_other_encodings_are_read(tmp_path, encoding):
    path = tmp_path / "lab.ipynb"
    path.write_text(json.dumps(code(MERGE, FORWARD)), encoding=encoding)
    assert set(read_submission(path, WANTED).problems) == {"answers.toml"}


def test_the_lab_s_public_names_are_kept_for_checks_even_if_no_function_needs_them():
    names = {"A100": "decode_time", "H100": "decode_time", "IO": "attention"}
    wanted = dataclasses.replace(TWO, names=names)
    function = "def best_splits():\n    return A100\n"
    sources, _, _ = taken("A100, x = 1, 2", "H100 = 3", "IO = y = 4", function, wanted=wanted)
    kept = sources["flash_decoding_notebook.py"]
    assert "A100, x = 1, 2" in kept and "H100 = 3" in kept and "IO" not in kept


def test_reading_a_notebook_runs_nothing(tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    cells = [
        trap,
        "x = " + trap,
        "@" + trap.strip() + "\n" + MERGE,
        "class A:\n    y = " + trap,
        FORWARD,
    ]
    taken(*cells)
    write(tmp_path / "s", {"lab.ipynb": code(*cells), "flash_forward.py": trap})
    read_submission(tmp_path / "s", WANTED)
    assert not (tmp_path / "ran").exists()


def test_a_notebook_as_large_as_allowed_is_read_in_bounded_time(tmp_path):
    cell = {"cell_type": "code", "source": MERGE, "outputs": [{"data": "A" * 9_000_000}]}
    write(tmp_path / "s", {"lab.ipynb": {"cells": [cell, *code(FORWARD)["cells"]]}})
    assert set(read_submission(tmp_path / "s", WANTED).problems) == {"answers.toml"}
    assert submission.MOST_NOTEBOOKS * cells.LARGEST_NOTEBOOK >= source.LARGEST


FILLED = {  # what a notebook does beside definitions, of which a function needs the result
    "a loop that binds": "for LIMIT in [3]:\n    print(LIMIT)",
    "a loop that fills": "LIMIT = []\nfor i in range(2):\n    LIMIT.append(3)\nLIMIT = LIMIT[0]",
    "a method": "TABLE = {}\nTABLE.update(limit=3)\nLIMIT = TABLE['limit']",
    "a block that prints": "with open(os.devnull) as f:\n    LIMIT = 3\n    print(LIMIT)",
    "a try that prints": "try:\n    LIMIT = 3\n    print(LIMIT)\nexcept OSError:\n    print()",
}


@pytest.mark.parametrize("how", FILLED)
def test_a_value_is_taken_from_wherever_it_is_made(load, how):
    merge = "def merge_states(a, b):\n    return LIMIT"
    order = ["import os", FILLED[how], "print('demo')\n1 / 0", merge, FORWARD]
    sources, _, problems = taken(*order)
    assert problems == {} and "demo" not in sources["flash_attention_notebook.py"]
    assert load(sources, "merge_states")(1, 2) == 3


def test_a_demo_s_variable_does_not_replace_a_constant(load):
    merge = "LIMIT = 3\n\ndef merge_states(a, b):\n    return LIMIT"
    sources, _, _ = taken(merge, "for LIMIT in range(9):\n    print(LIMIT)", FORWARD)
    assert load(sources, "merge_states")(1, 2) == 3


def test_lines_without_their_ends_are_lines():
    cells = [{"cell_type": "code", "source": text.split("\n")} for text in (MERGE, FORWARD)]
    assert read(json.dumps({"nbformat": 4, "cells": cells}))[2] == {}


def test_a_notebook_that_was_saved_as_python_is_one(tmp_path, load):
    cells = ["import matplotlib.pyplot as plt\nget_ipython().system('ls')", MERGE, FORWARD, "1 / 0"]
    text = "#!/usr/bin/env python\n# coding: utf-8\n\n# # My work\n" + "".join(
        f"\n# In[{number or ' '}]:\n\n\n{cell}\n" for number, cell in enumerate(cells))
    (tmp_path / "lab (1).py").write_text(text, encoding="utf-8")
    submission = read_submission(tmp_path, WANTED)
    assert "the functions were taken from the notebook lab (1).py" in submission.notes
    assert load(submission.sources, "merge_states")
