"""The parts of a load that several load hosts put on at once → the record of the whole load. Pure.

How each group of fields is put together, and why:

- Counts, bytes, users, connections and times that were waited are sums, outcomes and reasons by their names.
- `measured_ns`, `warm_up_ns`: the means. They are equal unless the load was ended early: then each host heard
  of it after its own way, and the rate of the sum is that over the mean.
- Histograms are joined without loss. So are those of the log, from which the quantiles of the series are
  taken again; see `rows_together`.
- Examples: for each outcome, reason and status the first one that holds part of an answer, or else the first.
- Probes: sums of what the engines used, the threads of all, each machine once; see `probes_together`.
- What each host did for itself is in `load_hosts`. Its own record is judged as that of its share of the load.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from crumple.contract import (
    OUTCOMES,
    ArrivalRecord,
    Example,
    HistogramRecord,
    Histograms,
    LoadHostRecord,
    NotSent,
    OpenShapeSpec,
    Outcomes,
    RampShapeSpec,
    ReasonRecord,
    RequestRecord,
    ShapeSpec,
    TrialRecord,
    TrialSpec,
)
from crumple.record import histogram, hosts_compared, probes_together, rows_together, validity
from crumple.record.rows_together import Entries

COUNTS = (
    "scheduled", "retried", "bodies_hashed", "received_bytes", "sent_bytes", "connections_opened",
    "connections_closed_by_server", "users", "users_unanswered", "users_waited_ns", "requests_waited_ns",
)  # fmt: skip
# As many load hosts are named in a sentence; of more, the first two are.
NAMED_MAX = 3

Counts = TypeVar("Counts", Outcomes, NotSent)


@dataclass(frozen=True)
class Part:
    """What came of a part of a load, and the load host that it came from."""

    record: TrialRecord
    name: str
    """As the host was named."""
    round_trip_ns: int = 0
    """How long a line took there and back."""
    late_ns: int = 0
    """How much later than the first of them it began."""
    late_off_ns: int = 0
    """By how much `late_ns` may be wrong."""
    kernel: str | None = None
    """Which start of a kernel it has; hosts with the same one are one machine. None: not known."""


def together(parts: Sequence[Part]) -> TrialRecord:
    """Return the parts of one load, one or more, as its record.

    Raises ValueError where they are not all parts of one load, each once; NotStored where a histogram is
    damaged.
    """
    spec = _whole(parts)
    records = [part.record for part in parts]
    measured_ns = _mean([each.measured_ns for each in records])
    logs = [rows_together.entries(each) for each in records]
    times = rows_together.joined(logs)
    return records[0].model_copy(
        update={
            "spec": spec,
            "load_host": named([part.name for part in parts]),
            "load_hosts": _load_hosts(parts, logs),
            "began_monotonic_ns": None,
            "warm_up_ns": _mean([each.warm_up_ns for each in records]),
            "measured_ns": measured_ns,
            **{name: sum(getattr(each, name) for each in records) for name in COUNTS},
            "outcomes": added([each.outcomes for each in records]),
            "not_sent": added([each.not_sent for each in records]),
            "tls_fault": next((each.tls_fault for each in records if each.tls_fault), None),
            "reasons": _reasons(records),
            "warm_up": records[0].warm_up.model_copy(
                update={
                    "scheduled": sum(each.warm_up.scheduled for each in records),
                    "outcomes": added([each.warm_up.outcomes for each in records]),
                }
            ),
            "requests": tuple(map(_request, zip(*(each.requests for each in records), strict=True))),
            "arrivals": _arrivals([each.arrivals for each in records]),
            "histograms": _histograms([each.histograms for each in records]),
            "series": rows_together.series(records, times),
            "log": rows_together.log(spec, records[0].series.interval_ms, times, measured_ns),
            "probes": probes_together.probes([(part.record.probes, part.kernel) for part in parts]),
        }
    )


def named(hosts: Sequence[str]) -> str:
    """Return how several load hosts are called in a sentence: "a, b and c", or "a, b and 48 more"."""
    if len(hosts) > NAMED_MAX:
        return f"{', '.join(hosts[:2])} and {len(hosts) - 2} more"
    return " and ".join(filter(None, (", ".join(hosts[:-1]), hosts[-1])))


def share(spec: TrialSpec) -> TrialSpec:
    """Return the spec of a part as that of a load of its own: with the part's connections and rates."""
    if spec.part is None:
        return spec
    shape, (index, of) = spec.shape, (spec.part.index, spec.part.of)

    def its(number: int) -> int:
        return max(0, -(-(number - index) // of))

    changes: dict[str, Any]
    if isinstance(shape, RampShapeSpec):
        ends = ("from_connections", "to_connections")
        changes = {end: its(getattr(shape, end)) for end in ends}
    else:
        changes = {"connections": its(shape.connections)}
    if isinstance(shape, OpenShapeSpec):
        rates = ({"from_per_s": each.from_per_s / of, "to_per_s": each.to_per_s / of} for each in shape.rates)
        changes["rates"] = tuple(
            rate.model_copy(update=less) for rate, less in zip(shape.rates, rates, strict=True)
        )
    own: ShapeSpec = shape.model_copy(update=changes)
    return spec.model_copy(update={"shape": own, "part": None})


def _whole(parts: Sequence[Part]) -> TrialSpec:
    """Return the spec of the whole load."""
    specs = [part.record.spec for part in parts]
    whole = [spec.model_copy(update={"part": None}) for spec in specs]
    there = [(spec.part.index, spec.part.of) for spec in specs if spec.part is not None]
    if sorted(there) != [(index, len(parts)) for index in range(len(parts))]:
        raise ValueError(f"{specs[0].label}: these are not all parts of a load, each once: {there}")
    if any(spec != whole[0] for spec in whole):
        raise ValueError(f"{specs[0].label}: these are parts of different loads")
    return whole[0]


def _load_hosts(parts: Sequence[Part], logs: Sequence[Entries]) -> tuple[LoadHostRecord, ...]:
    compared = hosts_compared.ratios(logs, max(part.record.measured_ns for part in parts))
    return tuple(_load_host(part, ratio) for part, ratio in zip(parts, compared, strict=True))


def _load_host(part: Part, beside_others: tuple[float, float] | None) -> LoadHostRecord:
    record = part.record
    judged = validity.assess(record.model_copy(update={"spec": share(record.spec)}))
    return LoadHostRecord(
        name=part.name,
        round_trip_ns=part.round_trip_ns,
        late_ns=part.late_ns,
        late_off_ns=part.late_off_ns,
        measured_ns=record.measured_ns,
        scheduled=record.scheduled,
        outcomes=record.outcomes,
        response_time=record.histograms.response_time,
        engine_lateness=record.histograms.engine_lateness,
        beside_others=beside_others,
        validity=judged.word,
        problems=judged.problems,
    )


def _request(parts: Sequence[RequestRecord]) -> RequestRecord:
    return parts[0].model_copy(
        update={
            "scheduled": sum(part.scheduled for part in parts),
            "outcomes": added([part.outcomes for part in parts]),
            "statuses": counted(part.statuses for part in parts),
            "response_time": histogram.join([part.response_time for part in parts]),
            "bodies_hashed": sum(part.bodies_hashed for part in parts),
            "examples": _examples(parts),
        }
    )


def _reasons(records: Sequence[TrialRecord]) -> tuple[ReasonRecord, ...]:
    found: dict[tuple[str, str], ReasonRecord] = {}
    for row in (row for record in records for row in record.reasons):
        before = found.get((row.outcome, row.reason))
        if before is not None:
            first_ns = min(before.first_ns, row.first_ns)
            row = row.model_copy(update={"count": before.count + row.count, "first_ns": first_ns})
        found[row.outcome, row.reason] = row
    return tuple(found.values())


def _examples(parts: Sequence[RequestRecord]) -> tuple[Example, ...]:
    kept: dict[tuple[int, str, int], Example] = {}
    for each in (example for part in parts for example in part.examples):
        status = -1 if each.status is None else each.status
        ended = OUTCOMES.index(each.outcome), each.reason or "", status
        before = kept.setdefault(ended, each)
        if (not each.head, each.at_ns) < (not before.head, before.at_ns):
            kept[ended] = each
    return tuple(kept[ended] for ended in sorted(kept))


def _arrivals(parts: Sequence[ArrivalRecord]) -> ArrivalRecord:
    return ArrivalRecord(
        clock="engine" if any(part.clock == "engine" for part in parts) else "kernel",
        unstamped=sum(part.unstamped for part in parts),
        held_ns=sum(part.held_ns for part in parts),
    )


def _histograms(parts: Sequence[Histograms]) -> Histograms:
    joined: dict[str, HistogramRecord | None] = {}
    for name in Histograms.model_fields:
        known = [times for part in parts if (times := getattr(part, name)) is not None]
        joined[name] = histogram.join(known) if known else None
    return Histograms.model_validate(joined)


def added(parts: Sequence[Counts]) -> Counts:
    """Return counts added up field by field."""
    kind = type(parts[0])
    return kind(**{name: sum(getattr(part, name) for part in parts) for name in kind.model_fields})


def counted(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Return the numbers of each key added up."""
    sums: Counter[int] = Counter()
    for part in parts:
        sums.update(part)
    return dict(sorted(sums.items()))


def _mean(values: Sequence[int]) -> int:
    return round(sum(values) / len(values))
