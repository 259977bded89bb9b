"""The slices of one start on one time axis, and their tables of readings appended to one another. Pure."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from crumple.contract import (
    Samples,
    Series,
    SocketRecord,
    StageRecord,
    TaskRecord,
    ThreadRecord,
    TrialRecord,
    Unread,
)

# Fields of a table that are not columns.
NO_COLUMNS = ("interval_ms", "window", "unread")
CUMULATIVE = (
    "cpu_user_ns",
    "cpu_kernel_ns",
    "voluntary_switches",
    "involuntary_switches",
    "cpu_ns",
    "run_queue_ns",
    "retransmitted",
)

Table = TypeVar("Table", Series, Samples, ThreadRecord, SocketRecord, StageRecord, TaskRecord)
Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Slice:
    """A slice, and where its window begins on the time axis of the whole."""

    record: TrialRecord
    window_at_ns: int
    is_first: bool
    is_last: bool

    def keeps(self, at_ns: int) -> bool:
        """Whether a reading of that instant has a place on the time axis of the whole."""
        return self.is_first or at_ns >= self.record.warm_up_ns

    def placed(self, at_ns: int) -> int:
        """Convert an instant since the slice began to one on the time axis of the whole."""
        if self.is_first and at_ns < self.record.warm_up_ns:
            return at_ns
        within_ns = max(0, at_ns - self.record.warm_up_ns)
        return self.window_at_ns + (within_ns if self.is_last else min(within_ns, self.record.measured_ns))


def rows(placed: Sequence[Slice], tables: Sequence[Table], no_columns: Collection[str] = NO_COLUMNS) -> Table:
    """Append the tables to one another, with `at_ns` converted to the time axis of the whole."""
    columns: dict[str, tuple[Any, ...]] = {}
    for name in type(tables[0]).model_fields:
        if name in no_columns:
            continue
        parts = []
        for slice_, table in zip(placed, tables, strict=True):
            read: Iterable[tuple[int, Any]] = zip(table.at_ns, getattr(table, name), strict=True)
            parts.append([value for at_ns, value in read if slice_.keeps(at_ns)])
        if name == "at_ns":
            parts = [list(map(each.placed, part)) for each, part in zip(placed, parts, strict=True)]
        columns[name] = _continued(parts) if name in CUMULATIVE else tuple(v for part in parts for v in part)
    return tables[0].model_copy(update=columns)


def _continued(parts: Sequence[Sequence[int | None]]) -> tuple[int | None, ...]:
    """Append cumulative readings, so that each part begins where the one before has ended."""
    column: list[int | None] = []
    last: int | None = None
    for part in parts:
        begins = first(part)
        more = 0 if last is None or begins is None else last - begins
        column += [None if value is None else value + more for value in part]
        last = first(reversed(column))
    return tuple(column)


def unread(parts: Iterable[Collection[Unread]]) -> tuple[Unread, ...]:
    """Return what some part could not read, each once."""
    return tuple(dict.fromkeys(each for part in parts for each in part))


def summed(parts: Iterable[int | None]) -> int | None:
    """Return the sum; None if one part is not known."""
    known = all_known(parts)
    return None if known is None else sum(known)


def gathered(parts: Iterable[Iterable[Value]], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """Gather what the slices say of the same thing, in their order."""
    same: dict[Key, list[Value]] = {}
    for part in parts:
        for each in part:
            same.setdefault(key(each), []).append(each)
    return same


def all_known(values: Iterable[Value | None]) -> list[Value] | None:
    """Return the values; None if one of them is not known."""
    known: list[Value] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return known


def first(values: Iterable[Value | None]) -> Value | None:
    """Return the first value that is known; None if none is."""
    return next((value for value in values if value is not None), None)
