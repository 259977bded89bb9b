"""The rows of a ramp's chart: for each server a line and a band over the number of users.

Pure: starts → rows. Starts are compared at the same numbers of users: the line is their median, the band
reaches from the lowest to the highest. Knees come from the figures, not from these rows.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from crumple import contract
from crumple.record import failures, histogram
from crumple.record.curve import Point, merge_points
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.run.report.view import ExperimentView, ServerView
from crumple.stats.interval import Interval
from crumple.stats.knee import over_starts

# At how many numbers of users starts are compared: one point for each 15 pixels of a wide chart.
GRID = 49
# The quantiles that a chart shows below the median: the first for which enough starts have the samples.
DEEP = (0.99, 0.9)
# A quantile needs four stretches of a ramp with enough samples; fewer show no course.
STRETCHES_MIN = 4
# The fewest cores that a server must keep busy at some time for the panel of cores, which would otherwise be
# an empty line.
CORES_MIN = 0.005
# The panel of users who wait is drawn if at least two wait at some time.
WAITING_MIN = 2.0
# A count is drawn if it grows by at least two, and by at least one for each fifty users; else it hardly
# depends on the load.
GROWTH_MIN, GROWTH_PER_USER = 2.0, 0.02

Row = dict[str, Any]
# Figures of one start → pairs of seconds since the ramp began and the value there.
Along = Callable[[Figures], Sequence[tuple[float, float]]]
# The seconds at which a point of a curve begins and ends, and the point.
Placed = tuple[float, float, Point]
Kind = Literal["time", "size", "share", "number"]


@dataclass(frozen=True)
class LoadedRamp:
    """A ramp as loaded: from `first` to `last` users within `over_s`."""

    first: float
    last: float
    over_s: float
    counted: str
    """What is counted: "users" or "connections"."""

    def users(self, at_s: float) -> float:
        """Return the number of users `at_s` seconds after the ramp began."""
        return self.first + (self.last - self.first) * min(1.0, at_s / self.over_s)


@dataclass(frozen=True)
class Panel:
    """One panel over the users."""

    name: str
    title: str
    kind: Kind
    lines: Mapping[str, list[Row]]
    """Server → rows with `x`, `value`, `low` and `high`."""

    def all(self, key: str) -> list[float]:
        """Return the values under `key` in all rows of all servers."""
        return [row[key] for rows in self.lines.values() for row in rows]


def course(experiment: ExperimentView) -> LoadedRamp | None:
    """Return the ramp; None if the experiment has another shape, or no start counts."""
    for start in experiment.starts:
        shape = start.trial.record.spec.shape if start.trial.record else None
        if isinstance(shape, contract.RampShapeSpec) and start.counts:
            counted = "users" if shape.pause_ms else "connections"
            return LoadedRamp(shape.from_connections, shape.to_connections, shape.over_s, counted)
    return None


def panels(experiment: ExperimentView, ramp: LoadedRamp) -> list[Panel]:
    """Return the panels that show something in this experiment, in the order in which they are drawn."""

    def drawn(name: str, title: str, kind: Kind, along: Along) -> Panel:
        lines = {row.name: _line(row, along, ramp, kind) for row in experiment.servers}
        return Panel(name, title, kind, {server: rows for server, rows in lines.items() if rows})

    deep = _deepest(experiment)
    every = [
        drawn("p50", "Response time p50", "time", partial(_quantile, q=0.5)),
        *(
            [drawn("deep", f"Response time p{deep * 100:g}", "time", partial(_quantile, q=deep))]
            if deep
            else []
        ),
        drawn("waiting", "Users who wait for an answer", "number", _waiting),
        drawn("failed", "Failed requests", "share", _of("failed_share")),
        drawn("throughput", "Throughput, answers per second", "number", _of("throughput")),
        drawn("cores", "CPU of the server, cores busy", "number", _of("cores_busy")),
        drawn("memory", "Memory of the server", "size", _of("memory")),
        drawn("processes", "Processes", "number", _of("processes")),
        drawn("threads", "Threads", "number", _of("threads")),
    ]
    return [panel for panel in every if panel.lines and _tells(panel, ramp)]


def knees(experiment: ExperimentView) -> dict[str, Interval]:
    """Return server → its knee in users, for servers of which every start that counts has one."""
    found = {row.name: _knee(row) for row in experiment.servers}
    return {server: knee for server, knee in found.items() if knee is not None}


def _tells(panel: Panel, ramp: LoadedRamp) -> bool:
    top = max(panel.all("value"))
    if panel.name == "cores":
        return top >= CORES_MIN
    if panel.name == "failed":
        return top > failures.SHARE_MAX
    if panel.name == "waiting":
        # Without pauses every user waits all the time.
        return ramp.counted == "users" and top >= WAITING_MIN
    if panel.name in ("processes", "threads"):
        least = max(GROWTH_MIN, GROWTH_PER_USER * (ramp.last - ramp.first))
        seen = ([row["value"] for row in rows] for rows in panel.lines.values())
        return any(max(values) - min(values) >= least for values in seen)
    return top > 0


def _line(row: ServerView, along: Along, ramp: LoadedRamp, kind: Kind) -> list[Row]:
    grid = np.linspace(ramp.first, ramp.last, GRID)
    # The axis of times is logarithmic, so interpolate them on logarithms.
    there, back = (np.log, np.exp) if kind == "time" else (np.asarray, np.asarray)
    starts = []
    for trial in row.figures:
        seen = along(trial)
        if len(seen) > 1:
            x = [ramp.users(at_s) for at_s, _ in seen]
            y = there([value for _, value in seen])
            starts.append(np.interp(grid, x, y, left=math.nan, right=math.nan))
    if not starts:
        return []
    values = np.array(starts)
    covered = 2 * (~np.isnan(values)).sum(axis=0) >= len(starts)
    grid, values = grid[covered], values[:, covered]
    ends = zip(grid, *(back(of(values, axis=0)) for of in (np.nanmedian, np.nanmin, np.nanmax)), strict=True)
    return [
        {"x": _round(x), "value": _round(value), "low": _round(low), "high": _round(high)}
        for x, value, low, high in ends
    ]


def _round(value: float) -> float:
    # More digits cannot be seen and make the page larger.
    return float(f"{value:.5g}")


def _places(trial: Figures) -> Iterator[Placed]:
    begin_s = 0.0
    for point in trial.curve:
        yield begin_s, begin_s + point.seconds, point
        begin_s += point.seconds


def _of(metric: str) -> Along:
    along = METRICS[metric].along
    assert along is not None

    def of(trial: Figures) -> list[tuple[float, float]]:
        seen = (((begin + end) / 2, along(point)) for begin, end, point in _places(trial))
        return [(at_s, value) for at_s, value in seen if value is not None]

    return of


def _waiting(trial: Figures) -> list[tuple[float, float]]:
    return [((begin + end) / 2, point.waiting) for begin, end, point in _places(trial)]


def _quantile(trial: Figures, q: float) -> list[tuple[float, float]]:
    """Return the quantile in stretches with enough samples for it; empty if one stretch is the whole ramp.

    Stretches in which the engine's lateness may have changed the quantile are left out.
    """
    stretches = _stretches(trial, q)
    found = []
    for stretch in stretches if len(stretches) > 1 else []:
        begin_s, end_s = stretch[0][0], stretch[-1][1]
        value = merge_points([point for *_, point in stretch]).quantile_ns(q)
        if value is None:
            continue
        # A stretch of several points is drawn level: a slope would show a rise that was not measured.
        ends = [begin_s, end_s] if len(stretch) > 1 else [(begin_s + end_s) / 2]
        found += [(at_s, value) for at_s in ends]
    return found


def _stretches(trial: Figures, q: float) -> list[list[Placed]]:
    """Return runs of points that together have enough samples; a rest at the end joins the last run."""
    stretches: list[list[Placed]] = [[]]
    for placed in _places(trial):
        if len(stretches) > 1 and not stretches[-1] and not placed[-1].times.count:
            # A histogram may cover several points; points without one share that of the point before.
            stretches[-2].append(placed)
            continue
        stretches[-1].append(placed)
        if histogram.printable(q, sum(point.times.count for *_, point in stretches[-1])):
            stretches.append([])
    *whole, rest = stretches
    if whole:
        whole[-1].extend(rest)
    return whole


def _deepest(experiment: ExperimentView) -> float | None:
    """Return the deepest quantile for which half of the servers have enough samples; None if there is none.

    Every start of such a server has enough of them in each of a few stretches.
    """
    measured = [row.figures for row in experiment.servers if row.figures]
    for q in DEEP:
        lengths = [min(len(_stretches(trial, q)) for trial in trials) for trials in measured]
        if 2 * sum(length >= STRETCHES_MIN for length in lengths) >= len(lengths):
            return q
    return None


def _knee(row: ServerView) -> Interval | None:
    found = [trial.knee for trial in row.figures if trial.knee]
    hosts = [trial.host for trial in row.figures]
    return over_starts(found, hosts) if found and len(found) == len(row.figures) else None
