"""What students hand in, in every shape that it comes in: what is read, and what is said."""

import ast
import io
import json
import os
import stat
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from autograder.intake import archive, files, source
from autograder.intake import submission as intake
from autograder.intake.source import imported_modules
from autograder.intake.submission import read_submission
from autograder.intake.wanted import Wanted
from autograder.kit import run as run_checks
from autograder.kit.errors import KitError

WANTED = Wanted(
    students=("online_softmax.py", "flash_forward.py", "flash_backward.py"),
    given=("attention.py",),
    functions={
        "merge_states": "online_softmax.py",
        "flash_fwd": "flash_forward.py",
        "flash_bwd": "flash_backward.py",
    },
    lab="flash_attention",
)
SOFTMAX = "def merge_states(a, b):\n    return a\n"
FORWARD = "def flash_fwd(Q):\n    return Q\n"
BACKWARD = "def flash_bwd(Q):\n    return 2 * Q\n"
ANSWERS = "q1 = 3\n"
WORK = {
    "online_softmax.py": SOFTMAX,
    "flash_forward.py": FORWARD,
    "flash_backward.py": BACKWARD,
    "answers.toml": ANSWERS,
}
MODULES = {name: text for name, text in WORK.items() if name.endswith(".py")}
STUB = """def {}(a, b):
    if not a:
        raise ValueError("a")
    raise NotImplementedError("TODO")
"""
STUBS = {file: STUB.format(function) for function, file in WANTED.functions.items()}


def folder(at: Path, files: dict) -> Path:
    for name, content in files.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    at.mkdir(exist_ok=True)
    return at


def zipped(at: Path, files: dict, **options) -> Path:
    at.write_bytes(zip_bytes(files, **options))
    return at


def zip_bytes(files: dict, **options) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", **options) as z:
        for name, content in files.items():
            z.writestr(name, content)
    return data.getvalue()


def read(path: Path):
    return read_submission(path, WANTED)


def is_whole(submission, **more):
    assert submission.problems == {}
    assert submission.sources == {**MODULES, **more}
    assert submission.answers == ANSWERS


@pytest.fixture
def at(tmp_path):
    return tmp_path / "submission"


# The honest case


def test_a_flat_folder_is_read_without_remarks(at):
    submission = read(folder(at, WORK))
    is_whole(submission)
    assert submission.notes == ()


