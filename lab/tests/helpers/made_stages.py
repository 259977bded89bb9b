"""Readings of stages whose mean times are known."""

from collections.abc import Mapping, Sequence
from typing import Any

import documents
import synthetic_load
from crumple import contract

MS = 1_000_000


# What the plain record has: a second of warm-up, two seconds in which 20,000 requests took 3.2 ms each.
WARM_UP_NS, MEASURED_NS, RESPONSE_MS = 1_000_000_000, 2_000_000_000, 3.2


FOUND = ("not_accepted", "unsent", "unread", "inside", "returning", "thrown_away")


def readings(
    rows: Sequence[Mapping[str, int]],
    at_ns: Sequence[int] | None = None,
    in_flight: Sequence[int] | None = None,
) -> contract.StageRecord:
    """A record of readings, evenly over the window; `in_flight`: as many as were drawn, unless given."""
    drawn = [sum(row.values()) for row in rows]
    at_ns = at_ns or [WARM_UP_NS + MEASURED_NS * row // len(rows) for row in range(len(rows))]
    return contract.StageRecord.model_validate(
        {
            "at_ns": at_ns,
            "late_ns": [60_000] * len(rows),
            "cost_ns": [100_000] * len(rows),
            "in_flight": drawn if in_flight is None else in_flight,
            "drawn": drawn,
            **{name: [row.get(name, 0) for row in rows] for name in FOUND},
            "why": None,
            "in_front": False,
        }
    )


def record(read: contract.StageRecord | None, **changes: Any) -> contract.TrialRecord:
    """The plain record with these readings."""
    plain = documents.record(**changes)
    return plain.model_copy(update={"probes": plain.probes.model_copy(update={"stages": read})})


def with_readings(read: Sequence[Mapping[str, int]]) -> contract.TrialRecord:
    """Ten seconds of load with these readings; as many requests were in flight as the response times make."""
    plain = synthetic_load.closed().record
    mean_ns = plain.histograms.response_time.mean_ns
    assert mean_ns is not None
    in_flight = round(plain.outcomes.ok * mean_ns / plain.measured_ns)
    at_ns = [plain.warm_up_ns + plain.measured_ns * row // len(read) for row in range(len(read))]
    stages_read = readings(read, at_ns, [in_flight] * len(read))
    return plain.model_copy(update={"probes": plain.probes.model_copy(update={"stages": stages_read})})


def from_server_end(
    rows: Sequence[Mapping[str, int]], untold: int = 0, in_flight: Sequence[int] | None = None
) -> contract.StageRecord:
    """A record of readings from the server's end alone, each with `untold` that are not told apart."""
    read = readings(rows, in_flight=in_flight)
    more = {
        "read_by": "server-end",
        "drawn": [drawn + untold for drawn in read.drawn],
        "in_flight": [number + untold for number in read.in_flight],
        "not_told_apart": [untold] * len(rows),
    }
    return contract.StageRecord.model_validate(read.model_dump() | more)
