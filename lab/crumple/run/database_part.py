"""The database in one trial: it starts before the server, and its counters are read around the load.

`subject.tables` says what the counters must show; `trial` executes the steps.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from crumple.contract import TrialRecord
from crumple.errors import DatabaseFailed, DatabaseMissing
from crumple.run.store import DatabaseFacts
from crumple.subject import database, tables
from crumple.subject.database import Database, OnDemand
from crumple.subject.tables import Counters
from crumple.subject.workload import Query, Workload

UNCOUNTED = (
    "nothing checked that the server asked its database for each answer: "
    "the server ran already, with a database of its own"
)


# (wall-clock time in Unix ns, CPU time in ns that the database had used by then)
Look = tuple[int, int]


@dataclass
class DatabasePart:
    """The database of one trial and what it did."""

    data: Database | None
    """None: none is needed, or the server has its own."""
    query: Query | None
    facts: DatabaseFacts | None = None
    """Is set by `counted`, after the load, and so are the problems."""
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    _before: tuple[Counters, int | None] | None = None
    _looks: list[Look] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Return the environment variables by which the server finds the database."""
        return self.data.environment() if self.data else {}

    def count(self) -> None:
        """Read the counters and the CPU time; call this just before the load."""
        if self.data and self.query:
            self._before = self.data.counters(self.query.table), self.data.cpu_ns()
        self.look()

    def look(self) -> None:
        """Note the CPU time that the database has used so far."""
        used_ns = self.data.cpu_ns() if self.data else None
        if used_ns is not None:
            self._looks.append((time.time_ns(), used_ns))

    def window_ns(self, record: TrialRecord) -> int | None:
        """Return the CPU time used in the measured phase; 0 without a database, None if we cannot see it."""
        if self.data is None:
            return None if self.warnings else 0
        from_ns = record.began_unix_ns + record.warm_up_ns
        return used_between(self._looks, from_ns, from_ns + record.measured_ns)

    def counted(self, record: TrialRecord, beside: int) -> None:
        """Read the counters after the load, which include `beside` requests of the canary.

        Raises DatabaseFailed.
        """
        self.look()
        if self.data is None or self.query is None or self._before is None:
            return
        self.still_there()
        (before, before_ns), data = self._before, self.data
        # CPU time first, because `counters` waits until the counts no longer change.
        cpu_ns, after = data.cpu_ns(), data.counters(self.query.table)
        self.problems = tables.problems(record, self.query, before, after, beside)
        spent = None if cpu_ns is None or before_ns is None else round((cpu_ns - before_ns) / 1e9, 3)
        asked = tables.queries_between(self.query, before, after)
        self.facts = DatabaseFacts(place=data.place, version=data.version, queries=asked, cpu_s=spent)

    def still_there(self) -> None:
        """Check that the database, if there is one, still runs. Raises DatabaseFailed."""
        if self.data and not self.data.alive():
            raise self.data.ended()


@contextmanager
def part(
    databases: OnDemand | None,
    workload: Workload,
    beside: Workload | None,
    cores: tuple[int, ...],
    own_server: bool,
) -> Iterator[DatabasePart]:
    """Provide the database for a trial of `workload`, and of the canary's `beside`, on the server's `cores`.

    `databases`: the run's; None starts one for this trial alone. `own_server`: the server ran already, so it
    uses ours only if the user named the database. Raises DatabaseMissing, DatabaseFailed, UsageError.
    """
    needed = workload.database or (beside.database if beside else None)
    if needed is None:
        yield DatabasePart(None, None)
    elif own_server and (databases is None or not databases.users):
        yield DatabasePart(None, None, warnings=(UNCOUNTED,))
    elif databases is not None:
        yield DatabasePart(databases.ready(cores), workload.database)
    else:
        with database.on_demand() as alone:
            yield DatabasePart(alone.ready(cores), workload.database)


def used_between(looks: Sequence[Look], from_ns: int, to_ns: int) -> int | None:
    """Return the CPU time used between two instants, interpolated between looks.

    None with fewer than two looks, or if the first look came after `from_ns`.
    """
    if len(looks) < 2 or not looks[0][0] <= from_ns <= to_ns:
        return None
    return _used_by(looks, to_ns) - _used_by(looks, from_ns)


def _used_by(looks: Sequence[Look], at_ns: int) -> int:
    for (before_ns, before_used_ns), (after_ns, after_used_ns) in pairwise(looks):
        if at_ns <= after_ns:
            share = (at_ns - before_ns) / (after_ns - before_ns) if after_ns > before_ns else 1.0
            return before_used_ns + round(share * (after_used_ns - before_used_ns))
    return looks[-1][1]


def step_of(error: Exception, step: str) -> str:
    """Return the step to name in the trial's failure: `step`, or the database's if the database failed."""
    if isinstance(error, DatabaseMissing):
        return "setup"
    return "database" if isinstance(error, DatabaseFailed) else step
