"""How far throughput grows with the load: the law of scalability of each server of a ramp, or why none.

Pure: a view → worded rows. The law itself is stats/usl.py's.
"""

import itertools
import statistics
from dataclasses import dataclass

import numpy as np

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.record.curve import BINS, between
from crumple.report import ramp_rows
from crumple.report.ramp_rows import Course
from crumple.report.tables import Figure
from crumple.report.view import ExperimentView, ServerView
from crumple.stats import usl
from crumple.stats.stats import Interval
from crumple.stats.usl import Law, Level, Refused

PLACES_MAX = 2

TITLE = "Law of scalability"
HEADS = ("Server", "One at a time", "With each other", "Most throughput at")
READING = (
    "What n users get out of a server is n over 1 + σ(n−1) + κn(n−1) times what one of them does. σ: the "
    "share of the work that is done one at a time; κ: what each costs each other one. Fitted along the "
    "ramp, with 95 % intervals; no law is given where the levels lie off it by more than the noise "
    "floor. (Gunther's Universal Scalability Law.)"
)


@dataclass(frozen=True)
class LawRow:
    """One server's law, worded; `refused`: why it has none, and then nothing else."""

    server: ServerView
    contention: Figure
    coherency: Figure
    peak: str
    refused: str


def laws(experiment: ExperimentView) -> dict[str, Law | Refused]:
    """Server → the law of its ramp, over all of its counting starts; of another shape none."""
    ramp = ramp_rows.course(experiment)
    return {row.name: law for row, law in _found(experiment, ramp)} if ramp else {}


def rows(experiment: ExperimentView) -> list[LawRow]:
    """The same, a row for each."""
    ramp = ramp_rows.course(experiment)
    return [_row(row, law, ramp) for row, law in _found(experiment, ramp)] if ramp else []


def _found(experiment: ExperimentView, ramp: Course) -> list[tuple[ServerView, Law | Refused]]:
    floor = experiment.noise["throughput"].ratio
    measured = (row for row in experiment.servers if row.counting)
    return [(row, usl.fit(_levels(row, ramp), floor)) for row in measured]


def _levels(row: ServerView, ramp: Course) -> list[Level]:
    """By users, and the answers that they get in rounds so long: chance in their pauses is left out."""
    levels = []
    for low, high in itertools.pairwise(np.linspace(ramp.first, ramp.last, BINS + 1)):
        seen = [between(start.figures.curve, low, high) for start in row.counting if start.figures]
        points = [(point, point.round_s) for point in seen if point]
        users = [point.connections for point, _ in points]
        speeds = [point.connections / round_s for point, round_s in points if round_s]
        if points and len(speeds) == len(row.counting):
            failed = statistics.fmean(point.failed_share for point, _ in points)
            levels.append(Level(statistics.fmean(users), statistics.geometric_mean(speeds), failed))
    return levels


def _row(server: ServerView, law: Law | Refused, ramp: Course) -> LawRow:
    if isinstance(law, Refused):
        return LawRow(server, Figure(""), Figure(""), "", law.why)
    return LawRow(
        server, _small(law.contention, 1e2, "%"), _small(law.coherency, 1e6, "ppm"), _peak(law, ramp), ""
    )


def _peak(law: Law, ramp: Course) -> str:
    if law.peak_at is None:
        return "none"
    # Where nobody was, the law is a guess.
    beyond = law.peak_at > ramp.last
    return f"{min(law.peak_at, ramp.last):,.0f} {ramp.counted}{' or more' if beyond else ''}"


def _small(share: Interval, scale: float, unit: str) -> Figure:
    """Estimate, low and high with the places of the highest; what is next to nothing is not written out."""
    middle, low, high = (end * scale for end in (share.estimate, share.low, share.high))
    places = min(PLACES_MAX, max(0, numerals.decimals(high, 2)))
    least = 10.0**-places
    estimate = numerals.fixed(middle, places) if middle >= least / 2 else f"below {least:g}"
    low_end, high_end = numerals.fixed(low, places), numerals.fixed(max(high, least), places)
    return Figure(f"{estimate}{NARROW}{unit}", f"{low_end}{NARROW}–{NARROW}{high_end}")