def test_a_flat_folder_loads_no_zip_and_no_notebook_machinery(at):
    folder(at, WORK)
    code = (
        "import sys; from pathlib import Path\n"
        "from autograder.intake import submission, wanted\n"
        f"w = wanted.Wanted({WANTED.students}, {WANTED.given}, {WANTED.functions}, 'lab')\n"
        f"assert not submission.read_submission(Path({str(at)!r}), w).problems\n"
        "assert not {'zipfile', 'symtable'} & set(sys.modules)\n"
    )
    root = Path(intake.__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_what_lies_beside_a_zip_of_the_modules_is_read_too(tmp_path):
    modules = {name: text for name, text in WORK.items() if name.endswith(".py")}
    others = {name: text for name, text in WORK.items() if not name.endswith(".py")}
    at = folder(tmp_path / "both", others)
    zipped(at / "code.zip", modules)
    submission = read(at)
    is_whole(submission)
    assert submission.notes == ("the files were taken from code.zip",)


def test_a_zip_and_a_folder_of_equal_work_have_equal_digests(tmp_path):
    reversed_work = dict(reversed(WORK.items()))
    nested = {f"hw2/src/{name}": text for name, text in reversed_work.items()}
    digests = {
        read(folder(tmp_path / "a", WORK)).digest,
        read(zipped(tmp_path / "b.zip", reversed_work)).digest,
        read(zipped(tmp_path / "c.zip", nested, compression=zipfile.ZIP_DEFLATED)).digest,
        read(folder(tmp_path / "d", {n: t.replace("\n", "\r\n") for n, t in WORK.items()})).digest,
        read(
            folder(tmp_path / "e", {n: b"\xef\xbb\xbf" + t.encode() for n, t in WORK.items()})
        ).digest,
    }
    assert len(digests) == 1 and len(digests.pop()) == 64


@pytest.mark.parametrize("name", WORK)
def test_a_change_of_any_used_file_changes_the_digest(tmp_path, name):
    changed = {**WORK, name: WORK[name] + "# more\n"}
    assert read(folder(tmp_path / "a", WORK)).digest != read(folder(tmp_path / "b", changed)).digest


def test_text_that_moves_from_one_file_to_another_changes_the_digest(tmp_path):
    one = {**WORK, "a.py": "x", "b.py": "yz"}
    two = {**WORK, "a.py": "xy", "b.py": "z"}
    assert read(folder(tmp_path / "a", one)).digest != read(folder(tmp_path / "b", two)).digest


def test_companions_come_along_under_the_names_by_which_they_are_imported(at):
    more = {"helpers.py": "a = 1\n", "mine/__init__.py": "", "mine/deep.py": "b = 2\n"}
    not_importable = {"my helpers.py": "c", "2nd.py": "d", "notes.txt": "e", "my-lib/x.py": "f"}
    is_whole(read(folder(at, {**WORK, **more, **not_importable})), **more)


def test_given_files_and_numpy_are_never_taken_from_a_submission(at):
    copies = {
        "attention.py": "evil = 1",
        "attention/__init__.py": "evil = 2",
        "numpy.py": "evil = 3",
        "numpy/__init__.py": "evil = 4",
        "flash_forward/__init__.py": "evil = 5",
    }
    submission = read(folder(at, {**WORK, **copies}))
    is_whole(submission)
    assert submission.notes == (
        "a copy of attention.py was handed in; the kit's own is used",
        "numpy.py was handed in; the real numpy is used",
        "numpy/__init__.py was handed in; the real numpy is used",
    )


def test_the_tools_that_were_handed_out_make_no_difference(tmp_path):
    run = Path(run_checks.__file__).read_text(encoding="utf-8")
    tools = {"autograder/__init__.py": "", "autograder/kit/run.py": run, "conftest.py": ""}
    submission = read(folder(tmp_path / "a", {**WORK, **tools}))
    is_whole(submission)
    assert submission.notes == ()
    assert submission.digest == read(folder(tmp_path / "b", WORK)).digest


def test_tools_that_were_changed_are_named_and_make_no_difference_either(tmp_path):
    tools = {"lab/autograder/kit/run.py": "PASSED = True\n", "lab/autograder/kit/cell.py": b"\0"}
    work = {f"lab/{name}": text for name, text in WORK.items()}
    submission = read(folder(tmp_path / "a", {**work, **tools}))
    is_whole(submission)
    assert submission.notes[-1] == (
        "not as in this release, so the grader used its own: autograder/kit/cell.py, "
        "autograder/kit/run.py"
    )
    assert submission.digest == read(folder(tmp_path / "b", WORK)).digest


def test_an_unreadable_companion_is_left_out_with_its_reason(at):
    submission = read(folder(at, {**WORK, "helpers.py": b"x = 1\0"}))
    is_whole(submission)
    assert submission.notes == (
        "helpers.py is not used: it holds NUL bytes, which Python source may not",
    )


def test_endless_companions_are_cut_off_with_a_remark(at):
    more = {f"m{i:03}.py": "" for i in range(400)}
    submission = read(folder(at, {**WORK, **more}))
    assert len(submission.sources) == files.MOST_SOURCES
    assert submission.notes == (
        "more than 300 modules, or 8 MiB of them, were handed in; m297.py and what follows "
        "is not used",
    )


def test_large_companions_are_cut_off_with_a_remark(at):
    more = {f"m{i}.py": "#" * source.LARGEST for i in range(9)}
    submission = read(folder(at, {**WORK, **more}))
    assert "m6.py" in submission.sources and "m7.py" not in submission.sources
    assert submission.notes[0].endswith("m7.py and what follows is not used")


def test_many_remarks_are_cut_to_twenty(at):
    bad = {f"bad{i:02}.py": b"\0" for i in range(30)}
    notes = read(folder(at, {**WORK, **bad})).notes
    assert len(notes) == 20 and notes[-1] == "and 11 more remarks"


# Paths that are no submission


@pytest.mark.parametrize("name", ["missing", "missing/zip.zip", "a\0b"])
def test_a_path_where_nothing_is_is_the_tools_error(tmp_path, name):
    with pytest.raises(KitError) as error:
        read(tmp_path / name)
    what, todo = str(error.value).split("\n")
    assert "No such file" in what or "there can be no such path" in what
    assert todo == "give the path of a submission: a folder, a zip, a module or a notebook"


def test_an_empty_folder_says_that_nothing_was_found(at):
    submission = read(folder(at, {}))
    assert submission.sources == {} and submission.answers is None
    assert set(submission.problems) == set(WORK)
    assert (
        submission.problems["flash_forward.py"] == "flash_forward.py was looked for; found: nothing"
    )


def test_a_link_to_a_folder_may_be_named_by_whoever_grades(tmp_path):
    folder(tmp_path / "real", WORK)
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    is_whole(read(tmp_path / "link"))


def test_a_link_to_a_file_may_be_named_by_whoever_grades(tmp_path):
    zipped(tmp_path / "real.zip", WORK)
    (tmp_path / "link.zip").symlink_to(tmp_path / "real.zip")
    is_whole(read(tmp_path / "link.zip"))


def test_a_pipe_is_not_waited_for(at):
    os.mkfifo(at)
    assert read(at).problems["flash_forward.py"] == (
        "flash_forward.py was looked for, but submission is neither a file nor a folder; "
        "hand in a zip, or the files themselves"
    )


def test_a_file_that_turns_into_a_pipe_is_not_waited_for(at):
    os.mkfifo(at)
    with pytest.raises(OSError, match="not an ordinary file"):
        archive.open_plainly(at)


@pytest.fixture
def no_rights(monkeypatch):
    for name in ("open", "scandir"):
        original = getattr(os, name)

        def guarded(path, *args, original=original, **kwargs):
            if "secret" in str(path):
                raise PermissionError(13, "Permission denied")
            return original(path, *args, **kwargs)

        monkeypatch.setattr(os, name, guarded)


def test_an_unreadable_file_is_said(tmp_path, no_rights):
    at = folder(tmp_path / "secret", {})
    assert "secret can't be opened (Permission denied)" in read(at).problems["flash_forward.py"]
    at = folder(tmp_path / "b", {**WORK, "secret.py": ""})
    assert read(at).notes == ("secret.py is not used: it can't be opened (Permission denied)",)
    at = folder(tmp_path / "c", {"secret.zip": ""}) / "secret.zip"
    assert "secret.zip can't be opened (Permission denied)" in read(at).problems["answers.toml"]


def test_an_unreadable_folder_inside_costs_itself(at, no_rights):
    is_whole(read(folder(at, {**WORK, "secret/x.py": ""})))
    only = folder(at.parent / "only", {"secret/flash_forward.py": FORWARD})
    assert read(only).problems["flash_forward.py"] == (
        "flash_forward.py was looked for; found: nothing; "
        "secret can't be opened (Permission denied)"
    )


# A single file


@pytest.mark.parametrize("name", ["flash_forward.py", "Flash_Forward.PY", "whatever.py"])
def test_a_single_module_is_taken_for_the_file_whose_function_it_defines(tmp_path, name):
    submission = read(folder(tmp_path, {name: FORWARD}) / name)
    assert submission.sources["flash_forward.py"] == FORWARD
    assert submission.problems["flash_backward.py"] == (
        f"flash_backward.py was looked for; found: {name}"
    )
    assert submission.problems["answers.toml"] == f"answers.toml was looked for; found: {name}"


def test_answers_alone_are_read(tmp_path):
    submission = read(folder(tmp_path, {"answers.toml": ANSWERS}) / "answers.toml")
    assert submission.answers == ANSWERS and "answers.toml" not in submission.problems


@pytest.mark.parametrize(
    "magic, kind",
    [
        (b"Rar!\x1a\x07\x01\x00", "a RAR archive"),
        (b"7z\xbc\xaf\x27\x1c\x00", "a 7z archive"),
        (b"\x1f\x8b\x08\x00", "a gzip archive"),
        (b"BZh91AY&SY", "a bzip2 archive"),
        (b"\xfd7zXZ\0", "an xz archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"%PDF-1.7", "a PDF document"),
        (b"flash_forward.py" + bytes(241) + b"ustar\0", "a tar archive"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_other_archives_are_named(at, magic, kind, inside):
    folder(at, {"hw.zip": magic})
    for file, problem in read(at if inside else at / "hw.zip").problems.items():
        assert problem == (
            f"{file} was looked for, but hw.zip is {kind}, which is not opened here; "
            "hand in a zip, or the files themselves"
        )


# Folders in folders, and which one is meant


def test_files_one_or_two_folders_deep_are_found_and_said(tmp_path):
    for place in ("hw2/", "hw2/src/"):
        work = {place + name: text for name, text in WORK.items()}
        submission = read(folder(tmp_path / place.replace("/", "_"), work))
        is_whole(submission)
        assert submission.notes == (f"the lab's files were found in {place}",)


def test_what_systems_leave_lying_about_is_ignored_without_remarks(at):
    litter = {
        "__MACOSX/._flash_forward.py": b"\0\5\26\7",
        "._flash_forward.py": b"\0\5\26\7",
        ".DS_Store": b"\0",
        ".git/flash_forward.py": "x",
        "__pycache__/flash_forward.py": "x",
        "node_modules/a/flash_forward.py": "x",
        ".venv/lib/flash_forward.py": "x",
        "env/pyvenv.cfg": "home = /usr",
        "env/lib/flash_forward.py": "x",
        ".ipynb_checkpoints/flash_attention-checkpoint.ipynb": "{}",
    }
    for submission in (
        read(folder(at, {**WORK, **litter})),
        read(zipped(at.parent / "a.zip", {**WORK, **litter})),
    ):
        is_whole(submission)
        assert submission.notes == ()


def test_the_folder_with_most_wanted_files_is_used(at):
    files = {"flash_forward.py": "old = 1\n" + FORWARD, **{f"new/{n}": t for n, t in WORK.items()}}
    submission = read(folder(at, files))
    is_whole(submission)
    assert submission.notes == (
        "new/flash_forward.py is used for flash_forward.py, not flash_forward.py",
        "the lab's files were found in new/",
    )


def test_among_equal_folders_the_one_nearest_to_the_top_is_used_and_said(at):
    other = {n: t + "# v1\n" for n, t in WORK.items()}
    files = {f"a/{n}": t for n, t in WORK.items()} | {f"old/v1/{n}": t for n, t in other.items()}
    submission = read(folder(at, files))
    is_whole(submission)
    assert submission.notes[0] == (
        "the lab's files were found more than once; those in a/ are used, not those in old/v1/"
    )


def test_equal_copies_are_not_worth_a_remark(at):
    files = {**WORK, **{f"backup/{n}": t for n, t in WORK.items()}}
    copies = {f"backup/{n}": t for n, t in MODULES.items()}
    submission = read(folder(at, files))
    is_whole(submission, **copies)
    assert submission.notes == ()


def test_untouched_stubs_give_way_to_a_folder_that_is_filled_in(at):
    files = {**STUBS, **{f"mine/hw/{n}": t for n, t in WORK.items()}}
    submission = read(folder(at, files))
    is_whole(submission)
    assert submission.notes[0] == (
        "the lab's files were found more than once; those in mine/hw/ are used, not those in "
        "the top folder (the stubs as they were handed out)"
    )


def test_scattered_files_are_brought_together_with_their_companions(at):
    files = {
        "q1/online_softmax.py": SOFTMAX,
        "q2/flash_forward.py": FORWARD,
        "q2/helpers.py": "a = 1\n",
        "q3/flash_backward.py": BACKWARD,
        "answers.toml": ANSWERS,
    }
    submission = read(folder(at, files))
    is_whole(submission, **{"helpers.py": "a = 1\n"})
    assert submission.notes[1:] == (
        "the lab's files were found in q1/",
        "flash_forward.py was found in q2/",
        "flash_backward.py was found in q3/",
        "answers.toml was found in the top folder",
    )


def test_a_missing_file_is_named_with_what_was_found(at):
    files = {**WORK, "README.md": ""}
    del files["flash_backward.py"]
    submission = read(folder(at, files))
    assert submission.problems == {
        "flash_backward.py": "flash_backward.py was looked for; found: answers.toml, "
        "flash_forward.py, online_softmax.py, README.md"
    }
    assert set(submission.sources) == {"online_softmax.py", "flash_forward.py"}


def test_only_the_first_of_many_files_are_named(at):
    problem = read(folder(at, {f"f{i}.txt": "" for i in range(12)})).problems["flash_forward.py"]
    assert problem.endswith("f4.txt, f5.txt, f6.txt, f7.txt and 4 more") or "and 4 more" in problem


def test_another_labs_work_is_recognised(at):
    submission = read(folder(at, {"split_kv.py": "def split_kv_decode():\n    pass\n"}))
    assert submission.notes == (
        "none of the files of flash_attention was found: is this another lab's work?",
    )
    assert submission.problems["flash_forward.py"].endswith("found: split_kv.py")
    assert submission.sources == {}


def test_strange_file_names_are_shown_without_control_characters(at):
    names = {
        "\x1b[31mred.py": "",
        "\N{SNAKE}.py": "",
        "x" * 200 + ".txt": "",
        os.fsdecode(b"\xff"): "",
    }
    problem = read(folder(at, names)).problems["flash_forward.py"]
    assert problem.isprintable() and "\N{SNAKE}.py" in problem and "?[31mred.py" in problem
    assert "x" * 40 + "..." in problem and "x" * 60 not in problem


# Other names


@pytest.mark.parametrize(
    "name",
    [
        "flash_forward (1).py",
        "flash_forward(2).py",
        "flash_forward-1.py",
        "flash_forward copy.py",
        "flash_forward - Copy (2).py",
        "Copy of flash_forward.py",
        "flash_forward_final.py",
        "flash_forward_v2.py",
        "flash-forward.py",
        "FlashForward.py",
        "doejane_12345_678_flash_forward-1.py",
        "flash_forward.py.txt",
    ],
)
def test_a_copys_name_is_seen_through(at, name):
    files = {name if n == "flash_forward.py" else n: t for n, t in WORK.items()}
    submission = read(folder(at, files))
    assert submission.problems == {}
    assert submission.sources["flash_forward.py"] == FORWARD
    assert f"{name} is used as flash_forward.py" in submission.notes


@pytest.mark.parametrize("name", ["Flash_Forward.PY", "FLASH_FORWARD.py", "flash_forward.Py"])
def test_letter_case_is_seen_through(at, name):
    files = {name if n == "flash_forward.py" else n: t for n, t in WORK.items()}
    submission = read(folder(at, files))
    assert submission.sources["flash_forward.py"] == FORWARD and submission.problems == {}
    assert submission.notes == (f"{name} is used as flash_forward.py",)


def test_a_file_of_any_name_that_defines_the_function_is_used(at):
    files = {**WORK, "flash_bakward.py": BACKWARD}
    del files["flash_backward.py"]
    submission = read(folder(at, files))
    is_whole(submission, **{"flash_bakward.py": BACKWARD})
    assert submission.notes == (
        "flash_bakward.py defines flash_bwd and is used as flash_backward.py",
    )


def test_one_file_with_all_functions_stands_for_each_of_them(tmp_path):
    whole = SOFTMAX + FORWARD + BACKWARD
    submission = read(folder(tmp_path, {"my solution.py": whole}))
    assert submission.sources == dict.fromkeys(WANTED.students, whole)
    assert "my solution.py defines flash_fwd and is used as flash_forward.py" in submission.notes


def test_two_files_that_define_the_function_are_no_sensible_reading(at):
    files = {**WORK, "a.py": BACKWARD, "b.py": BACKWARD + "# other\n"}
    del files["flash_backward.py"]
    assert read(folder(at, files)).problems == {
        "flash_backward.py": "flash_backward.py was looked for; found instead, and it is not "
        "clear which is meant: a.py, b.py"
    }


def test_equal_files_that_define_the_function_are_one(at):
    files = {**WORK, "a.py": BACKWARD, "b.py": BACKWARD}
    del files["flash_backward.py"]
    assert read(folder(at, files)).sources["flash_backward.py"] == BACKWARD


def test_a_definition_in_another_folder_does_not_make_one_here_unclear(at):
    files = {**WORK, "a.py": BACKWARD, "old/b.py": BACKWARD + "# other\n"}
    del files["flash_backward.py"]
    submission = read(folder(at, files))
    assert submission.sources["flash_backward.py"] == BACKWARD


def test_definitions_in_two_folders_without_any_wanted_name_are_unclear(at):
    files = {"q1/a.py": BACKWARD, "q2/b.py": BACKWARD + "# other\n"}
    assert read(folder(at, files)).problems["flash_backward.py"].endswith("meant: q1/a.py, q2/b.py")


def test_two_copies_without_the_file_itself_are_no_sensible_reading(at):
    files = {**WORK, "flash_forward (1).py": FORWARD, "flash_forward (2).py": FORWARD + "#\n"}
    del files["flash_forward.py"]
    assert (
        "flash_forward (1).py, flash_forward (2).py"
        in read(folder(at, files)).problems["flash_forward.py"]
    )


def test_the_files_own_name_goes_before_a_copys(at):
    submission = read(folder(at, {**WORK, "flash_forward (1).py": FORWARD + "#\n"}))
    is_whole(submission)
    assert submission.notes == (
        "flash_forward.py is used for flash_forward.py, not flash_forward (1).py",
    )


def test_an_untouched_file_gives_way_to_a_copy_that_is_filled_in(at):
    stub = STUBS["flash_forward.py"]
    files = {**WORK, "flash_forward.py": stub, "flash_forward (1).py": FORWARD}
    submission = read(folder(at, files))
    is_whole(submission)
    assert submission.notes == (
        "flash_forward (1).py is used as flash_forward.py",
        "flash_forward (1).py is used for flash_forward.py, not flash_forward.py, still the stub",
    )


def test_an_untouched_copy_is_no_rival(at):
    files = {
        **WORK,
        "flash_forward (1).py": FORWARD,
        "flash_forward (2).py": STUBS["flash_forward.py"],
    }
    del files["flash_forward.py"]
    assert read(folder(at, files)).sources["flash_forward.py"] == FORWARD


def test_tests_and_plots_of_a_file_are_not_mistaken_for_it(at):
    files = {"src/" + n: t for n, t in WORK.items()}
    for name in MODULES:
        files[f"a/test_{name}"] = "def test_it():\n    pass\n"
    submission = read(folder(at, files))
    is_whole(submission)
    assert submission.notes == ("the lab's files were found in src/",)


def test_a_stub_in_which_a_string_or_comment_defines_the_function_defines_nothing(at):
    text = '"""\ndef flash_fwd(Q):\n"""\n# def flash_fwd(Q):\nif 1:\n    def flash_fwd(Q): pass\n'
    assert source.functions_defined(text) == set()
    assert source.functions_defined("async def flash_fwd(Q): pass\ndef g[T](x): pass") == {
        "flash_fwd",
        "g",
    }


@pytest.mark.parametrize(
    "name", ["answers (1).toml", "Answers.toml", "my_answers.toml", "answers.toml.txt"]
)
def test_answers_are_found_under_other_names(at, name):
    submission = read(folder(at, {**MODULES, name: ANSWERS}))
    is_whole(submission)
    assert submission.notes == (f"{name} is used as answers.toml",)


def test_two_copies_of_the_answers_are_no_sensible_reading(at):
    files = {**MODULES, "answers (1).toml": "a = 1", "answers (2).toml": "a = 2"}
    submission = read(folder(at, files))
    assert submission.answers is None
    assert submission.problems["answers.toml"] == (
        "answers.toml was looked for; found instead, and it is not clear which is meant: "
        "answers (1).toml, answers (2).toml"
    )


def test_answers_beside_the_files_go_before_others(at):
    files = {f"hw/{n}": t for n, t in WORK.items()} | {"answers.toml": "other = 1"}
    is_whole(read(folder(at, files)))


@pytest.mark.parametrize(
    "content, reason",
    [(b"#" * 70_000, "is larger than 8 KiB"), (b"a\0b", "holds NUL bytes")],
)
def test_answers_that_are_no_text_are_a_problem(at, content, reason):
    submission = read(folder(at, {**MODULES, "answers.toml": content}))
    assert submission.answers is None
    assert submission.problems["answers.toml"].startswith(f"answers.toml {reason}")


# Encodings


@pytest.mark.parametrize(
    "data, note",
    [
        (FORWARD.encode(), ""),
        (b"\xef\xbb\xbf" + FORWARD.encode(), ""),
        (FORWARD.replace("\n", "\r\n").encode(), ""),
        (FORWARD.replace("\n", "\r").encode(), ""),
        (FORWARD.encode("utf-16"), "UTF-16"),
        (b"\xfe\xff" + FORWARD.encode("utf-16-be"), "UTF-16"),
        (FORWARD.encode("utf-16-le"), "UTF-16 without a byte order mark"),
        (FORWARD.encode("utf-16-be"), "UTF-16 without a byte order mark"),
        (FORWARD.encode("utf-32"), "UTF-32"),
    ],
)
def test_every_encoding_of_a_source_is_read(at, data, note):
    submission = read(folder(at, {**WORK, "flash_forward.py": data}))
    is_whole(submission)
    expected = f"flash_forward.py is not UTF-8; it was read as {note}"
    assert submission.notes == ((expected,) if note else ())


@pytest.mark.parametrize(
    "data, text, note",
    [
        ("# déjà vu\n".encode("latin-1"), "# déjà vu\n", "Latin-1"),
        (b"# \x93quoted\x94 \x81x\n", "# \x93quoted\x94 \x81x\n", "Latin-1"),
        ("# 注意力\n".encode("gbk"), "# 注意力\n", "GB18030"),
        (
            "# -*- coding: latin-1 -*-\n# é\n".encode("latin-1"),
            "# -*- coding: latin-1 -*-\n# é\n",
            "",
        ),
        (
            "\n# vim: fileencoding=cp1251\n# Ж\n".encode("cp1251"),
            "\n# vim: fileencoding=cp1251\n# Ж\n",
            "",
        ),
        ("# \N{SNAKE} \tтаб".encode(), "# \N{SNAKE} \tтаб", ""),
        (b"x = 1\t# no end", "x = 1\t# no end", ""),
        (b"", "", ""),
        (b"#\xff\xff\n", "#ÿÿ\n", "Latin-1"),
    ],
)
def test_text_is_decoded_as_its_author_saw_it(data, text, note):
    assert source.decode(data) == (text, note)


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"a\0b", "holds NUL bytes, which Python source may not"),
        (b"\xff\0\xff", "holds NUL bytes, which Python source may not"),
        (b"\xff\xfea", "is marked as utf-16 but is not"),
        (b"\xef\xbb\xbf\xff", "is marked as utf-8 but is not"),
        (b"# coding: utf-8\n\xe9", "is marked as utf-8 but is not"),
        (
            b"# coding: klingon\n",
            "has a coding line that Python refuses (unknown encoding: klingon)",
        ),
        (b"# coding: punycode\n", "declares the encoding punycode, which is not accepted"),
        (b"# coding: rot13\n", "declares the encoding rot13, which is not accepted"),
        (b"#" * (source.LARGEST + 1), "is larger than 1 MiB"),
    ],
)
def test_what_is_no_text_says_why(at, data, reason):
    with pytest.raises(source.Unreadable) as error:
        source.decode(data)
    assert str(error.value) == reason
    submission = read(folder(at, {**WORK, "flash_forward.py": data}))
    assert submission.problems == {"flash_forward.py": f"flash_forward.py {reason}"}
    assert "flash_forward.py" not in submission.sources


def test_a_readable_copy_stands_in_for_an_unreadable_file(at):
    files = {**WORK, "flash_forward.py": b"\0", "flash_forward (1).py": FORWARD}
    is_whole(read(folder(at, files)))


@pytest.mark.parametrize(
    "number, text", [(12, "12 bytes"), (1536, "1.5 KiB"), (20 << 20, "20 MiB")]
)
def test_sizes_are_written_for_people(number, text):
    assert source.size(number) == text


# Links, pipes and depths in folders


def test_links_are_refused_wherever_they_lead(at, tmp_path):
    folder(tmp_path / "outside", {"x.py": "secret = 1"})
    folder(at, {n: t for n, t in WORK.items() if n != "flash_forward.py"})
    (at / "flash_forward.py").symlink_to(tmp_path / "outside/x.py")
    (at / "helpers.py").symlink_to(at / "online_softmax.py")
    (at / "outside").symlink_to(tmp_path / "outside", target_is_directory=True)
    (at / "loop").symlink_to(at, target_is_directory=True)
    (at / "dangling.py").symlink_to("nowhere")
    submission = read(at)
    assert set(submission.sources) == {"online_softmax.py", "flash_backward.py"}
    assert submission.problems == {
        "flash_forward.py": "flash_forward.py was looked for; found: answers.toml, "
        "flash_backward.py, online_softmax.py; flash_forward.py is a symbolic link, and links "
        "are not followed"
    }


def test_pipes_and_devices_in_a_folder_are_not_opened(at):
    folder(at, {n: t for n, t in WORK.items() if n != "flash_forward.py"})
    os.mkfifo(at / "flash_forward.py")
    assert (
        read(at).problems["flash_forward.py"].endswith("flash_forward.py is not an ordinary file")
    )


def test_depth_is_bounded(at):
    deep = "a/" * 7 + "flash_forward.py"
    too_deep = "b/" * 8 + "flash_backward.py"
    submission = read(folder(at, {deep: FORWARD, too_deep: BACKWARD}))
    assert set(submission.sources) == {"flash_forward.py"}
    assert (
        read(zipped(at.parent / "a.zip", {deep: FORWARD, too_deep: BACKWARD}))
        .problems["flash_backward.py"]
        .endswith("b/b/b/b/b/b/b/b/flash_backward.py lies more than 7 folders deep")
    )


@pytest.mark.parametrize("pack", [folder, zipped])
def test_the_number_of_files_is_bounded_and_the_nearest_are_taken(at, pack, monkeypatch):
    monkeypatch.setattr(archive, "MOST_FILES", 20)
    files = {f"data/{i:03}.txt": "" for i in range(50)} | WORK
    submission = read(pack(at, files))
    is_whole(submission)
    assert submission.notes == (
        "the submission holds more than 20 files; only 20 were looked at, those nearest to the top",
    )


def test_a_folder_without_end_is_not_walked_to_the_end(at, monkeypatch):
    monkeypatch.setattr(archive, "MOST_SEEN", 3)
    notes = read(folder(at, {f"{i}.txt": "" for i in range(9)})).notes
    assert notes[0].startswith("the submission holds more than")


def test_the_bytes_of_all_files_are_bounded(at, monkeypatch):
    monkeypatch.setattr(archive, "TOTAL", 100)
    monkeypatch.setattr(archive.Box.__init__, "__defaults__", (None,))
    submission = read(
        folder(at, {**WORK, "flash_backward.py": "#" * 200, "online_softmax.py": SOFTMAX})
    )
    assert submission.problems["answers.toml"] == (
        "answers.toml was not read: the submission is larger than 100 bytes"
    )


def test_a_file_that_grows_while_it_is_read_is_still_bounded(at):
    box = archive.open_box(folder(at, {"a.py": "x"}))
    folder(at, {"a.py": "x" * 100})
    with pytest.raises(source.Unreadable, match="is larger than 10 bytes"):
        box.read("a.py", 10)


# Zips


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("name", ["a.zip", "no_suffix", "wrong.py", "a.ZIP"])
def test_a_zip_is_read_whatever_its_name(tmp_path, name, method):
    submission = read(zipped(tmp_path / name, WORK, compression=method))
    is_whole(submission)
    assert submission.notes == ()


def test_a_zip_made_on_windows_has_backslashes(tmp_path):
    submission = read(zipped(tmp_path / "a.zip", {f"hw2\\{n}": t for n, t in WORK.items()}))
    is_whole(submission)
    assert submission.notes == ("the lab's files were found in hw2/",)


@pytest.mark.parametrize(
    "evil",
    [
        "../flash_forward.py",
        "a/../../flash_forward.py",
        "/flash_forward.py",
        "C:\\flash_forward.py",
        "c:flash_forward.py",
        "\\\\server\\flash_forward.py",
        "..\\flash_forward.py",
    ],
)
def test_members_that_would_lie_outside_are_left_out(tmp_path, evil):
    files = {n: t for n, t in WORK.items() if n != "flash_forward.py"} | {evil: FORWARD}
    submission = read(zipped(tmp_path / "a.zip", files))
    shown = evil.replace("\\", "/")
    assert submission.notes == (f"left out, as it would lie outside of the submission: {shown}",)
    assert set(submission.problems) == {"flash_forward.py"}


def member(name: str, mode: int = 0, **fields) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    for field, value in fields.items():
        setattr(info, field, value)
    return info


@pytest.mark.parametrize(
    "mode, reason",
    [
        (stat.S_IFLNK | 0o777, "is a symbolic link, and links are not followed"),
        (stat.S_IFIFO | 0o644, "is not an ordinary file"),
    ],
)
def test_links_and_pipes_in_a_zip_are_refused(tmp_path, mode, reason):
    files = {n: t for n, t in WORK.items() if n != "flash_forward.py"}
    data = zip_bytes({**files, member("flash_forward.py", mode): "/etc/passwd"})
    (tmp_path / "a.zip").write_bytes(data)
    assert (
        read(tmp_path / "a.zip")
        .problems["flash_forward.py"]
        .endswith(f"; flash_forward.py {reason}")
    )


def central_field(data: bytes, name: str, offset: int, value: bytes) -> bytes:
    """The zip with a field of the member's entry in the table of contents overwritten."""
    at = data.rindex(name.encode()) - 46 + offset
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    "offset, value, reason",
    [
        (8, struct.pack("<H", 1), "is encrypted; make the zip without a password"),
        (8, struct.pack("<H", 0x40), "is encrypted; make the zip without a password"),
        (10, struct.pack("<H", 14), "is compressed by method 14; make an ordinary zip"),
        (10, struct.pack("<H", 99), "is compressed by method 99; make an ordinary zip"),
    ],
)
def test_members_that_can_not_be_unpacked_say_why(tmp_path, offset, value, reason):
    data = central_field(zip_bytes(WORK), "flash_forward.py", offset, value)
    (tmp_path / "a.zip").write_bytes(data)
    submission = read(tmp_path / "a.zip")
    assert submission.problems == {
        "flash_forward.py": "flash_forward.py was looked for; found: answers.toml, "
        f"flash_backward.py, online_softmax.py; flash_forward.py {reason}"
    }


@pytest.mark.parametrize(
    "offset, value, reason",
    [
        (16, b"\1\2\3\4", "Bad CRC-32"),
        (24, struct.pack("<L", 5), "Bad CRC-32"),
        (8, struct.pack("<H", 0x20), "patched data"),
    ],
)
def test_a_damaged_member_costs_itself(tmp_path, offset, value, reason):
    data = central_field(zip_bytes(WORK), "flash_forward.py", offset, value)
    (tmp_path / "a.zip").write_bytes(data)
    submission = read(tmp_path / "a.zip")
    assert set(submission.problems) == {"flash_forward.py"}
    assert submission.problems["flash_forward.py"].startswith(
        "flash_forward.py is damaged in the zip ("
    )
    assert reason in submission.problems["flash_forward.py"]


def test_a_stream_that_is_no_stream_costs_itself(tmp_path):
    data = zip_bytes({**WORK, "extra.py": "x = 1\n" * 50}, compression=8)
    at = data.index(b"extra.py") + 8
    (tmp_path / "a.zip").write_bytes(data[:at] + b"\xff\xff\xff" + data[at + 3 :])
    submission = read(tmp_path / "a.zip")
    is_whole(submission)
    assert submission.notes[0].startswith("extra.py is not used: it is damaged in the zip (")


def test_a_bomb_is_not_unpacked(tmp_path):
    bomb = zip_bytes({**MODULES, "helpers.py": bytes(60 << 20)}, compression=8)
    (tmp_path / "a.zip").write_bytes(bomb)
    start = time.process_time()
    submission = read(tmp_path / "a.zip")
    assert time.process_time() - start < 1
    assert "helpers.py is not used: it is larger than 1 MiB" in submission.notes


def test_a_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path):
    bomb = zip_bytes({**WORK, "flash_forward.py": b"#" * (50 << 20)}, compression=8)
    bomb = central_field(bomb, "flash_forward.py", 24, struct.pack("<L", 100))
    (tmp_path / "a.zip").write_bytes(bomb)
    assert (
        read(tmp_path / "a.zip")
        .problems["flash_forward.py"]
        .startswith("flash_forward.py is damaged in the zip")
    )


