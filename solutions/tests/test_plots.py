"""The figures: drawn from the solution, from stubs, from half-done and from wrong functions."""

import ast
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.kit import drawing
from autograder.kit.errors import KitError
from release.figures import draw
from release.solution import ROOT, SOLUTIONS, labs, read_solution
from release.term import read_term

pytest.importorskip("matplotlib")

LABS = labs()
PNG = b"\x89PNG\r\n"
NOT_DONE = {
    "flash_attention": ['flash_fwd, order "fa1"', 'flash_fwd, order "fa2"'],
    "flash_decoding": ["decode_attention_time"],
    "megakernel": ['timeline, mode "kernels"', 'timeline, mode "megakernel"'],
}


def plots(folder, sources, *arguments):
    """What `python plots.py` does in a folder that holds the sources."""
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-B", "plots.py", *arguments],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=60)


def half_done(lab, file, *functions):
    """The stubs, but in one file these functions as the solution has them."""
    solution = read_solution(lab)
    stub, source = solution.stubs[file], solution.sources[file]
    whole = {f.name: ast.get_source_segment(source, f) for f in ast.parse(source).body
             if isinstance(f, ast.FunctionDef)}
    for function in ast.parse(stub).body:
        if isinstance(function, ast.FunctionDef) and function.name in functions:
            stub = stub.replace(ast.get_source_segment(stub, function), whole[function.name])
    return {**solution.stubs, file: stub}


@pytest.fixture(scope="module")
def drawn():
    """Lab -> its figures, each drawn twice."""
    sources = {lab: read_solution(lab).sources for lab in LABS}
    with ThreadPoolExecutor(2) as pool:
        twice = list(pool.map(lambda lab: draw(sources[lab], lab), [*LABS, *LABS]))
    return {lab: (twice[i], twice[i + len(LABS)]) for i, lab in enumerate(LABS)}


@pytest.mark.parametrize("lab", LABS)
def test_the_solution_draws_every_figure_of_the_handout_and_no_other(drawn, lab):
    text = (SOLUTIONS / lab / "handout.md").read_text(encoding="utf-8")
    assert set(drawn[lab][0]) == {f"{name}.svg" for name in re.findall(r"<!-- figure: (\w+)", text)}
    for svg in drawn[lab][0].values():
        assert svg.startswith(b"<?xml") and b"</svg>" in svg and len(svg) < 150_000


@pytest.mark.parametrize("lab", LABS)
def test_drawing_twice_gives_the_same_bytes_without_a_date_or_a_version(drawn, lab):
    first, second = drawn[lab]
    assert first == second
    for svg in first.values():
        assert b"<dc:date>" not in svg and b"Matplotlib" not in svg


@pytest.mark.parametrize("lab", LABS)
def test_a_figure_is_a_function_of_the_students_functions(lab):
    solution = read_solution(lab)
    tree = ast.parse(solution.sources["plots.py"])
    figures = {f.name: [a.arg for a in f.args.args] for f in tree.body
               if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}
    listed = next(n.value for n in tree.body if isinstance(n, ast.Assign)
                  and ast.unparse(n.targets[0]) == "FIGURES")
    assert [key.value for key in listed.keys] == [value.id for value in listed.values]
    assert {key.value for key in listed.keys} == set(figures)
    for arguments in figures.values():
        assert arguments and set(arguments) <= set(solution.functions)


@pytest.mark.parametrize("lab", LABS)
def test_stubs_are_named_as_not_done_and_the_rest_is_drawn(tmp_path, lab):
    done = plots(tmp_path, read_solution(lab).stubs, "--out", "figure.png")
    assert done.stderr.splitlines() == [f"{name}: not done yet" for name in NOT_DONE[lab]]
    assert (done.returncode, done.stdout) == (0, "figure.png written\n")
    assert (tmp_path / "figure.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("lab", "file", "function", "left"),
    [
        ("flash_attention", "flash_forward.py", "_queries_outside", 'flash_fwd, order "fa1"'),
        ("flash_decoding", "decode_time.py", "decode_attention_time", "best_splits"),
        ("megakernel", "timeline.py", "_kernels", 'timeline, mode "megakernel"'),
    ],
)
def test_what_is_done_is_drawn_beside_what_is_not(tmp_path, lab, file, function, left):
    done = plots(tmp_path, half_done(lab, file, function))
    assert (done.returncode, done.stderr) == (0, f"{left}: not done yet\n")


