"""Whether several load hosts put one load on: they began at one instant, and were answered alike. Pure.

Two hosts may be answered differently though the server treats both alike: one is further away, or its network
or engine delays answers. Then the response times of the whole load are a mixture, of which no quantile is the
server's. Both see the same server at the same moment, so they are compared moment by moment: what the server
does cancels, and what remains is theirs, and chance.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from statistics import fmean, stdev

from crumple.contract import LoadHostRecord, TrialRecord
from crumple.drawing import numerals
from crumple.record import histogram, lateness
from crumple.record.lateness import Limits
from crumple.record.rows_together import Entries
from crumple.stats import student

# Hosts begin within a millisecond of one another: it is a hundredth of an interval of the series, and as late
# as a single request may be without being left out (lateness.py).
APART_NS_MAX = 1_000_000
# The measured phase is compared in so many moments: twenty medians show a difference of half their scatter.
MOMENTS = 20
# The fewest moments with answers enough that have a spread worth the name.
MOMENTS_MIN = 5
# The median is compared by moments. So that a host by which the slowest answers come is seen, p99 is, too: of
# the whole load, as few moments have answers enough for it.
MEDIAN, TAIL = 0.5, 0.99
_LIMITS = f"{lateness.SHARE_OF_TIME:.0%} apart, or {numerals.duration(lateness.LATE_NS)}"
_REMEDY = f"(limit {_LIMITS}): see what is on its way, or leave it out"

Moments = dict[int, histogram.Times]


def ratios(logs: Sequence[Entries], measured_ns: int) -> list[tuple[float, float] | None]:
    """Return for each part of a load its median response time over that of all others, as a 95 % interval.

    `logs`: the entries of the log of each part. None: there are too few answers, or no others.
    """
    moments = [_moments(log, measured_ns) for log in logs]
    whole = {
        moment: histogram.merge([each[moment] for each in moments if moment in each])
        for moment in {moment for each in moments for moment in each}
    }
    return [_ratio(own, whole) for own in moments]


def late_start_problem(record: TrialRecord) -> str | None:
    """Return a problem if load hosts did not begin at one instant."""
    last = max(record.load_hosts, key=lambda host: host.late_ns, default=None)
    if last is None or last.late_ns <= APART_NS_MAX:
        return None
    return (
        f"{last.name} began {numerals.duration(last.late_ns)} later than the first load host "
        f"(limit {numerals.duration(APART_NS_MAX)}): keep other programs off its cores, and measure again"
    )


def late_start_warning(record: TrialRecord) -> str | None:
    """Return a warning if load hosts may have begun apart, as their clocks are not known more exactly."""
    if late_start_problem(record):
        return None
    # A way that is slower in one direction sets a host's beginning off, and what is read of it as much.
    apart = [
        (last.late_ns + last.late_off_ns - first.late_ns + first.late_off_ns, first.name, last.name)
        for first, last in permutations(record.load_hosts, 2)
    ]
    most_ns, first, last = max(apart, key=lambda each: each[0], default=(0, "", ""))
    if most_ns <= APART_NS_MAX:
        return None
    return (
        f"{first} and {last} may have begun {numerals.duration(most_ns)} apart, as far as their clocks are "
        f"known (limit {numerals.duration(APART_NS_MAX)}): take load hosts that are nearer"
    )


def differs_problem(record: TrialRecord) -> str | None:
    """Return a problem if the response times of one load host are others than those of the rest."""
    return next(_differing(record.load_hosts), None)


def tail_warning(record: TrialRecord, asked: Limits) -> str | None:
    """Return a warning if the slowest answers to one load host took another time than those to the rest.

    `asked`: the limits of an objective, whose quantiles are compared then, instead of p99.
    """
    if differs_problem(record):
        return None
    higher = sorted(q for q in asked or (TAIL,) if q > MEDIAN)
    return next((said for q in higher if (said := _differing_at(q, record.load_hosts))), None)


def own_problem(record: TrialRecord) -> str | None:
    """Return a problem if the record of one load host contradicts itself.

    That a host got no right answer is none: a server may answer some connections alone.
    """
    found = (host for host in record.load_hosts if host.validity == "not-valid" and host.outcomes.ok)
    return next((f"{host.name}: {host.problems[0]}" for host in found), None)


def _differing(hosts: Sequence[LoadHostRecord]) -> Iterator[str]:
    compared = [(host, host.beside_others) for host in hosts if host.beside_others is not None]
    # The one that is furthest from all others differs; beside it, another one seems to.
    for host, (low, high) in sorted(compared, key=lambda each: -abs(math.log(each[1][0] * each[1][1]))):
        # The end of the interval that is nearest to no difference.
        ratio = low if low > 1 else high
        if low <= 1 <= high:
            continue
        its_ns = histogram.decoded(host.response_time).quantile_ns(MEDIAN)
        others_ns = its_ns / ratio
        less_ns, more_ns = sorted((its_ns, others_ns))
        if more_ns - less_ns <= lateness.allowed_ns(less_ns):
            continue
        its, others = map(numerals.duration, (its_ns, others_ns))
        beyond = "or more" if ratio < 1 else "or less"
        yield (
            f"half of the answers came to {host.name} within {its}, and to the other load hosts within "
            f"{others} {beyond} {_REMEDY}"
        )


def _differing_at(q: float, hosts: Sequence[LoadHostRecord]) -> str | None:
    """Return which host's quantile is another one than that of the rest, by more than chance and the limit.

    Which answers are slow may depend on each other, but not which host they go to.
    """
    times = [histogram.decoded(host.response_time) for host in hosts]
    whole = histogram.merge(times)
    found: list[tuple[float, str, histogram.Times, histogram.Times]] = []
    for host, its in zip(hosts, times, strict=True):
        rest = _without(its, whole)
        if not all(histogram.printable(q, each.count) for each in (its, rest)):
            continue
        (low_ns, high_ns), (others_low_ns, others_high_ns) = _interval(q, its), _interval(q, rest)
        less_ns, more_ns = (others_high_ns, low_ns) if low_ns > others_high_ns else (high_ns, others_low_ns)
        if more_ns - less_ns > lateness.allowed_ns(less_ns):
            found.append((_apart(its, rest, whole.quantile_ns(q)), host.name, its, rest))
    if not found:
        return None
    # Beside the one that is furthest from all others, another one seems to differ.
    _, name, its, rest = max(found, key=lambda each: each[0])
    shown, others = (numerals.duration(each.quantile_ns(q)) for each in (its, rest))
    return (
        f"p{q * 100:g} of the answers to {name} is {shown}, and of those to the other load hosts {others} "
        f"{_REMEDY}"
    )


def _interval(q: float, times: histogram.Times) -> tuple[float, float]:
    """Return the quantile's 95 % interval, by the ranks between which it lies."""
    error = student.of_interval(math.inf) * math.sqrt(q * (1 - q) / times.count)
    return times.quantile_ns(max(0.0, q - error)), times.quantile_ns(min(1.0, q + error))


