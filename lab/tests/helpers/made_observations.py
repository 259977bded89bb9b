"""A record of a load on a server, and a watcher that says nothing."""

from typing import Any

import documents
from crumple import contract

MS = 1_000_000


def record(ok_per_row: tuple[int, ...] = (100,) * 15, **changes: Any) -> contract.TrialRecord:
    """A record whose series has a row of 100 ms for each number of answers."""
    rows = len(ok_per_row)
    plain = documents.record(**changes)
    series = plain.series.model_copy(
        update={
            "at_ns": tuple(100 * MS * row for row in range(rows)),
            "duration_ns": (100 * MS,) * rows,
            "phase": ("measured",) * rows,
            "ok": ok_per_row,
            "failed": (0,) * rows,
        }
    )
    return plain.model_copy(update={"series": series})


class Silent:
    """A watcher that shows nothing."""

    def doing(self, what: str) -> None:
        pass
