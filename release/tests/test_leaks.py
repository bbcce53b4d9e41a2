"""The leak gate: clean artefacts pass, and every kind of planted leak is found and named."""

from __future__ import annotations

import base64
import json
import py_compile

import pytest

from release.leaks import Hidden, scan, scan_solution_lines
from release.package import student_files, zipped
from release.solution import labs, read_solution
from release.strip import regions

LAB = "flash_attention"
SECRET = "a term's secret"


@pytest.fixture(scope="module")
def hidden() -> Hidden:
    return Hidden(read_solution(LAB))


@pytest.fixture(scope="module")
def line() -> str:
    """A line of the solution that says a good deal."""
    source = read_solution(LAB).sources["flash_forward.py"]
    lines = [line.strip() for region in regions(source) for line in region]
    return next(line for line in lines if line.startswith("acc = old[:, None]"))


@pytest.fixture(scope="module")
def comment() -> str:
    source = read_solution(LAB).sources["flash_forward.py"]
    return next(line.strip() for region in regions(source) for line in region
                if line.strip().startswith("# Bring the old"))


def cell(**fields) -> bytes:
    """A notebook of one cell."""
    whole = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": ""} | fields
    return json.dumps({"cells": [whole], "metadata": {}, "nbformat": 4}).encode()


def only(findings: list[str]) -> str:
    assert len(findings) == 1, findings
    return findings[0]


@pytest.mark.parametrize("lab", labs())
def test_what_students_get_is_clean(lab):
    solution = read_solution(lab)
    stubs = {name: text.encode() for name, text in solution.stubs.items()}
    assert scan(stubs, Hidden(solution)) == []


def test_a_line_in_a_handout_is_found(hidden, line):
    found = only(scan({"handout.md": f"As you know,\n    {line}\n".encode()}, hidden))
    assert found.startswith("handout.md: line 2 is a line of the solution: acc = old")


def test_other_spaces_do_not_hide_a_line(hidden, line):
    assert scan({"stub.py": line.replace(" ", "  ").encode()}, hidden)


def test_a_line_with_other_names_is_found(hidden, line):
    renamed = line.replace("acc", "total").replace("old", "weight").replace("Vj", "values")
    assert "with other names" in only(scan({"plots.py": renamed.encode()}, hidden))


def test_a_comment_of_the_solution_is_found(hidden, comment):
    assert scan({"stub.py": f"x = 1\n    {comment}\n".encode()}, hidden)


def test_a_notebooks_output_is_looked_into(hidden, line):
    output = {"output_type": "stream", "name": "stdout", "text": ["ok\n", f"{line}\n"]}
    assert "outputs" in scan({"lab.ipynb": cell(outputs=[output])}, hidden)[-1]


def test_a_notebooks_metadata_is_looked_into(hidden, line):
    assert "metadata" in scan({"lab.ipynb": cell(metadata={"note": line})}, hidden)[-1]


def test_a_notebooks_attachment_is_looked_into(hidden, line):
    data = base64.b64encode(f"see: \n{line}\n".encode()).decode()
    found = scan({"lab.ipynb": cell(attachments={"a.txt": {"text/plain": data}})}, hidden)
    assert "attachments" in found[-1] and "base64" in found[-1]


def test_a_zip_in_a_zip_is_looked_into(hidden, line):
    inner = zipped({"notes.txt": line.encode()})
    assert "a.bin!notes.txt" in only(scan({"a.bin": inner}, hidden))


def test_bytecode_is_refused(hidden, tmp_path):
    source = tmp_path / "m.py"
    source.write_text("x = 1\n", encoding="utf-8")
    compiled = py_compile.compile(str(source), str(tmp_path / "m.pyc"))
    with open(compiled, "rb") as file:
        assert "bytecode" in only(scan({"m.pyc": file.read()}, hidden))


def test_a_hidden_checks_name_and_sentence_are_found(hidden):
    for word in sorted(hidden.words)[:1] + sorted(hidden.words)[-1:]:
        assert "names the hidden check" in scan({"handout.md": f"({word})".encode()}, hidden)[0]


def test_a_secret_of_the_term_is_found(hidden):
    files = {"lab.json": json.dumps({"seed": SECRET}).encode()}
    assert any("secret" in f for f in scan(files, hidden, (SECRET,)))


def test_the_graders_bundle_may_hold_hidden_checks_but_no_solution(hidden, line):
    word = min(hidden.words)
    assert scan_solution_lines({"hidden.py": f"def {word}(lab): ...".encode()}, hidden) == []
    assert scan_solution_lines({"hidden.py": line.encode()}, hidden)


def test_the_kit_that_students_get_holds_no_secret(hidden):
    from release.package import frozen_files
    from release.term import read_term

    about = {"lab": LAB, "seed": SECRET}
    stored = frozen_files(hidden.solution, {"public": {}, "diagnosis": {}}, about)
    term = read_term()
    figures = dict.fromkeys(_placeholders(), 1)
    assert scan(student_files(hidden.solution, term, figures, stored), hidden, (SECRET,)) == []


def _placeholders() -> set[str]:
    from release.solution import SOLUTIONS
    from release.term import FIGURE

    texts = [*(SOLUTIONS / LAB).glob("*.md"), SOLUTIONS / LAB / "answers.toml"]
    return {name for path in texts for name in FIGURE.findall(path.read_text(encoding="utf-8"))}