def _apart(one: histogram.Times, other: histogram.Times, beyond_ns: float) -> float:
    """Return by how much the shares differ that took longer."""
    return abs(one.count_above(beyond_ns) / one.count - other.count_above(beyond_ns) / other.count)


def _moments(log: Entries, measured_ns: int) -> Moments:
    """Return the response times of each moment, by its number."""
    parts: dict[int, list[histogram.Times]] = {}
    for at_ns, read in log.items():
        moment = min(MOMENTS - 1, MOMENTS * at_ns // max(1, measured_ns))
        parts.setdefault(moment, []).append(histogram.of_cells(read))
    return {moment: histogram.merge(times) for moment, times in parts.items()}


def _ratio(own: Moments, whole: Moments) -> tuple[float, float] | None:
    logs = []
    for moment, times in own.items():
        rest = _without(times, whole[moment])
        if all(histogram.printable(MEDIAN, each.count) for each in (times, rest)):
            logs.append(math.log(times.quantile_ns(MEDIAN) / rest.quantile_ns(MEDIAN)))
    if len(logs) < MOMENTS_MIN:
        return None
    mean = fmean(logs)
    error = student.of_interval(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean - error), math.exp(mean + error)


def _without(part: histogram.Times, whole: histogram.Times) -> histogram.Times:
    """Return the times of the whole that are not of that part of it."""
    own = dict(zip(part.values_ns, part.counts, strict=True))
    pairs = [(ns, count - own.get(ns, 0)) for ns, count in zip(whole.values_ns, whole.counts, strict=True)]
    kept = [(ns, count) for ns, count in pairs if count]
    return histogram.Times(tuple(ns for ns, _ in kept), tuple(count for _, count in kept))
