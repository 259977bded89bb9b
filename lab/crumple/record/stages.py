"""Where the mean response time goes: how long a request is at each stage on its way through the server.

Pure: record → `Budget`, or why there is none. The engine counts at random instants how many requests in
flight are at which stage. By Little's law, a request is at a stage for as long, on average, as there are
requests at it, divided by the rate at which requests end. The sum over all stages is compared with the mean
of the times that the engine took of each request.

The sum tests the rate, the number in flight and *due*; it does not test the division into stages, which
engine/tests/stages.rs tests on servers that keep requests at a known stage. What it cannot see: a queue in
the server's own memory is *inside*; a server that has read a part of a request counts as *inside* once no
bytes are left to read; a long answer is *returning* as soon as a part of it waits.

Where only the server's ends of the connections were read, requests on the network or with the client were not
seen. What the stages at the server and *due* leave of the mean that was measured is *network and client*, so
the sum tests only that it is not less than nothing. A connection of which it is not known whether it has a
request counts half as *inside*, and the interval holds both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from crumple.drawing import numerals
from crumple.record import inside
from crumple.record.flow import (
    BATCH_NS_MIN,
    BATCH_RESPONSE_TIMES,
    BATCHES_MIN,
    WORDS,
    Flow,
    Name,
    StageTime,
    batches,
    column,
    ended,
    halves_ns,
    in_window_ns,
    measured_ns,
    rows_measured,
    time,
    times,
)
from crumple.record.growth import rises
from crumple.record.inside import Divided, Inside, NotDivided
from crumple.stats import averages

if TYPE_CHECKING:
    from crumple.contract import StageRecord, TrialRecord

# The stages in the order in which a request passes through them, as the record's columns are called.
STAGES: tuple[Name, ...] = ("not_accepted", "unsent", "unread", "inside", "returning")
_UNKNOWN: tuple[Name, str] = ("unknown", "thrown_away")
# With fewer than 50 readings the interval of a budget is not to be relied on.
READINGS_MIN = 50
# The load that is suggested is 1.2 times as long as this one suggests; after one of less than 6 s, which are
# enough with ten readings a second, no longer than that.
SPARE, ENOUGH_S_MAX = 1.2, 6
# If requests pile up, a stage is named that holds a twentieth of them.
SHARE_NAMED = 0.05
# The sum of a budget may be a tenth off the mean response time; beyond that there is no budget.
OFF_MAX = 0.1
# A reading stops a thread of engine or server, and the requests of the other go on. While ten of them take no
# longer than a request, it moves less than a tenth of a request's time from one stage to another.
READINGS_LONG_MIN = 10
# A reading that comes late comes when somebody left it a core, and not at random. Nine of ten must be in
# time.
LATE_QUANTILE = 0.9
# A reading is in time if it is late by less than a tenth of a response time,
LATE_SHARE_MAX = 0.1
# or by less than 0.1 ms: a sleeping core takes nearly as long to wake.
LATE_HARMLESS_NS = 0.1e6


@dataclass(frozen=True)
class Budget:
    """Where the mean response time goes."""

    parts: tuple[StageTime, ...]
    """The stages. *due* is before the engine began to send the request, or to connect for it; *unknown* is of
    requests that ended while they were looked up.
    """
    sum_ns: float
    """The sum of all parts."""
    sum_low_ns: float
    sum_high_ns: float
    measured_ns: float
    """The mean response time by the engine's own reckoning."""
    readings: int
    """The number of readings."""
    late_ns: float
    """Nine of ten readings came no later than this."""
    cost_ns: float
    """The CPU time of a reading, on average over the requests that were looked up: one that finds none takes
    nearly none.
    """
    cost_cores: float
    """The cores that the readings kept busy."""
    from_server_end: bool = False
    """Whether the stages were read from the server's end alone."""
    inside: Inside | None = None
    """How the part *inside* is divided; None: that was not asked."""

    def part(self, name: Name) -> StageTime:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)

    @property
    def not_divided(self) -> str:
        """Why the part *inside* is not divided; empty if it is, or nobody asked."""
        return self.inside.why if isinstance(self.inside, NotDivided) else ""

    @property
    def pieces(self) -> tuple[StageTime, ...]:
        """The parts as they are drawn: *inside* by its pieces, where it is divided."""
        if not isinstance(self.inside, Divided):
            return self.parts
        at = [part.name for part in self.parts].index("inside")
        return (*self.parts[:at], *self.inside.pieces, *self.parts[at + 1 :])

    @property
    def shown(self) -> tuple[StageTime, ...]:
        """The pieces as shares of the mean that was measured, which is known better than their sum is."""
        together_ns = sum(piece.mean_ns for piece in self.pieces)
        scale = self.measured_ns / together_ns if together_ns else 1.0
        return tuple(times(piece, scale) for piece in self.pieces)


