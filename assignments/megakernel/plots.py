"""
Where the time of a decode step goes, drawn from your own timeline.

    python plots.py --out timelines.svg

Nothing to complete here. A mode that is not done yet is left out of the picture.
"""

import sys

from llama_ops import TimelineParams, llama_1b_ops
from timeline import timeline

from autograder.kit import drawing
from autograder.kit.drawing import Drawing

CONTEXT = 4096  # tokens in the KV cache
LANES = {  # label -> the operations' list and the mode
    "7 kernels": ("7", "kernels"),
    "12 kernels": ("12", "kernels"),
    "megakernel": ("7", "megakernel"),
}
PARTS = {  # in the order in which an operation spends them -> colour, hatch
    "launch": (drawing.ORANGE, "////"),
    "ramp": (drawing.YELLOW, "||||"),
    "sync_overhead": (drawing.PURPLE, "xxxx"),
    "small_kernels": (drawing.GREEN, "++++"),
    "weights": (drawing.BLUE, ""),
    "bandwidth_loss": (drawing.SKY, "----"),
    "tail": (drawing.RED, "\\\\\\\\"),
}


def timelines(timeline=timeline):
    """The whole step as one bar a lane, and one layer operation by operation, in microseconds."""
    with Drawing(height=5.4) as drawn:
        whole, layer = drawn.figure.subplots(2, 1, height_ratios=(1, 1.8))
        whole.margins(x=0.08)
        for lane, (kernels, mode) in enumerate(LANES.values()):
            ops = llama_1b_ops(CONTEXT, kernels=kernels)
            n = _ops_of_a_layer(ops)
            name = f'timeline, mode "{mode}"'
            step = drawn.ask(name, _microseconds, timeline, ops, mode)
            # Steps that end within the second layer: what each operation adds to the one before.
            until = [ops[: n + k] for k in range(n + 1)]
            steps = [drawn.ask(name, _microseconds, timeline, some, mode) for some in until]
            if None in (step, *steps):
                continue

            end = _bars(whole, lane, 0.0, step)
            whole.text(end, lane, f" {end:.0f}", va="center")
            end = 0.0
            for k in range(n):
                op, start = ops[n + k], end
                added = {part: steps[k + 1][part] - steps[k][part] for part in PARTS}
                end = _bars(layer, lane, start, added)
                if op.ctas:
                    text = op.name.split("+")[0]
                    layer.text(start, lane - 0.27, text, rotation=40, fontsize=7)

        for axes, title in (
            (whole, f"One token of Llama-3.2-1B, {CONTEXT} tokens of context"),
            (layer, "One layer of it, operation by operation"),
        ):
            axes.set_title(title)
            axes.set_yticks(range(len(LANES)), LANES)
            axes.set_ylim(len(LANES) - 0.6, -0.8)
            axes.grid(axis="y", visible=False)
            axes.set_xlim(left=0)
            axes.set_xlabel("microseconds")
        drawn.legend({part: _style(part) for part in PARTS}, ncols=4)
    return drawn.figure


def _microseconds(timeline, ops, mode):
    """The parts of the time of the operations, 0 where one is left out."""
    parts = timeline(ops, mode, TimelineParams())["parts"]
    return {part: 1e6 * drawing.number(parts.get(part, 0.0)) for part in PARTS}


def _ops_of_a_layer(ops):
    """How many operations come before the first repeats itself as a layer's start."""
    names = [op.name for op in ops]
    return next(n for n in range(1, len(ops)) if names[:n] == names[n : 2 * n])


def _bars(axes, lane, start, parts):
    """Draw the parts one after the other; the end of the last."""
    for part in PARTS:
        if parts[part] > 0:
            axes.barh(lane, parts[part], left=start, height=0.45, **_style(part))
            start += parts[part]
    return start


def _style(part):
    """How a part looks."""
    color, hatch = PARTS[part]
    return {"facecolor": color, "hatch": hatch, "edgecolor": "black", "linewidth": 0.4}


FIGURES = {"timelines": timelines}

if __name__ == "__main__":
    sys.exit(drawing.main(FIGURES))
