"""
The traffic of attention against on-chip memory, counted by your own flash_fwd.

    python plots.py --out traffic.svg

Nothing to complete here. A function that is not done yet is left out of the picture.
"""

import sys

import numpy as np
from attention import standard_attention
from flash_forward import block_sizes, fa_io_formula, flash_fwd

from autograder.kit import drawing
from autograder.kit.drawing import Drawing

N, D = 256, 16  # queries and keys; elements of each. Small: every tile is really computed.
SMALLEST, LARGEST = 256, 16384  # on-chip memory, elements


def traffic(flash_fwd=flash_fwd):
    """
    The elements that standard attention, "fa1" and "fa2" move, against those that fit on chip.

    Lines are fa_io_formula, marks are what flash_fwd counts: they must lie on the lines.
    """
    with Drawing(height=3.4) as drawn:
        axes = drawn.axes()
        X = np.zeros((N, D))
        standard = standard_attention(X, X, X)[2].total
        axes.axhline(standard / 1000, color=drawing.BLACK, linestyle=":")
        axes.text(LARGEST, 1.03 * standard / 1000, "standard attention", ha="right", va="bottom")

        # block_sizes changes after each of these; the lines go on a little behind the last mark.
        sizes = range(SMALLEST, LARGEST + LARGEST // 16, 4 * D)
        powers = [1 << n for n in range(SMALLEST.bit_length() - 1, LARGEST.bit_length())]
        for order, color, line, mark in (
            ("fa1", drawing.BLUE, "-", "o"),
            ("fa2", drawing.RED, "--", "s"),
        ):
            totals = [fa_io_formula(N, D, M, order) / 1000 for M in sizes]
            axes.plot(sizes, totals, line, color=color, drawstyle="steps-pre")
            axes.text(1.12 * LARGEST, totals[-1], order, va="center")
            for M in powers:
                name = f'flash_fwd, order "{order}"'
                count = drawn.ask(name, _counted, flash_fwd, X, *block_sizes(M, D), order)
                if count is None:
                    break
                axes.plot(M, count / 1000, mark, color=color, markeredgecolor="white")

        axes.set_xscale("log", base=2)
        axes.set_xticks(powers, [str(M) for M in powers])
        axes.set_xlim(0.85 * SMALLEST, 1.5 * LARGEST)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("elements that fit on chip, M")
        axes.set_ylabel("thousand elements moved")
        axes.set_title(f"One forward pass, N = {N}, d = {D}: line = formula, mark = counted")
    return drawn.figure


def _counted(flash_fwd, X, Br, Bc, order):
    """The elements that flash_fwd says it moves with X as queries, keys and values."""
    io = flash_fwd(X, X, X, Br, Bc, order=order)[2]
    return drawing.number(io.read + io.write)


FIGURES = {"traffic": traffic}

if __name__ == "__main__":
    sys.exit(drawing.main(FIGURES))