@dataclass(frozen=True)
class NoBudget:
    """Why there is no budget."""

    why: str
    remedy: str = ""
    """What to change about the load, where that may give one."""

    @property
    def said(self) -> str:
        """Why, with the remedy."""
        return f"{self.why}; {self.remedy}" if self.remedy else self.why


def budget(
    record: "TrialRecord",
    idle_cores: float = 0.0,
    readings_min: int = READINGS_MIN,
    batches_min: int = BATCHES_MIN,
) -> Budget | NoBudget | None:
    """Return where the mean response time goes; None: the spec did not ask for it.

    `idle_cores`: the cores that the server keeps busy without the load, if that is known. `readings_min`:
    with fewer readings there is no budget. `batches_min`: with fewer batches there is none; below two of them
    intervals reach from 0 to twice the mean.
    """
    stages = record.probes.stages
    if stages is None:
        return None
    if stages.why is not None:
        return NoBudget(stages.why)
    if not ended(record):
        return NoBudget("no request ended")
    rows = rows_measured(record, stages.at_ns)
    if len(rows) < readings_min:
        longer = _longer(record, len(rows), readings_min)
        return NoBudget(f"{len(rows)} of the {readings_min} readings that are needed", longer)
    number = batches(record)
    if number < batches_min:
        return NoBudget(_too_short(record, batches_min))
    found = _budget(record, stages, rows, max(1, number), idle_cores, batches_min)
    steady = number >= BATCHES_MIN and not rises(record)
    return _check(found, steady) if found else NoBudget("too few of the readings found a request in flight")


def _longer(record: "TrialRecord", readings: int, needed: int) -> str:
    """Return how long a load has enough readings, if they come as they came in this one; empty: not known."""
    enough_s = math.ceil(SPARE * needed / max(1, readings) * record.measured_ns / 1e9)
    if record.measured_ns < ENOUGH_S_MAX * 1e9:
        enough_s = min(enough_s, ENOUGH_S_MAX)
    elif not readings:
        return ""
    return f"load it for {enough_s} s or longer"


def _too_short(record: "TrialRecord", batches_min: int) -> str:
    """Return why a load has too few batches, and how long one is that has enough."""
    by_answers_ns = BATCH_RESPONSE_TIMES * measured_ns(record)
    needed_s = numerals.raised(batches_min * max(BATCH_NS_MIN, by_answers_ns) / 1e9)
    if by_answers_ns > BATCH_NS_MIN:
        return f"requests take so long that it needs a load of {needed_s} s or more"
    return f"a load of {record.measured_ns / 1e9:.2g} s is too short: it needs {needed_s} s or more"


