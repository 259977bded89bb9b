"""A ramp along its load: the users' response times and the server's resources at each number of users.

Pure: record → points in the order of time, each over a bin of the measured phase. Quantiles come from the
merged histograms of a bin. stats/knee.py finds the knee.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from crumple.contract import RampShapeSpec, SampleColumns, Series, TrialRecord
from crumple.record import failures, histogram, lateness
from crumple.record.histogram import Times
from crumple.record.lateness import PartLateness
from crumple.stats import averages
from crumple.stats.interval import CONFIDENCE

if TYPE_CHECKING:
    from crumple.stats.knee import Knee

# A ramp has 30 bins, so that its knee is known to about 3 % of the load.
BINS = 30
# A claim of flatness compares the five fifths of a ramp with each other.
FIFTHS = 5
# The median may be missing in a tenth of the bins of a ramp because the engine was late.
LATE_BINS_MAX = 0.1
# The length of a round is known from ten answers on.
ROUNDS_MIN = 10
# How many bins in a row must lose requests before the losses are due to the server: those in one bin may be
# chance.
LASTING_BINS = 3
# The fewest requests that these bins must lose together.
LOST_MIN = 10
# In a ramp with a knee, rounds at its end take 1.1 times as long as on the plateau. Users would not notice
# less.
RISE_MIN = 1.1


@dataclass(frozen=True, eq=False)
class Point:
    """What happened in a stretch of a trial."""

    seconds: float
    connections: float
    """The users of the shape, on average. If each request has a connection, few of them are connected while
    they pause.
    """
    waiting: float
    """Users who wait for an answer, on average."""
    pause_s: float
    """The mean pause after each answer."""
    ok: int
    """Right answers."""
    failed: int
    """Failed requests."""
    times: Times
    """The response times of the right answers."""
    cores_busy: float | None
    """The server's CPU time per second; None: not read in that stretch."""
    memory_bytes: float | None
    """The most memory that the server used; None: not read in that stretch."""
    processes: float | None
    """The most processes that the server had; None: not read in that stretch."""
    threads: float | None
    """The most threads that the server had; None: not read in that stretch."""
    lateness: PartLateness | None = None
    """How late the engine was; None: not known."""

    @property
    def throughput_per_s(self) -> float:
        """Answers that were ok, per second."""
        return self.ok / self.seconds if self.seconds else 0.0

    @property
    def failed_share(self) -> float:
        """Failed requests as a share of those that ended (0..1); 0 where none ended."""
        return self.failed / (self.ok + self.failed) if self.ok + self.failed else 0.0

    @property
    def round_s(self) -> float | None:
        """The seconds a user's round takes, pause and response time; None with fewer than ten answers.

        The response time follows from Little's law: users waiting over answers per second. So users who never
        get an answer count as well, although no histogram holds their time.
        """
        if self.ok < ROUNDS_MIN:
            return None
        return self.pause_s + self.waiting / self.throughput_per_s

    @property
    def lost(self) -> float:
        """Requests that failed, with those waiting where none is answered; 0 where at most 1 % failed."""
        if not self.ok and self.waiting:
            return self.failed + self.waiting
        return self.failed if self.failed_share > failures.SHARE_MAX else 0.0

    def quantile_ns(self, q: float) -> float | None:
        """The quantile in ns; None with too few samples, or where it includes the engine's lateness."""
        return None if self.spoiled(q) or not self._printable(q) else self.times.quantile_ns(q)

    @property
    def mean_ns(self) -> float | None:
        """The mean response time; None without an answer, or where it includes the engine's lateness."""
        mean_ns = self.times.mean_ns
        return None if mean_ns is None or self.mean_spoiled else mean_ns

    def spoiled(self, q: float) -> bool:
        """Whether that quantile is missing because the engine was late."""
        if self.lateness is None or not self._printable(q):
            return False
        return self.lateness.spoils(q, self.times.quantile_ns(q))

    @property
    def mean_spoiled(self) -> bool:
        """Whether the mean is missing because the engine was late."""
        mean_ns = self.times.mean_ns
        return bool(mean_ns and self.lateness and self.lateness.spoils_mean(mean_ns))

    def _printable(self, q: float) -> bool:
        return histogram.printable(q, self.times.count)


Curve = tuple[Point, ...]


