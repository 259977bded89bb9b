"""Records of loads in which a server ceases to answer."""

from collections.abc import Sequence
from typing import Any

import documents
from crumple import contract
from crumple.contract import TrialRecord

TENTH_NS = 100_000_000


def record(
    ok: Sequence[int],
    failed: Sequence[int] = (),
    *,
    unfinished: int = 0,
    warm_up: int = 0,
    scheduled: Sequence[int] = (),
    took_ns: int = 1_000_000,
    reasons: tuple[contract.ReasonRecord, ...] = (),
    shape: contract.ShapeSpec | None = None,
    **ends: int,
) -> TrialRecord:
    """A load of tenths of a second with these answers and failures; `warm_up`: how many are the warm-up."""
    rows = len(ok)
    failed = [*failed, *[0] * (rows - len(failed))]
    due = scheduled or [one + other for one, other in zip(ok, failed, strict=True)]
    series = contract.Series(
        interval_ms=100,
        at_ns=tuple(row * TENTH_NS for row in range(rows)),
        duration_ns=(TENTH_NS,) * rows,
        phase=tuple("warm-up" if row < warm_up else "measured" for row in range(rows)),
        ok=tuple(ok),
        failed=tuple(failed),
        p50_ns=(None,) * rows,
        p99_ns=(None,) * rows,
        max_ns=tuple(took_ns if number else None for number in ok),
        scheduled=tuple(due),
        engine_late_p99_ns=(None,) * rows,
        connections=(8,) * rows,
    )
    ended: dict[str, Any] = {
        "warm_up_ns": warm_up * TENTH_NS,
        "measured_ns": (rows - warm_up) * TENTH_NS,
        "reasons": reasons,
        "outcomes": documents.outcomes(ok=sum(ok[warm_up:]), unfinished=unfinished, **ends),
        "warm_up": contract.WarmUpRecord(
            scheduled=sum(due[:warm_up]), outcomes=documents.outcomes(ok=sum(ok[:warm_up]))
        ),
    }
    spec = documents.spec(shape=shape or contract.ClosedShapeSpec(connections=8))
    return documents.record(spec=spec, series=series, **ended)