def test_many_bombs_together_stay_within_the_total(tmp_path):
    size = source.LARGEST
    files = {**WORK, **{f"m{i:02}.py": b"#" * size for i in range(24)}}
    submission = read(zipped(tmp_path / "a.zip", files, compression=8))
    assert sum(map(len, submission.sources.values())) <= intake.LARGEST_SOURCES
    is_whole_part = {name: submission.sources[name] for name in MODULES}
    assert is_whole_part == MODULES and submission.answers == ANSWERS


def test_ten_thousand_members_are_read_with_a_remark(tmp_path):
    files = {**{f"data/{i}.txt": "" for i in range(10_000)}, **WORK}
    submission = read(zipped(tmp_path / "a.zip", files))
    is_whole(submission)
    assert submission.notes == (
        "the submission holds more than 2,000 files; only 2,000 were looked at, those nearest "
        "to the top",
    )


def test_a_table_of_contents_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LARGEST_CONTENTS", 1 << 10)
    path = zipped(tmp_path / "a.zip", {f"{i}.txt": "" for i in range(100)})
    assert "a.zip has a table of contents of more than 1 KiB" in read(path).problems["answers.toml"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_members_of_one_name_the_last_is_taken(tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as z:
        z.writestr("flash_forward.py", "old = 1\n")
        z.writestr("./flash_forward.py", "older = 1\n")
        for name, text in WORK.items():
            z.writestr(name, text)
    (tmp_path / "a.zip").write_bytes(data.getvalue())
    submission = read(tmp_path / "a.zip")
    is_whole(submission)
    assert submission.notes == ("flash_forward.py is in the zip 3 times; the last one was taken",)


@pytest.mark.parametrize(
    "stored, shown",
    [
        ("файл.txt".encode(), "файл.txt"),
        (b"caf\x82.txt", "café.txt"),
        ("\N{SNAKE}.txt", "\N{SNAKE}.txt"),
    ],
)
def test_names_in_any_encoding_are_shown_as_they_were_meant(tmp_path, stored, shown):
    name = stored if isinstance(stored, str) else stored.decode("latin-1")
    data = zip_bytes({name: ""})
    if isinstance(stored, bytes):  # as tools write it that know no Unicode: bytes, and no flag
        data = zip_bytes({"n" * len(stored): ""}).replace(b"n" * len(stored), stored)
    (tmp_path / "a.zip").write_bytes(data)
    assert read(tmp_path / "a.zip").problems["answers.toml"].endswith(f"found: {shown}")


@pytest.mark.parametrize(
    "data, name",
    [(b"hello", "a.zip"), (b"", "a.zip"), (b"PK\3\4 cut off", "a.bin"), (None, "cut.zip")],
)
def test_what_is_no_zip_says_so(tmp_path, data, name):
    data = zip_bytes(WORK)[:300] if data is None else data
    (tmp_path / name).write_bytes(data)
    submission = read(tmp_path / name)
    assert submission.problems["flash_forward.py"] == (
        f"flash_forward.py was looked for, but {name} is no zip that can be opened (File is not "
        "a zip file); was the upload cut short?; hand in a zip, or the files themselves"
    )


@pytest.mark.parametrize("at_end", range(4, 22, 2))
def test_a_made_up_table_of_contents_never_raises(tmp_path, at_end):
    data = zip_bytes(WORK)
    at = len(data) - 22 + at_end
    (tmp_path / "a.zip").write_bytes(data[:at] + b"\xff\xff" + data[at + 2 :])
    read(tmp_path / "a.zip")


def test_random_damage_never_raises(tmp_path):
    import random

    data, chance = zip_bytes(WORK, compression=8), random.Random(7)
    path = tmp_path / "a.zip"
    for _ in range(300):
        bad = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        path.write_bytes(bad)
        submission = read(path)
        assert set(submission.sources) | set(submission.problems) >= set(MODULES)


# Zips in zips and in folders


def test_a_zip_in_a_zip_is_opened_when_no_code_lies_beside_it(tmp_path):
    submission = read(zipped(tmp_path / "a.zip", {"hw2.zip": zip_bytes(WORK), "notes.txt": ""}))
    is_whole(submission)
    assert submission.notes == ("the files were taken from hw2.zip",)


def test_a_large_zip_in_a_zip_is_read(tmp_path):
    inner = zip_bytes({**WORK, "data.bin": os.urandom(6 << 20)})
    is_whole(read(zipped(tmp_path / "a.zip", {"hw2.zip": inner}, compression=8)))


def test_a_zip_in_a_folder_is_opened(at):
    is_whole(read(folder(at, {"hw2.zip": zip_bytes(WORK)})))
    is_whole(read(folder(at.parent / "b", {"upload": zip_bytes({"hw.zip": zip_bytes(WORK)})})))


def test_zips_in_zips_in_zips_are_not_opened(tmp_path):
    inner = zip_bytes({"c.zip": zip_bytes(WORK)})
    submission = read(zipped(tmp_path / "a.zip", {"b.zip": inner}))
    assert (
        submission.problems["flash_forward.py"] == "flash_forward.py was looked for; found: c.zip"
    )
    assert submission.notes == ("the files were taken from b.zip",)


def test_a_zip_beside_code_is_left_alone(at):
    is_whole(read(folder(at, {**WORK, "old.zip": zip_bytes({"flash_forward.py": "x"})})))


def test_two_zips_are_no_sensible_reading(at):
    submission = read(folder(at, {"a.zip": zip_bytes(WORK), "b.zip": zip_bytes(WORK)}))
    assert submission.problems["flash_forward.py"].endswith("found: a.zip, b.zip")


def test_an_archive_inside_that_can_not_be_opened_is_named(at):
    problem = read(folder(at, {"hw.zip": b"hello"})).problems["answers.toml"]
    assert "hw.zip is no zip that can be opened (File is not a zip file)" in problem
    big = zipped(at.parent / "a.zip", {"hw.rar": bytes(21 << 20)}, compression=8)
    assert "but hw.rar is larger than 20 MiB; hand" in read(big).problems["answers.toml"]


def test_a_lone_file_of_another_kind_is_only_listed(at):
    submission = read(folder(at, {"essay.txt": "dear all"}))
    assert submission.problems["answers.toml"] == "answers.toml was looked for; found: essay.txt"


# Reading code without running it


def test_imports_are_found_wherever_they_stand():
    text = (
        "import os, numpy as np, a.b\n"
        "from math import exp\nfrom collections.abc import *\nfrom . import mine\n"
        "from .x import y\n"
        "def f():\n    import json; import re\n    if 1: import csv\n"
        "try: from \\\n  struct import pack\nexcept ImportError: pass\n"
        "import importlib; importlib.import_module('heapq'); __import__(\"bisect\")\n"
        "# import comment\n'''\nimport string\n'''\nx = 'import quoted'\nimportant = from_x = 1\n"
        "import 5, \n"
    )
    names = "os numpy a math collections json re csv struct importlib heapq bisect"
    assert imported_modules({"x.py": text}) == set(names.split())
    assert imported_modules([text, "import abc"]) == {*names.split(), "abc"}
    assert imported_modules({}) == set()


HOSTILE = {  # before, again and again, after
    "open brackets": ("", "(", ""),
    "signs": ("x = ", "-", "1"),
    "words": ("x = ", "not ", "1"),
    "attributes": ("x", ".a", ""),
    "sums": ("1", "+1", ""),
    "powers": ("1", "**1", ""),
    "calls": ("x", "()", ""),
    "calls over commas": ("f", "(a,b)", ""),
    "subscripts": ("x", "[0]", ""),
    "f-string": ('f"{1', "+1", '}"'),
    "f-strings": ("", 'f"{', ""),
    "lambdas": ("x = ", "lambda: ", "1"),
    "conditions": ("x = ", "1 if 1 else ", "1"),
    "elif": ("if 1: pass\n", "elif 1: pass\n", ""),
    "short lines": ("", "x\n", ""),
    "quotes": ("", "'\"", ""),
    "triple quotes": ("'", "''", ""),
    "escaped quotes": ('"""', '\\"""', ""),
    "backslash at the end": ('"""', "a", "\\"),
    "backslashes": ("", "\\\n", ""),
    "blank lines": ("", "\n", ""),
    "spaces": ("import", " ", ""),
    "from": ("from ", "a", ""),
    "from from": ("", "from a ", ""),
    "dots": ("from ", ". ", ""),
    "colons": ("", ": ", "import"),
    "NUL": ("x = 1", "\0", ""),
    "half pairs": ("x = '", "\ud800", "'"),
    "digits": ("x = ", "9", ""),
    "commas": ("x = [", "1,", "]"),
    "decorators": ("", "@x\n", ""),
    "names": ("", "def f(): raise NotImplementedError\n", ""),
}


@pytest.mark.parametrize("length", [30_000, 120_000])
def test_hostile_text_is_read_in_bounded_time_and_memory(length):
    """In a process of its own, since a parser that overflows the stack ends it."""
    code = """if True:
        import json, resource, sys, time
        from autograder.intake import source
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        for kind, (before, unit, after) in json.load(sys.stdin).items():
            print(kind, file=sys.stderr, flush=True)
            text = before + unit * (LENGTH // len(unit)) + after
            start = time.process_time()
            source.functions_defined(text)
            source.imported_modules([text])
            source.is_stub_file(text + " # NotImplementedError")
            assert time.process_time() - start < 10, kind
        status = open("/proc/self/status", encoding="ascii").read()  # rusage: the parent's too
        assert int(status.split("VmHWM:")[1].split()[0]) < 200_000
        print("done", file=sys.stderr)
        """
    done = subprocess.run(
        [sys.executable, "-c", code.replace("LENGTH", str(length))],
        input=json.dumps(HOSTILE),
        capture_output=True,
        text=True,
        cwd=Path(intake.__file__).parents[2],
    )
    assert done.stderr.split("\n") == [*HOSTILE, "done", ""]


def test_long_tables_and_honest_sums_are_parsed():
    table = "T = [\n" + "    [1.5, -2.5, x.y, f(3)],\n" * 4_000 + "]\n"
    total = "s = (" + " + ".join(f"a{i}" for i in range(300)) + ")\n"
    assert isinstance(source.parse(table + total), ast.Module)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("x = (", "is not Python (line 1: "),
        ("x" + ".a" * 50_000, "holds a bracket that is never closed, or is nested too deeply"),
        ("x = " + "-" * 20_000 + "1", "is nested too deeply to be parsed"),
        ("x = '\ud800'", "holds characters that can't stand in Python source"),
        ("#" * (source.LARGEST_PARSED + 1), "is longer than the 128 KiB that are parsed at once"),
        ('f"{1' + "+1" * 20_000 + '}"', "holds a bracket that is never closed"),
    ],
)
def test_what_can_not_be_parsed_says_why(text, reason):
    with pytest.raises(source.Unreadable) as error:
        source.parse(text)
    assert str(error.value).startswith(reason)


