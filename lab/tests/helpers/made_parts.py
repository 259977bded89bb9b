"""Made-up loads whose every request is known, as the record of one engine, or of several that share them.

It counts as the engine does (collector/series.rs), by nothing that puts records together.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import documents
import pytest
from crumple import contract
from crumple.contract import HistogramRecord, PartSpec, TrialRecord, TrialSpec
from crumple.record import histogram_codec
from crumple.record.histogram_codec import Cells
from crumple.record.together import Part

INTERVAL_NS, LONGEST_NS = 100_000_000, 86_400_000_000_000
# How requests end here: with these outcomes, statuses and reasons.
ENDS = (
    ("ok", 200, None),
    ("wrong-status", 503, None),
    ("reset", None, "in-head"),
    ("timeout", None, "before-answer"),
    ("not-sent", None, None),
    ("unfinished", None, None),
)
KINDS = 2


@dataclass(frozen=True)
class Event:
    """A request of a kind that ended at a time since the first instant, or was still in flight at the end."""

    host: int
    kind: int
    at_ns: int
    took_ns: int
    late_ns: int
    end: int = 0


def events(seed: int, hosts: int, number: int, long_ns: int, *, fail: float = 0.2) -> list[Event]:
    """Requests of so many hosts, at random times; of most hosts about as many."""
    draw = random.Random(seed)
    made = []
    for _ in range(number):
        is_ok = draw.random() >= fail
        made.append(
            Event(
                host=draw.randrange(hosts),
                kind=draw.randrange(KINDS),
                at_ns=draw.randrange(long_ns),
                # From a nanosecond to some hundred seconds.
                took_ns=round(10 ** draw.uniform(0, 11)),
                late_ns=round(10 ** draw.uniform(0, 8)),
                end=0 if is_ok else draw.randrange(1, len(ENDS)),
            )
        )
    return sorted(made, key=lambda each: each.at_ns)


def spec(warm_up_s: float, measured_s: float, **changes: Any) -> TrialSpec:
    """A closed load of two kinds of requests."""
    seconds = contract.DurationStopSpec
    warm_up = contract.WarmUpSpec(connections=None, pauses=True, stop=seconds(duration_s=warm_up_s))
    plain = documents.spec(
        requests=tuple(documents.request(path=f"/{kind}") for kind in range(KINDS)),
        warm_up=warm_up if warm_up_s else None,
        stop=seconds(duration_s=measured_s),
        cores=(),
    )
    return plain.model_copy(update=changes)


def record(asked: TrialSpec, seen: Sequence[Event], warm_up_ns: int, measured_ns: int) -> TrialRecord:
    """What an engine records that has seen these requests."""
    measured = [each for each in seen if each.at_ns >= warm_up_ns]
    outcomes = _outcomes(measured)
    return documents.record(
        spec=asked,
        began_monotonic_ns=5_000,
        warm_up_ns=warm_up_ns,
        measured_ns=measured_ns,
        scheduled=outcomes.total,
        outcomes=outcomes,
        not_sent=documents.not_sent(too_late=outcomes.not_sent),
        retried=sum(each.took_ns % 3 == 0 for each in measured),
        reasons=_reasons(measured),
        warm_up=contract.WarmUpRecord(
            scheduled=len(seen) - len(measured),
            outcomes=_outcomes([each for each in seen if each.at_ns < warm_up_ns]),
        ),
        bodies_hashed=_ok(measured),
        received_bytes=sum(each.took_ns % 1_000 + 200 for each in measured),
        sent_bytes=80 * len(measured),
        connections_opened=len(measured),
        connections_closed_by_server=sum(each.end == 1 for each in measured),
        users=sum(each.took_ns % 7 == 0 for each in measured),
        requests=tuple(
            _request(asked, kind, [each for each in measured if each.kind == kind], seen)
            for kind in range(KINDS)
        ),
        arrivals=contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=3 * _ok(measured)),
        histograms=_histograms(measured),
        series=_series(seen, warm_up_ns, measured_ns),
        log=_log(asked, measured, warm_up_ns, measured_ns),
    )


def parts(whole: TrialRecord, seen: Sequence[Event], hosts: int) -> list[Part]:
    """The parts of a load of which `whole` is the record, one of each host."""

    def of(host: int) -> TrialRecord:
        asked = whole.spec.model_copy(update={"part": PartSpec(index=host, of=hosts)})
        mine = [each for each in seen if each.host == host]
        return record(asked, mine, whole.warm_up_ns, whole.measured_ns)

    return [Part(of(host), name=f"host-{host}") for host in range(hosts)]


def late(part: Part, late_ns: int, off_ns: int = 0) -> Part:
    """The same part of a host that began so much later, as far as its clock is known."""
    return replace(part, late_ns=late_ns, late_off_ns=off_ns)


def stored(times_ns: Sequence[int]) -> HistogramRecord:
    """A histogram as the engine stores it."""
    if not times_ns:
        return documents.histogram({})
    return HistogramRecord(
        count=len(times_ns),
        min_ns=min(times_ns),
        mean_ns=math.fsum(times_ns) / len(times_ns),
        max_ns=max(times_ns),
        encoded=encoded(times_ns),
    )


def encoded(times_ns: Sequence[int]) -> str:
    """Times in HdrHistogram's form, with three digits."""
    counts = Counter(map(_cell, times_ns))
    return histogram_codec.write(Cells(dict(sorted(counts.items())), 3, 1, LONGEST_NS))


