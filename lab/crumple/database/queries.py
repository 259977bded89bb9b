"""Whether the database was asked as often as the answers say: what is to be queried is not remembered.

Pure: counters before and after a load, and its record, in; what is wrong with them out.
"""

from dataclasses import dataclass

from crumple.contract import TrialRecord
from crumple.workload.workload import Query


@dataclass(frozen=True)
class Counters:
    """What a database has answered since it started. `rows_read`: of one table; None if it does not count."""

    selects: int
    rows_read: int | None


def asked(query: Query, before: Counters, after: Counters) -> int:
    """Queries between both, from the rows they read; where those are not counted, all SELECT statements."""
    if before.rows_read is None or after.rows_read is None:
        return after.selects - before.selects
    return (after.rows_read - before.rows_read) // query.rows


def problems(
    record: TrialRecord, query: Query, before: Counters, after: Counters, beside: int = 0
) -> tuple[str, ...]:
    """A sentence where there were fewer queries than right answers, or more than requests.

    `beside`: requests that the server was sent meanwhile by others than the engine's load.
    """
    answered = record.outcomes.ok + record.warm_up.outcomes.ok
    sent = record.scheduled + record.warm_up.scheduled + record.retried + beside
    sent -= record.outcomes.not_sent + record.warm_up.outcomes.not_sent
    selects, queries = after.selects - before.selects, asked(query, before, after)
    if min(selects, queries) < answered:
        return (
            f"the database was asked {min(selects, queries):,} times for {answered:,} right answers; "
            "the server answers without asking, or keeps what it was told",
        )
    counted = before.rows_read is not None and after.rows_read is not None
    # Drivers send SELECTs of their own as they connect, so that only the rows say what is too much.
    if counted and queries > sent:
        return (
            f"the database was asked {queries:,} times for {sent:,} requests; the server asks more than "
            "once, or somebody else asks the same database",
        )
    return ()
