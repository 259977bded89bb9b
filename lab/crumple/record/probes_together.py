"""What several load hosts read of themselves while they put one load on → the probes of the whole load. Pure.

Engines are added up, reading by reading, as all read in the same step. Their threads stand side by side, so
that the busiest of any is seen. Two hosts may be one machine (two pods of one node): of those with the same
kernel, the machine counts once. What is not known of one is not known of all.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from crumple.contract import (
    AllProcessesWindow,
    CoreColumns,
    MachineRecord,
    MachineWindow,
    Probes,
    ProcessRecord,
    ProcessWindow,
    SampleColumns,
    SocketRecord,
    Unread,
)

# What is no sum: instants and lengths, which all hosts share.
LARGEST = ("late_ns",)
FIRST = ("at_ns",)


def probes(parts: Sequence[tuple[Probes, str | None]]) -> Probes:
    """Return the probes of the whole load. With each part's stands its kernel; None: not known."""
    read = [each for each, _ in parts]
    return Probes(
        engine=_process([each.engine for each in read]),
        server=None,
        threads=tuple(thread for each in read for thread in each.threads),
        sockets=_sockets([each.sockets for each in read]),
        machine=machines(parts),
    )


def machines(parts: Sequence[tuple[Probes, str | None]]) -> MachineRecord:
    """Return all machines of the parts as one, each once."""
    distinct = {kernel or f"unknown {at}": each.machine for at, (each, kernel) in enumerate(parts)}
    read = list(distinct.values())
    if len(read) == 1:
        return read[0]
    windows = _all_known(each.window for each in read)
    everybody = _all_known(each.all_processes for each in read)
    return MachineRecord(
        window=None if windows is None else _window(windows),
        all_processes=None if everybody is None else _all_processes(everybody),
        unread=_unread(each.unread for each in read),
    )


def _process(parts: Sequence[ProcessRecord]) -> ProcessRecord:
    windows = _all_known(part.window for part in parts)
    return ProcessRecord(
        samples=SampleColumns.model_validate(_rows([part.samples for part in parts])),
        window=None if windows is None else _process_window(windows),
        unread=_unread(part.unread for part in parts),
    )


def _process_window(parts: Sequence[ProcessWindow]) -> ProcessWindow:
    lengths = ("span_ns", "threads_span_ns")
    return ProcessWindow.model_validate(_summed(parts, lengths, ProcessWindow.model_fields))


def _sockets(parts: Sequence[SocketRecord]) -> SocketRecord:
    columns = _rows(parts, left_out=("unread",))
    return SocketRecord.model_validate({**columns, "unread": _unread(part.unread for part in parts)})


def _window(parts: Sequence[MachineWindow]) -> MachineWindow:
    names = [name for name in MachineWindow.model_fields if name != "per_core"]
    per_core = {
        name: tuple(value for part in parts for value in getattr(part.per_core, name))
        for name in CoreColumns.model_fields
    }
    summed = _summed(parts, ("span_ns",), names)
    return MachineWindow.model_validate({**summed, "per_core": CoreColumns.model_validate(per_core)})


def _all_processes(parts: Sequence[AllProcessesWindow]) -> AllProcessesWindow:
    names = [name for name in AllProcessesWindow.model_fields if name != "programs"]
    programs = sorted(
        (program for part in parts for program in part.programs), key=lambda each: (-each.cpu_ns, each.pid)
    )
    summed = _summed(parts, ("span_ns",), names)
    return AllProcessesWindow.model_validate({**summed, "programs": tuple(programs)})


def _summed(parts: Sequence[Any], lengths: Sequence[str], names: Iterable[str]) -> dict[str, int | None]:
    """Return each field of the parts added up, or the mean of a length; None: not known of one."""

    def whole(name: str) -> int | None:
        known: list[int] | None = _all_known(getattr(part, name) for part in parts)
        if known is None:
            return None
        return round(sum(known) / len(known)) if name in lengths else sum(known)

    return {name: whole(name) for name in names}


def _rows(parts: Sequence[Any], left_out: Sequence[str] = ()) -> dict[str, tuple[int | None, ...]]:
    """Return each column of the parts added up, row by row, as far as all have rows."""

    def whole(name: str, values: Sequence[int | None]) -> int | None:
        if name in FIRST:
            return values[0]
        known: list[int] | None = _all_known(values)
        if known is None:
            return None
        return max(known) if name in LARGEST else sum(known)

    names = [name for name in type(parts[0]).model_fields if name not in left_out]
    return {
        name: tuple(
            whole(name, values) for values in zip(*(getattr(part, name) for part in parts), strict=False)
        )
        for name in names
    }


def _all_known(values: Iterable[Any]) -> list[Any] | None:
    """Return the values; None if one is not known."""
    found = list(values)
    return None if None in found else found


def _unread(parts: Iterable[Sequence[Unread]]) -> tuple[Unread, ...]:
    """Return each of these once."""
    return tuple(dict.fromkeys(each for part in parts for each in part))
