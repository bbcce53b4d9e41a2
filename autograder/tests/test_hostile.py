"""Every attack of the corpus is contained: for whoever runs the tests, and for an ordinary user."""

import ast
import os
import subprocess

import pytest

from autograder.grading.grade import refuse_unconfined
from autograder.kit.errors import KitError
from autograder.tests import hostile
from autograder.tests.hostile.files import BUILDERS

FROZEN = hostile.ROOT / "release" / "dist" / "frozen"
ATTACKS = hostile.attacks()
USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
MODES = {"ourselves": [], **({"an ordinary user": USER} if os.geteuid() == 0 else {})}


@pytest.fixture(scope="module", params=MODES)
def tried(request):
    """What does not hold, by attack."""
    prefix = MODES[request.param]
    if prefix and subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("root can't play an ordinary user: no user namespaces")
    try:
        refuse_unconfined(trust=False)
    except KitError as error:
        pytest.skip(error.what)
    return dict(hostile.run(FROZEN, prefix))


@pytest.mark.parametrize("name", [attack.name for attack in ATTACKS])
def test_an_attack_is_contained(tried, name):
    assert tried[name] == []


def test_after_all_attacks_the_solution_gets_full_marks_and_nothing_is_left(tried):
    assert tried["afterwards"] == []
    assert set(tried) == {"afterwards", *(attack.name for attack in ATTACKS)}


def test_the_table_and_the_attacks_agree():
    files = {path.stem: path for path in (hostile.HERE / "attacks").glob("*.py")}
    names = [attack.name for attack in ATTACKS]
    assert len(names) >= 50 and sorted(names) == sorted([*files, *BUILDERS])
    for path in files.values():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
