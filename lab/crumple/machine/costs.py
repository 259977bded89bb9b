"""What calls, switches, threads and processes cost on this machine, as the engine measures it.

It asks the engine and reads the answer; what a cost means for a server is not said here.
"""

import subprocess
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from crumple import faults
from crumple.contract import Frozen
from crumple.engine import Engine, complaint
from crumple.errors import EngineFailed

LIMIT_S = 60.0
# As the engine calls them.
NAMES = ("system_call", "non_blocking_read", "thread_switch", "process_switch", "thread", "process")


class Cost(Frozen):
    """One cost: the median over `rounds` of `repeats` each, the tenth and the ninetieth hundredth of them."""

    name: str
    meaning: str
    ns: Annotated[float, Field(ge=0)]
    low_ns: float
    high_ns: float
    rounds: int
    repeats: int


_COSTS = TypeAdapter(tuple[Cost, ...])


def measure(engine: Engine, core: int | None) -> tuple[Cost, ...]:
    """All costs on `core`, in about two seconds; None lets the scheduler move. Raises EngineFailed."""
    pinned = [] if core is None else ["--core", str(core)]
    try:
        asked = subprocess.run(
            [engine.path, "costs", *pinned], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineFailed(f"{engine.path} costs did not end: {error}") from None
    if asked.returncode != 0:
        raise _failure(asked.stderr)
    try:
        return _COSTS.validate_json(asked.stdout)
    except ValidationError as error:
        message = f"the engine's costs are not what the lab expects ({faults.first(error)})"
        raise EngineFailed(message, "build engine and lab from the same sources") from None


def readings(engine: Engine, core: int | None, times: int) -> dict[str, tuple[float, ...]]:
    """Cost → its median in ns, of as many measurements, each by a process of its own. Raises EngineFailed."""
    measured = [measure(engine, core) for _ in range(times)]
    return {cost.name: tuple(each[at].ns for each in measured) for at, cost in enumerate(measured[0])}


def _failure(stderr: str) -> EngineFailed:
    last = stderr.strip().rpartition("\n")[2]
    if said := complaint(last):
        return EngineFailed(*said)
    return EngineFailed(f"the engine's costs failed: {last}")
