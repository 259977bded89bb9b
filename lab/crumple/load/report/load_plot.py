"""The response times of one load as a histogram in a terminal, with its quantiles below it. Pure."""

import math

from rich.text import Text

from crumple.drawing import numerals, scale, terminal
from crumple.drawing.scale import AxisScale
from crumple.load.report import load_figures
from crumple.load.report import load_sentences as say
from crumple.load.report.load_document import LoadDocument

# The histogram is three lines high: with more, the summary would not fit on a screen.
ROWS = 3
# Colours of the times up to the p99, and beyond it.
BODY, TAIL = "cyan", "magenta"


def plot(load: LoadDocument, columns: int) -> list[Text]:
    """Return the histogram, the quantiles and the axis; empty if no answer was ok."""
    edges_ns, counts = load_figures.bins(load.response_times, columns)
    if not counts:
        return []
    known = load.times["response_time"].quantile_ns
    tail_ns = known.get(0.99, math.inf)
    lines = []
    for row in terminal.blocks(counts, ROWS):
        line = Text(no_wrap=True)
        for block, edge_ns in zip(row, edges_ns, strict=False):
            line.append(block, style=TAIL if edge_ns >= tail_ns else BODY)
        lines.append(line)
    axis = AxisScale(edges_ns[0], edges_ns[-1], log=True)
    marks = [(say.quantile(q), known[q]) for q in (0.5, 0.99, 0.999, 0.9) if known.get(q)]
    ticks = [(numerals.duration(ns), ns) for ns in scale.round_between(edges_ns[0], edges_ns[-1])]
    below = (terminal.ruler(marks, axis, columns, "─"), terminal.ruler(ticks, axis, columns))
    return [*lines, *(Text(line, style="dim") for line in below)]
