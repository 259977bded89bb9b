"""What system calls, switches, threads and processes cost on this machine, as the engine measures it."""

import subprocess
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from crumple import faults
from crumple.contract import Frozen
from crumple.engine import Engine, complaint
from crumple.errors import EngineFailed

LIMIT_S = 60.0
# The engine's names.
NAMES = ("system_call", "non_blocking_read", "thread_switch", "process_switch", "thread", "process")


class Cost(Frozen):
    """One cost: median, 10th and 90th percentile over `rounds`, each of `repeats` repetitions."""

    name: str
    meaning: str
    ns: Annotated[float, Field(ge=0)]
    low_ns: float
    high_ns: float
    rounds: int
    repeats: int


_COSTS = TypeAdapter(tuple[Cost, ...])


def measure(engine: Engine, core: int | None) -> tuple[Cost, ...]:
    """All costs on `core`, measured in about 2 s; None: the scheduler chooses. Raises EngineFailed."""
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
    """Cost → its median in ns in each of `times` measurements, each a new process. Raises EngineFailed."""
    measured = [measure(engine, core) for _ in range(times)]
    return {cost.name: tuple(each[at].ns for each in measured) for at, cost in enumerate(measured[0])}


def _failure(stderr: str) -> EngineFailed:
    last = stderr.strip().rpartition("\n")[2]
    if said := complaint(last):
        return EngineFailed(*said)
    return EngineFailed(f"the engine's costs failed: {last}")