def _budget(
    record: "TrialRecord",
    stages: "StageRecord",
    rows: Sequence[int],
    number: int,
    idle_cores: float,
    batches_min: int,
) -> Budget | None:
    in_flight, drawn = column(stages.in_flight, rows), column(stages.drawn, rows)
    are_known = [bool(of) or not there for there, of in zip(in_flight, drawn, strict=True)]
    flow, at_ns = Flow(record, number), column(stages.at_ns, rows)
    known_ns = [each_ns for each_ns, known in zip(at_ns, are_known, strict=True) if known]
    if not any(drawn) or len({*flow.batch_of(known_ns)}) < batches_min:
        return None
    # Readings at random instants count alike. While the load rises, it matters more when they were.
    stands_for = halves_ns(record, at_ns) if rises(record) else [1.0] * len(at_ns)
    # Where a reading found none of the requests in flight, they count as being where the others were.
    of_known = [each for each, known in zip(stands_for, are_known, strict=True) if known]
    scale = fmean(in_flight, stands_for) / fmean(
        [there for there, known in zip(in_flight, are_known, strict=True) if known], of_known
    )
    of_all = [
        there / max(of, 1.0) * scale if known else None
        for there, of, known in zip(in_flight, drawn, are_known, strict=True)
    ]
    whole = flow.part("due", at_ns, in_flight, stands_for)
    columns: tuple[tuple[Name, str], ...] = (*((stage, stage) for stage in STAGES), _UNKNOWN)
    found = [(name, _scale(column(getattr(stages, of), rows), of_all)) for name, of in columns]
    parts = [
        flow.with_room(flow.part(name, at_ns, numbers, stands_for), numbers, whole) for name, numbers in found
    ]
    by_server = stages.read_by == "server-end"
    if by_server:
        untold = flow.part("inside", at_ns, _scale(column(stages.not_told_apart, rows), of_all), stands_for)
        parts = [_half_of(untold, part) if part.name == "inside" else part for part in parts]
        whole = replace(
            whole,
            mean_ns=whole.mean_ns - untold.mean_ns / 2,
            low_ns=max(0.0, whole.low_ns - untold.mean_ns),
        )
    # An answer that waits until the engine takes it up has arrived: that is no part of the response time.
    # From the server's end it is not seen there.
    held_ns = 0.0 if by_server else record.arrivals.held_ns / flow.ended
    parts = [_less(part, held_ns) if part.name == "returning" else part for part in parts]
    cost_ns = column(stages.cost_ns, rows)
    due_ns = _due_ns(record)
    off_ns = due_ns - held_ns
    measured = measured_ns(record)
    divided = inside.divide(
        record,
        flow,
        next(part for part in parts if part.name == "inside"),
        OFF_MAX * measured,
        outside_ns=sum(part.mean_ns for part in parts if part.name in ("not_accepted", "unread")),
        idle_cores=idle_cores,
    )
    edges = _edges(record)
    if isinstance(divided, Divided):
        divided = replace(divided, pieces=tuple(_share_out(piece, edges) for piece in divided.pieces))
    whole = times(whole, edges)
    parts = [_share_out(part, edges) for part in parts]
    if by_server:
        parts.append(_network(measured - due_ns, whole))
        # The rest makes the sum the mean that was measured, unless more is at the server than that.
        whole = replace(
            whole,
            mean_ns=max(whole.mean_ns, measured - off_ns),
            high_ns=max(whole.high_ns, measured - off_ns),
        )
    return Budget(
        from_server_end=by_server,
        parts=(StageTime("due", due_ns, due_ns, due_ns, float(len(rows))), *parts),
        sum_ns=whole.mean_ns + off_ns,
        sum_low_ns=whole.low_ns + off_ns,
        sum_high_ns=whole.high_ns + off_ns,
        measured_ns=measured,
        readings=len(rows),
        late_ns=averages.quantile(column(stages.late_ns, rows), LATE_QUANTILE),
        cost_ns=fmean(cost_ns, drawn),
        cost_cores=sum(cost_ns) / record.measured_ns,
        inside=divided,
    )


def _half_of(untold: StageTime, inside: StageTime) -> StageTime:
    """Return the time inside if half of what is not told apart is. Its interval holds none of it, and all."""
    return replace(
        inside,
        mean_ns=inside.mean_ns + untold.mean_ns / 2,
        high_ns=inside.high_ns + untold.high_ns,
    )


def _network(left_ns: float, at_server: StageTime) -> StageTime:
    """Return what the time at the server leaves of the time after a request was due."""
    return StageTime(
        "network",
        max(0.0, left_ns - at_server.mean_ns),
        max(0.0, left_ns - at_server.high_ns),
        max(0.0, left_ns - at_server.low_ns),
        at_server.readings,
    )