@pytest.mark.parametrize("answer", ["None", "{}", '{"t": float("nan")}'])
def test_a_wrong_function_costs_its_lines_and_says_why(tmp_path, answer):
    sources = half_done("flash_decoding", "decode_time.py")
    sources["decode_time.py"] = sources["decode_time.py"].replace(
        'raise NotImplementedError("TODO: return t, ctas', f'return {answer}  # ("', 1)
    done = plots(tmp_path, sources)
    assert done.returncode == 0
    assert done.stderr.startswith("decode_attention_time: nothing to draw, ")
    assert "Traceback" not in done.stderr and done.stdout == "splits.svg written\n"


def test_help_ends_in_lines_to_paste(tmp_path):
    done = plots(tmp_path, read_solution("flash_decoding").stubs, "--help")
    assert done.stdout.endswith("lines to paste:\n  python plots.py splits --out splits.svg\n"
                                "  python plots.py splits --out splits.png\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--out", "splits.pdf"),
         "splits.pdf: figures are written as .svg or .png\nfor example: --out splits.svg\n"),
        (("--out", "no/such/splits.svg"),
         "no/such/splits.svg: No such file or directory\ngive --out another place\n"),
    ],
)
def test_a_figure_that_can_not_be_written_is_two_lines_and_exit_2(tmp_path, arguments, says):
    done = plots(tmp_path, read_solution("flash_decoding").stubs, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.removeprefix("decode_attention_time: not done yet\n") == says


def test_without_matplotlib_it_says_how_to_get_it(tmp_path):
    absent = {"matplotlib.py": "raise ImportError('no module named matplotlib')\n"}
    done = plots(tmp_path, {**read_solution("megakernel").sources, **absent})
    assert (done.returncode, done.stderr) == (
        2, "matplotlib is not installed: no figures without it\n"
           "install it: python -m pip install matplotlib\n")


def test_a_solution_that_draws_half_a_figure_stops_the_build():
    says = 'solutions/megakernel/plots.py: timelines: timeline, mode "megakernel": not done yet'
    with pytest.raises(KitError, match=says):
        draw(half_done("megakernel", "timeline.py", "_kernels"), "megakernel")


def test_a_broken_plots_stops_the_build_with_its_error():
    broken = {**read_solution("megakernel").sources, "plots.py": "FIGURES = {'x': lambda: 1 / 0}"}
    with pytest.raises(KitError, match="solutions/megakernel/plots.py: ZeroDivisionError"):
        draw(broken, "megakernel")


def test_a_lab_without_plots_has_no_figures():
    assert draw({"tiny.py": ""}, "tiny") == {}


def test_a_figure_shows_itself_in_a_notebook_without_pyplot():
    with drawing.Drawing(height=1) as drawn:
        drawn.axes()
    assert drawn.figure._repr_png_().startswith(PNG)


def test_a_users_own_settings_change_nothing_and_are_left_alone():
    import matplotlib

    with matplotlib.rc_context({"font.size": 30}):
        with drawing.Drawing(height=1) as drawn:
            assert matplotlib.rcParams["font.size"] == drawing.LOOK["font.size"]
            drawn.axes()
        assert matplotlib.rcParams["font.size"] == 30


# --- the pictures do not answer the questions ----------------------------------------------------


def constants(lab):
    """The constants of a plots.py that are written out."""
    tree = ast.parse(read_solution(lab).sources["plots.py"])
    values = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                values[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return values


def test_the_picture_of_splits_is_not_the_answer_to_question_4(decoding):
    shape, term = constants("flash_decoding")["SHAPE"], read_term().figures("flash_decoding")
    gpu = {"A100": decoding.A100_DEC, "H100": decoding.H100_DEC}[term["gpu"]]
    asked = [term[name] for name in shape]
    best = [decoding.best_splits(*sizes, gpu)[0] for sizes in (asked, shape.values())]
    assert best[0] != best[1], "choose another SHAPE in plots.py"


def test_the_picture_of_timelines_is_not_the_answer_to_questions_7_and_8(megakernel):
    context, term = constants("megakernel")["CONTEXT"], read_term().figures("megakernel")
    p = megakernel.TimelineParams(launch=1e-6 * term["launch_us"])
    asked, shown = (
        megakernel.timeline(megakernel.llama_1b_ops(n, rows), "kernels", params)["bw_util"]
        for n, rows, params in ((term["context"], term["rows_per_cta"], p),
                                (context, 16, megakernel.TimelineParams())))
    assert abs(asked - shown) > 0.02 * asked, "choose another CONTEXT in plots.py"