def _cell(ns: int) -> int:
    shift = max(0, max(ns, 1_024).bit_length() - 11)
    return (shift << 10) + (ns >> shift)


def _top(ns: int) -> int:
    shift = max(0, max(ns, 1_024).bit_length() - 11)
    return ((ns >> shift) + 1 << shift) - 1


def _quantile(times_ns: Sequence[int], q: float) -> int | None:
    ordered = sorted(times_ns)
    return _top(ordered[max(1, math.ceil(q * len(ordered))) - 1]) if ordered else None


def _ok(seen: Sequence[Event]) -> int:
    return sum(each.end == 0 for each in seen)


def _outcomes(seen: Sequence[Event]) -> contract.Outcomes:
    counts = Counter(ENDS[each.end][0] for each in seen)
    return contract.Outcomes.model_validate(dict.fromkeys(contract.OUTCOMES, 0) | counts)


def _reasons(seen: Sequence[Event]) -> tuple[contract.ReasonRecord, ...]:
    found: dict[tuple[str, str], list[int]] = {}
    for each in seen:
        outcome, _, reason = ENDS[each.end]
        if reason is not None:
            found.setdefault((outcome, reason), []).append(each.at_ns)
    return tuple(
        contract.ReasonRecord(outcome=outcome, reason=reason, count=len(at_ns), first_ns=min(at_ns))
        for (outcome, reason), at_ns in sorted(found.items())
    )


def _request(
    asked: TrialSpec, kind: int, measured: Sequence[Event], seen: Sequence[Event]
) -> contract.RequestRecord:
    kept: dict[int, Event] = {}
    for each in seen:
        # From the first instant on: the first of each end, if it is no expected one.
        if each.kind == kind and each.end:
            kept.setdefault(each.end, each)
    ends = sorted(kept, key=lambda end: contract.OUTCOMES.index(ENDS[end][0]))
    statuses = Counter(ENDS[each.end][1] for each in measured)
    return contract.RequestRecord(
        name=f"GET {asked.requests[kind].path}",
        scheduled=len(measured),
        outcomes=_outcomes(measured),
        statuses=dict(sorted(_known(statuses).items())),
        response_time=stored([each.took_ns for each in measured if each.end == 0]),
        bodies_hashed=_ok(measured),
        examples=tuple(_example(kept[end]) for end in ends),
    )


def _known(statuses: Counter[int | None]) -> dict[int, int]:
    return {status: number for status, number in statuses.items() if status is not None}


def _example(of: Event) -> contract.Example:
    outcome, status, reason = ENDS[of.end]
    made = documents.example(outcome, status, at_ns=of.at_ns)
    return made.model_copy(update={"reason": reason})


def _histograms(seen: Sequence[Event]) -> contract.Histograms:
    took = {end: [each.took_ns for each in seen if each.end == end] for end in range(len(ENDS))}
    return contract.Histograms(
        response_time=stored(took[0]),
        service_time=None,
        time_to_first_byte=stored(took[0]),
        lateness=None,
        engine_lateness=stored([each.late_ns for each in seen]),
        connect_time=stored([each.late_ns + 1 for each in seen]),
        failed=stored(took[1] + took[2]),
        timed_out=stored(took[3]),
        unfinished_age=stored(took[5]),
        carried_over=stored([]),
        taken_over=stored([]),
    )


