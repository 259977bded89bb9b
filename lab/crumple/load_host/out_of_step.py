"""Whether what was read beside the server is of the phase in which the load was measured. Pure.

The engine here begins when the load is taken to begin: half a round trip after the load host was told. One
way may take more of the round trip than the other, and what only the load knows (that its number of requests
is over, or that it ends early) is heard one way late. So a phase here is off by half a round trip at most.
"""

from typing import TypeVar

from crumple.contract import (
    DependencyRecord,
    MachineRecord,
    Probes,
    ProcessRecord,
    StageRecord,
    TaskRecord,
    Unread,
)
from crumple.drawing import numerals
from crumple.record.windows import OFF_MAX

Rows = TypeVar("Rows", DependencyRecord, StageRecord, TaskRecord)


def why(round_trip_ns: float, measured_ns: int, phases: int) -> str:
    """Return why what was read here may be of another time than the load; empty: it is of its time.

    `phases`: how many phases the measured time consists of.
    """
    off_ns = round_trip_ns / 2
    if off_ns * phases <= OFF_MAX * measured_ns:
        return ""
    way, off, measured = (numerals.duration(each) for each in (round_trip_ns, off_ns, measured_ns / phases))
    longer = numerals.duration(off_ns / OFF_MAX)
    return (
        f"a line takes {way} to the load host and back, so what was read here may be {off} off the measured "
        f"phase, which took {measured} (limit {OFF_MAX:.0%}): measure for {longer} or more"
    )


def without(probes: Probes, reason: str) -> Probes:
    """Return the probes of the server's machine without what is of the measured phase, for this reason."""

    def ends(read: ProcessRecord | MachineRecord) -> dict[str, object]:
        return {"window": None, "unread": (Unread(field="window", why=reason), *read.unread)}

    return probes.model_copy(
        update={
            "server": probes.server and probes.server.model_copy(update=ends(probes.server)),
            "engine": probes.engine.model_copy(update=ends(probes.engine)),
            "machine": probes.machine.model_copy(update={**ends(probes.machine), "all_processes": None}),
            "stages": probes.stages and _rows(probes.stages, reason),
            "tasks": probes.tasks and _rows(probes.tasks, reason),
            "dependencies": probes.dependencies and _rows(probes.dependencies, reason),
        }
    )


def _rows(read: Rows, reason: str) -> Rows:
    empty = {field: () for field, value in read if isinstance(value, tuple)}
    return read.model_copy(update={**empty, "why": reason})