def _edges(record: "TrialRecord") -> float:
    """Return the mean response time over the time that requests were in flight in the window, for each.

    They differ by what requests cross the window's ends, which is known; at which stage these were outside is
    not, so each part counts that many times. 1 where the two are further apart than a budget may be off, and
    in an open shape: there a queue that grows makes them differ, which is in front of the server.
    """
    if record.spec.shape.kind == "open":
        return 1.0
    within_ns = in_window_ns(record)
    factor = measured_ns(record) / within_ns if within_ns > 0 else 1.0
    return factor if abs(factor - 1) <= OFF_MAX else 1.0


def _share_out(part: StageTime, edges: float) -> StageTime:
    """Return the part `edges` times as long. Its interval also holds what was found in the window."""
    shared = times(part, edges)
    return replace(shared, low_ns=min(part.low_ns, shared.low_ns), high_ns=max(part.high_ns, shared.high_ns))


def _scale(numbers: Sequence[float], factors: Sequence[float | None]) -> list[float | None]:
    return [
        None if factor is None else number * factor for number, factor in zip(numbers, factors, strict=True)
    ]


def _check(result: Budget, steady: bool) -> Budget | NoBudget:
    """Return the budget if its readings came in time, and agree with the times that were measured.

    `steady`: there are batches enough, and the load does not rise. Otherwise the interval says little, and
    the mean itself has to agree.
    """
    low_ns, high_ns = result.sum_low_ns, result.sum_high_ns
    if not steady:
        low_ns = high_ns = result.sum_ns
    if result.measured_ns < READINGS_LONG_MIN * result.cost_ns:
        return NoBudget(
            f"requests take {time(result.measured_ns)}, and looking some of them up takes "
            f"{time(result.cost_ns)}"
        )
    if result.late_ns > max(LATE_HARMLESS_NS, LATE_SHARE_MAX * result.measured_ns):
        return NoBudget(
            f"one in ten of the readings came {time(result.late_ns)} late or more, and requests take "
            f"{time(result.measured_ns)}: others had the cores"
        )
    spare_ns = OFF_MAX * result.measured_ns
    if low_ns - spare_ns > result.measured_ns:
        return NoBudget(
            f"requests pile up: those that ended took {time(result.measured_ns)}, and at this rate those in "
            f"flight take {time(result.sum_ns)} ({_where(result)})",
            "lower the load",
        )
    if high_ns + spare_ns < result.measured_ns:
        return NoBudget(
            f"the requests in flight come to {time(result.sum_ns)} for each, and the response times to "
            f"{time(result.measured_ns)}",
            "load it for longer, at one level",
        )
    if abs(sum(part.mean_ns for part in result.parts) - result.sum_ns) > spare_ns:
        return NoBudget("answers lay in the engine's sockets for longer than they were found there")
    return result


def _where(result: Budget) -> str:
    """Return at which stages most of the requests in flight were."""
    most = sorted(result.parts, key=lambda part: -part.mean_ns)[:2]
    shares = [(WORDS[part.name], part.mean_ns / max(1.0, result.sum_ns)) for part in most]
    return ", ".join(f"{share:.0%} {name}" for name, share in shares if share >= SHARE_NAMED)


def _less(part: StageTime, ns: float) -> StageTime:
    mean_ns, low_ns, high_ns = (max(0.0, value - ns) for value in (part.mean_ns, part.low_ns, part.high_ns))
    return replace(part, mean_ns=mean_ns, low_ns=low_ns, high_ns=high_ns)


def _due_ns(record: "TrialRecord") -> float:
    """Return how long a request was due, on average, before the engine began to send it or to connect for it.

    Of the requests that began in the measured phase, which are nearly those that ended in it.
    """
    begun = record.scheduled - record.not_sent.too_late - record.histograms.taken_over.count
    return record.requests_waited_ns / max(1, begun)