def curve(record: TrialRecord, bins: int = BINS) -> Curve:
    """Return the measured phase of a ramp in `bins` of equal length, at most one for each stored histogram.

    A bin in which no interval of the series begins is left out. Other shapes have no points. Raises NotStored
    where a histogram is damaged.
    """
    if not isinstance(record.spec.shape, RampShapeSpec) or record.measured_ns <= 0:
        return ()
    bins = max(1, min(bins, round(record.measured_ns / (record.log.interval_ms * 1e6))))
    edges = averages.even(record.warm_up_ns, record.warm_up_ns + record.measured_ns, bins + 1)
    place = _bins_of(record.series.at_ns, edges)
    # Assign a histogram by its middle: if it crosses an edge, at most half of it lies in the wrong bin.
    middles = [at + of / 2 for at, of in zip(record.log.at_ns, record.log.duration_ns, strict=True)]
    logged = _bins_of([record.warm_up_ns + middle_ns for middle_ns in middles], edges)
    times = [histogram.decode(encoded) for encoded in record.log.response_time]
    waiting, late = _waiting(record.series), lateness.of_trial(record)
    points = []
    for number in range(bins):
        mine = [
            index
            for index, bin_ in enumerate(place)
            if bin_ == number and record.series.phase[index] == "measured"
        ]
        held = [each for each, bin_ in zip(times, logged, strict=True) if bin_ == number]
        if mine:
            point = _point(record, mine, held, waiting, (edges[number], edges[number + 1]))
            points.append(replace(point, lateness=PartLateness(late, tuple(mine))))
    return tuple(points)


def late(record: TrialRecord) -> str | None:
    """Return why the medians of too many bins, or of a fifth, include the engine's lateness, or None."""
    for bins in (BINS, FIFTHS):
        points = curve(record, bins)
        spoiled = [point for point in points if point.spoiled(0.5)]
        if len(spoiled) > LATE_BINS_MAX * len(points):
            first = spoiled[0]
            beyond_ns = lateness.allowed_ns(first.times.quantile_ns(0.5))
            return (
                f"the engine was late while about {first.connections:.0f} users were connected: more "
                f"than a quarter of the requests may have been sent more than {beyond_ns / 1e6:.3g} ms "
                "later than they could have been, so their median response time is not the server's alone"
            )
    return None


def between(points: Curve, low: float, high: float) -> Point | None:
    """Return the curve from `low` to `high` connections as one point; None unless it covers all of them."""
    inside = [point for point in points if low <= point.connections <= high]
    return merge_points(inside) if inside and covers(points, low, high) else None


def merge_points(inside: Sequence[Point]) -> Point:
    """Merge points of one trial, one or more, into one."""
    seconds = sum(point.seconds for point in inside)
    return Point(
        seconds=seconds,
        connections=sum(point.connections * point.seconds for point in inside) / seconds,
        waiting=sum(point.waiting * point.seconds for point in inside) / seconds,
        pause_s=inside[0].pause_s,
        ok=sum(point.ok for point in inside),
        failed=sum(point.failed for point in inside),
        times=histogram.merge([point.times for point in inside]),
        cores_busy=_mean([point.cores_busy for point in inside], [point.seconds for point in inside]),
        memory_bytes=_most([point.memory_bytes for point in inside]),
        processes=_most([point.processes for point in inside]),
        threads=_most([point.threads for point in inside]),
        lateness=_lateness(inside),
    )


def covers(points: Curve, low: float, high: float) -> bool:
    """Whether the curve covers `low` to `high` connections, except for a bin at either end."""
    if not points:
        return False
    first, last = points[0].connections, points[-1].connections
    bin_ = (last - first) / max(1, len(points) - 1)
    return first - bin_ <= low and high <= last + bin_


def sound(points: Curve) -> Curve:
    """Return the curve up to where requests begin to fail or to get no answer for several bins in a row."""
    for index in range(len(points)):
        lost = [point.lost for point in points[index : index + LASTING_BINS]]
        if all(lost) and sum(lost) >= LOST_MIN:
            return points[:index]
    return points


def timed(points: Curve) -> list[tuple[float, float]]:
    """Return users, and the seconds their rounds take, for each bin of the sound curve that has both."""
    return [(p.connections, round_s) for p in sound(points) if not p.lost and (round_s := p.round_s)]


