"""The charts of one comparison on its page: better or worse in each figure, and quantiles. Pure."""

import math
from collections.abc import Iterator, Sequence

from crumple.drawing import numerals, theme
from crumple.drawing.chart import Chart
from crumple.drawing.plot import (
    Area,
    ChartKey,
    ChartRow,
    Picture,
    RowChart,
    RowMark,
    RowPoint,
    Whisker,
    picture,
)
from crumple.drawing.scale import AxisScale, AxisTick, ChartAxis
from crumple.stats.interval import Interval
from crumple.versus.letters import FIRST
from crumple.versus.report import versus_sentences as say
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.standing import LikenessWord, Ratio
from crumple.words import quantile_lines

# The axis reaches at least this factor from alike, and beyond the estimates by the factor BEYOND at most.
AROUND, BEYOND = 1.1, 2.0
# The least share of the axis on either side of alike, so that a reader sees which side is better.
SIDE = 0.15
# The factors that the axis may name on either side, the roundest first.
FACTORS = (1.0, 10.0, 100.0, 1_000.0, 2.0, 5.0, 20.0, 50.0, 200.0, 500.0, 3.0, 1.5, 1.2, 1.1, 1.05, 1.02)
# The least distance of two labels of the axis, as a share of it, so that they do not touch on a telephone.
APART = 0.11
# The radius of the ring of a block in px: less than that of an estimate, of which there is one.
RING_PX = 2.5
# From the style sheet's palette, whose colours have the names of language families.
COLOURS = ("go", "java", "javascript", "php", "python", "csharp", "rust", "other")
_ANSWERS: dict[LikenessWord, str] = {
    "different": theme.INK,
    "alike": theme.FAMILIES["javascript"],
    "undecided": theme.MUTED,
}


def ratios(result: VersusFigures) -> Picture | None:
    """A row for each comparison: its interval, its estimate, and a ring for each block; worse lies right."""
    shown = [(each, found) for each in result.compared.ratios if (found := say.worse(each)) is not None]
    if not shown:
        return None
    scale = _scale([found for _, found in shown])
    which = f"{result.others[0]} " if len(result.others) == 1 else ""
    axis = ChartAxis(scale, list(_ticks(scale)), f"← {which}better · {which}worse →")
    tolerance, within = 1 + result.loads.tolerance, f"alike: less than {say.tolerance(result)} apart"
    drawn = RowChart(
        axis,
        [_row(result, ratio, found) for ratio, found in shown],
        blocks=[Area(theme.SHADE, 1 / tolerance, tolerance, title=within)],
    )
    keys = [
        ChartKey("all blocks together, with the interval", theme.INK, "dot"),
        ChartKey("one block", theme.MUTED, "ring"),
        ChartKey(within, theme.SHADE),
    ]
    return picture(drawn, say.headlines(result), keys)


def quantiles(result: VersusFigures) -> Picture | None:
    """The response times of each version at the rate, all blocks together."""
    found = {letter: times for letter in result.labels if (times := result.times(letter))}
    colours = {letter: theme.FAMILIES[family] for letter, family in zip(result.labels, COLOURS, strict=False)}
    return quantile_lines.lines(found, colours)


RATIOS = Chart("ratios", "Better or worse, and by which factor", f"Each version beside {FIRST}.", ratios)
QUANTILES = Chart(
    "quantiles",
    "Quantiles of the response times",
    "At the same rate, the answers of all blocks that count together. Both axes are logarithmic; a line "
    "ends where its samples no longer carry the percentile.",
    quantiles,
)


def _row(result: VersusFigures, ratio: Ratio, found: Interval) -> ChartRow:
    name = say.NAMES[ratio.figure]
    colour, verdict = _ANSWERS[ratio.answer], say.verdict(ratio)
    is_bounded = numerals.bounded(found) and found.low > 0
    low, high = (found.low, found.high) if is_bounded else (found.estimate, found.estimate)
    factor = f"{verdict}, {say.larger(found)}"
    marks: list[RowMark] = [
        Whisker(low, high, colour, f"{name}: {factor}", width=2.4),
        RowPoint(found.estimate, f"{name}: {factor}", colour),
    ]
    for block, value in _by_block(result, ratio).items():
        said = f"block {block}: {say.factor(value)}"
        marks.append(RowPoint(value, said, theme.MUTED, "ring", RING_PX, below=True))
    return ChartRow(name if len(result.others) == 1 else f"{ratio.letter}: {name}", marks, say.larger(found))


def _by_block(result: VersusFigures, ratio: Ratio) -> dict[int, float]:
    found = result.by_block(ratio.letter, ratio.figure)
    return {block: 1 / value for block, value in found.items()} if say.is_better_with_more(ratio) else found


def _scale(shown: Sequence[Interval]) -> AxisScale:
    """The axis: around all intervals, but not far beyond the estimates, and alike in it."""
    values = [each.estimate for each in shown]
    lows = [each.low if each.low > 0 else each.estimate for each in shown]
    highs = [each.high if math.isfinite(each.high) else each.estimate for each in shown]
    low = max(min(values) / BEYOND, min(lows) / 1.03)
    high = min(max(values) * BEYOND, max(highs) * 1.03)
    # Each side takes SIDE of the axis at least.
    other = SIDE / (1 - SIDE)
    low = min(low, 1 / AROUND, max(high, AROUND) ** -other)
    return AxisScale(low, max(high, AROUND, low**-other), log=True)


def _ticks(scale: AxisScale) -> Iterator[AxisTick]:
    """Yield the roundest factors on both sides that lie far enough apart, each told from its larger side."""
    taken: list[float] = []
    for factor in FACTORS:
        for at in dict.fromkeys((factor, 1 / factor)):
            share = scale.share(at)
            if scale.has(at) and all(abs(share - other) >= APART for other in taken):
                taken.append(share)
                yield AxisTick(at, "alike" if factor == 1 else f"{factor:g} times")
