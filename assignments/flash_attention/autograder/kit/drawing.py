"""
What a lab's plots.py draws with: one look, the calls of unfinished functions, the command line.

Figures are fit for grey print and for the colour-blind, and drawing one twice gives the same
bytes. Matplotlib is loaded when a figure is drawn, never before.
"""

from __future__ import annotations

import argparse
import io
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from autograder.kit.errors import KitError

WIDTH = 6.3  # inches: a handout's column
SUFFIXES = (".svg", ".png")

# Colours that the colour-blind tell apart: Okabe and Ito 2008, Color Universal Design.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

LOOK = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.5,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "figure",
}


class Drawing:
    """
    One figure in the labs' look, drawn inside a `with` block.

        with Drawing(height=3) as drawing:
            axes = drawing.axes()
            time = drawing.ask("timeline", seconds, ops, "kernels")
            ...
        return drawing.figure

    What `ask` could not get stands in `notes`, above the picture and in `figure.notes`.
    """

    def __init__(self, height: float):
        self.height = height  # inches
        self.notes: list[str] = []

    def __enter__(self) -> Drawing:
        try:
            import matplotlib
            from matplotlib.figure import Figure
        except ImportError:
            raise KitError("matplotlib is not installed: no figures without it",
                           "install it: python -m pip install matplotlib") from None
        self._look = ExitStack()
        self._look.enter_context(matplotlib.rc_context())
        _set_look(matplotlib)
        self.figure = Figure(figsize=(WIDTH, self.height), layout="constrained")
        return self

    def __exit__(self, *error) -> None:
        if self.notes:
            self.figure.suptitle("\n".join(_fitting(note) for note in self.notes),
                                 x=0.01, ha="left", fontsize=8.5, fontweight="bold")
        self.figure.notes = tuple(self.notes)
        self.figure._repr_png_ = lambda: _png(self.figure)  # a notebook shows it, pyplot or not
        self._look.close()

    def axes(self, *args, **kwargs) -> Any:
        """New axes of the figure; arguments as for matplotlib's add_subplot."""
        return self.figure.add_subplot(*args, **kwargs)

    def legend(self, styles: Mapping[str, Mapping[str, Any]], ncols: int) -> None:
        """A legend below the axes: label -> what its patch looks like."""
        from matplotlib.patches import Patch

        patches = [Patch(label=label, **style) for label, style in styles.items()]
        self.figure.legend(handles=patches, loc="outside lower center", ncols=ncols, frameon=False)

    def ask(self, name: str, question: Callable, *args, **kwargs) -> Any:
        """
        question(...), or None and a note that says what kept it from an answer.

        Args:
            name: what the note calls it, the student's function
        """
        try:
            return question(*args, **kwargs)
        except NotImplementedError:
            note = f"{name}: not done yet"
        except Exception as error:
            note = f"{name}: nothing to draw, {type(error).__name__}: {error}"
        if note not in self.notes:
            self.notes.append(note)
        return None


def number(value: Any) -> float:
    """The value as a float that can be drawn; ValueError when it is not finite."""
    if not math.isfinite(value):
        raise ValueError(f"a result is {value}")
    return float(value)


def save(figure: Any, path: Path, title: str = "") -> None:
    """Write the figure as SVG or PNG, whichever the path ends in, without dates and versions."""
    import matplotlib

    if path.suffix not in SUFFIXES:
        raise KitError(f"{path}: figures are written as {' or '.join(SUFFIXES)}",
                       f"for example: --out {path.stem or 'figure'}.svg")
    svg = path.suffix == ".svg"
    metadata = {"Date": None, "Creator": None, "Title": title} if svg else {"Software": None}
    with matplotlib.rc_context():
        _set_look(matplotlib)
        try:
            figure.savefig(path, metadata=metadata)
        except OSError as error:
            raise KitError(f"{path}: {error.strerror}", "give --out another place") from None


def save_all(figures: Mapping[str, Callable], folder: Path) -> list[str]:
    """Write every figure as folder/<name>.svg; the notes say what could not be drawn."""
    notes = []
    for name, draw in figures.items():
        figure = draw()
        save(figure, folder / f"{name}.svg", name)
        notes += [f"{name}: {note}" for note in figure.notes]
    return notes


def main(figures: Mapping[str, Callable], argv: Sequence[str] | None = None) -> int:
    """The command line of a plots.py: draw one figure from the functions beside it."""
    first = next(iter(figures))
    parser = argparse.ArgumentParser(
        prog="plots.py",
        description="Draws this lab's figures with the functions in this folder; what is not done "
                    "yet is left out.",
        epilog="lines to paste:\n" + "".join(
            f"  python plots.py {name} --out {name}{suffix}\n"
            for name in figures for suffix in SUFFIXES),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", nargs="?", choices=tuple(figures), default=first,
                        help=f"which figure (default: {first})")
    parser.add_argument("--out", type=Path, metavar="FILE",
                        help="where to write it, .svg or .png (default: its name with .svg)")
    chosen = parser.parse_args(argv)
    path = chosen.out or Path(f"{chosen.figure}.svg")
    try:
        figure = figures[chosen.figure]()
        save(figure, path, chosen.figure)
    except KitError as error:
        print(error, file=sys.stderr)
        return 2
    for note in figure.notes:
        print(note, file=sys.stderr)
    print(f"{path} written")
    return 0


def _png(figure: Any) -> bytes:
    memory = io.BytesIO()
    figure.savefig(memory, format="png")
    return memory.getvalue()


def _set_look(matplotlib: Any) -> None:
    matplotlib.rcdefaults()  # a figure looks the same whatever the user's own settings are
    matplotlib.rcParams.update(LOOK)


def _fitting(note: str, room: int = 88) -> str:
    line = " ".join(note.replace("$", r"\$").split())
    return line if len(line) <= room else line[: room - 3] + "..."