def test_the_parsers_remarks_are_not_printed(capfd):
    source.parse("x = '\\d' is 5\n")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text, stub",
    [
        (STUB.format("f"), True),
        (STUB.format("f") + "def g():\n    return 1\n", False),
        ("def f():\n    raise NotImplementedError\n", True),
        ("def f(a):\n    if a:\n        raise NotImplementedError\n    a = 1\n", True),
        ("def f(a):\n    if a:\n        return 1\n    raise NotImplementedError\n", False),
        ("def f(a):\n    yield a\n    raise NotImplementedError\n", False),
        ("def f(a):\n    return h(a)\ndef h(a):\n    raise NotImplementedError('x')\n", True),
        ("def f(a):\n    return f(a)\ndef h(a):\n    raise NotImplementedError('x')\n", False),
        ("def f(a):\n    def h():\n        return 1\n    raise NotImplementedError\n", True),
        ("def f(a):\n    return  # NotImplementedError\n", False),
        ("def f(a):\n    raise ValueError  # NotImplementedError\n", False),
        ("def f(a):\n    raise NotImplementedError(\n", False),
        ("x = 1\n", False),
        ("x = NotImplementedError\n", False),
        ("  \n", True),
    ],
)
def test_a_stub_is_told_from_work(text, stub):
    assert source.is_stub_file(text) is stub


def test_only_the_wanted_functions_make_a_stub():
    text = STUB.format("f") + "def g():\n    return 1\n"
    assert source.is_stub_file(text, ["f"]) and not source.is_stub_file(text, ["g"])
    assert source.unfinished(text) == {"f"}
    assert source.unfinished("x = (  # NotImplementedError") == set()
