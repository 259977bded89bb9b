"""Whether the throughput was even while it was measured: it neither rose, nor fell, nor jumped. Pure.

`growth` asks whether a warm-up was too short, which makes a trial invalid. This asks whether one number says
how fast the server was.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, pvariance

from crumple.contract import TrialRecord

# The measured time is compared in tenths: a fall over all of it shows in the first and the last.
PARTS = 10
# Each tenth of an even throughput lies within a fifth of the mean, and so do single intervals on average: as
# `growth` has it, less is no trend.
FAR_MIN = 0.2
# By chance alone a tenth of a steady trial lies outside of three standard errors once in 370 times, so one of
# ten tenths does in less than 3 % of trials.
ERRORS = 3.0
# With fewer answers in a tenth, three standard errors are more than a fifth of them, and little can be told.
ANSWERS_MIN = 225


def is_even(record: TrialRecord) -> bool | None:
    """Return whether the throughput was even; None: it takes more answers or intervals to tell."""
    series = record.series
    steps = zip(series.ok, series.duration_ns, series.phase, strict=True)
    measured = [(ok, ns) for ok, ns, phase in steps if phase == "measured" and ns > 0]
    if len(measured) < PARTS:
        return None
    edges = [round(part * len(measured) / PARTS) for part in range(PARTS + 1)]
    parts = [measured[begin:end] for begin, end in pairwise(edges)]
    answers = [sum(ok for ok, _ in part) for part in parts]
    per_ns = sum(answers) / sum(ns for _, ns in measured)
    expected = [per_ns * sum(ns for _, ns in part) for part in parts]
    is_far = (
        abs(seen - mean) > FAR_MIN * mean + ERRORS * math.sqrt(mean)
        for seen, mean in zip(answers, expected, strict=True)
    )
    if any(is_far) or _jumps([ok / ns for ok, ns in measured], sum(answers) / len(measured)):
        return False
    return None if min(expected) < ANSWERS_MIN else True


def _jumps(speeds: Sequence[float], mean: float) -> bool:
    """Return whether the speeds of single intervals, with `mean` answers each, differ by more than chance.

    Of answers that come by chance, the variance is the mean. What goes beyond it may be a fifth of the mean.
    """
    known = fmean(speeds)
    if not known:
        return False
    spread = pvariance([speed / known * mean for speed in speeds])
    error = math.sqrt((mean + 2 * mean**2) / len(speeds))
    return spread - mean > (FAR_MIN * mean) ** 2 + ERRORS * error
