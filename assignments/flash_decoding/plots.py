"""
The time of decode attention against the number of splits, by your own time model.

    python plots.py --out splits.svg

Nothing to complete here. A function that is not done yet is left out of the picture.
"""

import sys

from decode_time import A100_DEC, H100_DEC, best_splits, decode_attention_time

from autograder.kit import drawing
from autograder.kit.drawing import Drawing

SHAPE = {"B": 1, "Hq": 32, "Hkv": 4, "S": 16384, "d": 128}  # one layer, one new token
SPLITS = [1 << n for n in range(9)]


def splits(decode_attention_time=decode_attention_time, best_splits=best_splits):
    """The microseconds of "fd" on both GPUs, the splits that best_splits chooses, and "fa2"."""
    with Drawing(height=3.4) as drawn:
        axes = drawn.axes()
        for gpu, color, line, mark, above in (
            (A100_DEC, drawing.BLUE, "-", "o", 12),
            (H100_DEC, drawing.RED, "--", "s", -19),
        ):
            name, time = "decode_attention_time", decode_attention_time
            times = [drawn.ask(name, _microseconds, time, "fd", gpu, n) for n in SPLITS]
            fa2 = drawn.ask(name, _microseconds, time, "fa2", gpu)
            if None in (*times, fa2):
                continue
            axes.plot(SPLITS, times, line, marker=mark, color=color, markeredgecolor="white")
            axes.text(1.15 * SPLITS[-1], times[-1], gpu.name, va="center")
            axes.plot(0.6, fa2, mark, color=color, markerfacecolor="white", clip_on=False)

            best = drawn.ask("best_splits", _chosen, best_splits, gpu)
            if best is None:
                continue
            at = (best, times[SPLITS.index(best)])
            axes.plot(*at, "o", markersize=13, color="none", markeredgecolor="black")
            axes.annotate(f"best: {best}", at, (0, above), textcoords="offset points", ha="center")

        axes.set_xscale("log", base=2)
        axes.set_xlim(0.45, 1.8 * SPLITS[-1])
        axes.set_xticks([0.6, *SPLITS], ['"fa2"', *map(str, SPLITS)])
        axes.minorticks_off()
        axes.set_yscale("log")
        axes.set_ylim(10, 1000)
        axes.set_yticks(ticks := (10, 20, 50, 100, 200, 500, 1000), map(str, ticks))
        axes.set_xlabel('splits of the keys, "fd"')
        axes.set_ylabel("microseconds")
        shape = ", ".join(f"{name} = {value}" for name, value in SHAPE.items())
        axes.set_title(f"Decode attention of one layer, {shape}")
    return drawn.figure


def _microseconds(decode_attention_time, method, gpu, splits=1):
    """The time that the model gives for SHAPE."""
    return 1e6 * drawing.number(decode_attention_time(*SHAPE.values(), method, gpu, splits)["t"])


def _chosen(best_splits, gpu):
    """The splits that best_splits gives for SHAPE; ValueError when they are none of SPLITS."""
    return SPLITS[SPLITS.index(best_splits(*SHAPE.values(), gpu)[0])]


FIGURES = {"splits": splits}

if __name__ == "__main__":
    sys.exit(drawing.main(FIGURES))