def users_knee(points: Curve) -> "Knee | None":
    """Return the load at which the users' rounds begin to take longer; None: nowhere.

    Quantiles of the answers do not show it: when all workers of a pool are taken, users who hold one are
    answered as fast as before, and the others get no answer. If requests are lost before rounds take longer,
    the knee is where the losses begin.
    """
    # Imported here because only a ramp needs it.
    from crumple.stats import knee

    rounds, kept = timed(points), sound(points)
    found = knee.knee([load for load, _ in rounds], [taken_s for _, taken_s in rounds]) if rounds else None
    if (
        found is not None
        and median(taken_s for _, taken_s in rounds[-knee.SIDE_MIN :]) > RISE_MIN * found.level
    ):
        return found
    if len(rounds) < knee.SIDE_MIN or len(kept) == len(points):
        return None
    last, first = kept[-1].connections, points[len(kept)].connections
    return knee.Knee(math.sqrt(last * first), last, first, (last, first), rounds[-1][1], CONFIDENCE)


def _lateness(points: Sequence[Point]) -> PartLateness | None:
    parts = [point.lateness for point in points if point.lateness]
    return parts[0].with_(parts[1:]) if parts else None


def _bins_of(at_ns: Sequence[float], edges: Sequence[float]) -> list[int]:
    return [bisect_right(edges, each_ns) - 1 for each_ns in at_ns]


def _point(
    record: TrialRecord,
    mine: Sequence[int],
    held: Sequence[Times],
    waiting: Sequence[float],
    span_ns: tuple[float, float],
) -> Point:
    series = record.series
    seconds = [series.duration_ns[index] / 1e9 for index in mine]
    total = sum(seconds)
    samples = record.probes.server.samples if record.probes.server else None
    read = _inside(samples, span_ns) if samples else []
    return Point(
        seconds=total,
        connections=_users(record, sum(span_ns) / 2),
        waiting=sum(waiting[index] * of for index, of in zip(mine, seconds, strict=True)) / total,
        pause_s=_shape(record).pause_ms / 1e3,
        ok=sum(series.ok[index] for index in mine),
        failed=sum(series.failed[index] for index in mine),
        times=histogram.merge(held),
        cores_busy=_cores_busy(samples, read) if samples else None,
        memory_bytes=_memory_bytes(samples, read) if samples else None,
        processes=_most([samples.processes[index] for index in read]) if samples else None,
        threads=_most([samples.threads[index] for index in read]) if samples else None,
    )


def _waiting(series: Series) -> list[float]:
    """Requests of the measured phase that were due and had not ended, on average over each interval."""
    there, before = [], 0
    for index, phase in enumerate(series.phase):
        came = series.scheduled[index] - series.ok[index] - series.failed[index] if phase == "measured" else 0
        there.append(max(0.0, before + came / 2))
        before += came
    return there


def _shape(record: TrialRecord) -> RampShapeSpec:
    assert isinstance(record.spec.shape, RampShapeSpec)
    return record.spec.shape


def _users(record: TrialRecord, at_ns: float) -> float:
    """Return how many users the ramp has at `at_ns`; in the middle of a span that is the span's average."""
    shape = _shape(record)
    rise = shape.to_connections - shape.from_connections
    return shape.from_connections + rise * min(1.0, (at_ns - record.warm_up_ns) / 1e9 / shape.over_s)


def _inside(samples: SampleColumns, span_ns: tuple[float, float]) -> list[int]:
    return [index for index, at_ns in enumerate(samples.at_ns) if span_ns[0] <= at_ns <= span_ns[1]]


def _cores_busy(samples: SampleColumns, read: Sequence[int]) -> float | None:
    if len(read) < 2:
        return None
    first, last = read[0], read[-1]
    spent = samples.cpu_user_ns[last] + samples.cpu_kernel_ns[last]
    spent -= samples.cpu_user_ns[first] + samples.cpu_kernel_ns[first]
    return max(0.0, spent / (samples.at_ns[last] - samples.at_ns[first]))


def _memory_bytes(samples: SampleColumns, read: Sequence[int]) -> float | None:
    # Use proportional sizes where they were read: resident sizes count shared pages once for each process.
    # The two are never mixed, since the step from one to the other would look like growth of the server.
    if any(bytes_ is not None for bytes_ in samples.pss_bytes):
        return _most([samples.pss_bytes[index] for index in read])
    return _most([samples.rss_bytes[index] for index in read])


def _most(values: Sequence[float | None]) -> float | None:
    return max((float(value) for value in values if value is not None), default=None)


def _mean(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    return sum(value * weight for value, weight in known) / sum(w for _, w in known) if known else None