def _series(seen: Sequence[Event], warm_up_ns: int, measured_ns: int) -> contract.Series:
    rows: list[tuple[Any, ...]] = []
    phases = (("warm-up", 0, warm_up_ns), ("measured", warm_up_ns, warm_up_ns + measured_ns))
    for phase, begin_ns, end_ns in phases:
        for at_ns in range(begin_ns, end_ns, INTERVAL_NS):
            long_ns = min(INTERVAL_NS, end_ns - at_ns)
            mine = [each for each in seen if at_ns <= each.at_ns < at_ns + long_ns]
            took = [each.took_ns for each in mine if each.end == 0]
            late = [each.late_ns for each in mine]
            rows.append(
                (
                    at_ns,
                    long_ns,
                    phase,
                    len(took),
                    sum(each.end in (1, 2, 3) for each in mine),
                    _quantile(took, 0.5),
                    _quantile(took, 0.99),
                    _quantile(took, 1.0),
                    len(mine),
                    _quantile(late, 0.99),
                    2 * len(mine),
                )
            )
    names = [name for name in contract.Series.model_fields if name != "interval_ms"]
    columns = dict(zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True))
    return contract.Series.model_validate({"interval_ms": 100, **columns})


def _log(asked: TrialSpec, seen: Sequence[Event], warm_up_ns: int, measured_ns: int) -> contract.Log:
    each_ns = INTERVAL_NS if asked.part is not None else _entry_ns(asked)
    entries: dict[int, list[int]] = {}
    for each in seen:
        if each.end == 0:
            entries.setdefault((each.at_ns - warm_up_ns) // each_ns * each_ns, []).append(each.took_ns)
    at_ns = sorted(entries)
    return contract.Log(
        interval_ms=each_ns // 1_000_000,
        at_ns=tuple(at_ns),
        duration_ns=tuple(min(each_ns, measured_ns - begin_ns) for begin_ns in at_ns),
        response_time=tuple(encoded(entries[begin_ns]) for begin_ns in at_ns),
    )


def _entry_ns(asked: TrialSpec) -> int:
    """How long an entry of the log of a whole load is: ten intervals, or less in a short ramp."""
    if asked.shape.kind != "ramp" or asked.stop.kind != "duration":
        return 10 * INTERVAL_NS
    return min(10, max(1, math.ceil(int(asked.stop.duration_s * 1e9) // INTERVAL_NS / 30))) * INTERVAL_NS


# What is no sum: of rows of the warm-up, and of lateness, the highest of any host stands.
BOUNDS = ("p50_ns", "p99_ns", "engine_late_p99_ns")
MS = 1_000_000


def case(seed: int) -> tuple[TrialRecord, list[Part]]:
    """A load whose every request is known: as one engine records it, and in parts."""
    draw = random.Random(seed)
    hosts, number = draw.randint(1, 5), draw.choice((0, 1, 5, 40))
    warm_up_ns, measured_ns = draw.randrange(0, 300) * MS, draw.randrange(1, 2_500) * MS
    changes: dict[str, Any] = {}
    if draw.random() < 0.3:
        # Long enough for entries of its log of one to three intervals.
        measured_ns = draw.randrange(1, 9_000) * MS
        shape = contract.RampShapeSpec(from_connections=5, to_connections=50, over_s=1.0)
        changes["shape"] = shape
    asked = spec(warm_up_ns / 1e9, measured_ns / 1e9, **changes)
    seen = events(seed, hosts, number, warm_up_ns + measured_ns)
    whole = record(asked, seen, warm_up_ns, measured_ns)
    return whole, parts(whole, seen, hosts)


def _plain(record: TrialRecord, *, is_exact: bool = False) -> dict[str, Any]:
    """A record without what a single engine has, and what differs by the order in which floats are added."""
    left_out = {"load_host", "load_hosts", "began_monotonic_ns", "probes", "reasons"}
    whole = record.model_dump(exclude=left_out)
    whole["reasons"] = {(each.outcome, each.reason): (each.count, each.first_ns) for each in record.reasons}
    times = [each for each in whole["histograms"].values() if each]
    for each in (*times, *(request["response_time"] for request in whole["requests"])):
        if each["mean_ns"] is not None and not is_exact:
            each["mean_ns"] = pytest.approx(each["mean_ns"], rel=1e-12)
        each["encoded"] = each["encoded"] if each["count"] else ""
    for name in BOUNDS:
        whole["series"].pop(name)
    return whole


def check(whole: TrialRecord, found: TrialRecord) -> None:
    """Fail unless what was put together is the record of the whole load."""
    assert _plain(found, is_exact=True) == _plain(whole)
    one, other = whole.series, found.series
    for row, phase in enumerate(one.phase):
        for name in BOUNDS:
            ours, theirs = getattr(one, name)[row], getattr(other, name)[row]
            if phase == "measured" and name != "engine_late_p99_ns":
                assert ours == theirs
            else:
                assert (ours is None) == (theirs is None) and (ours or 0) <= (theirs or 0)
