"""The machine a run takes place on: its facts, whether it is fit, and which cores are for whom.

It changes one thing: this process's soft limit of open files, up to the hard one.
"""

import contextlib
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from crumple.errors import UsageError
from crumple.machine import facts as machine_facts
from crumple.machine.checks import CHECKS, Observed
from crumple.machine.facts import UnreadError

# Which cores serve whom: both all of them, or each its own.
Placement = Literal["shared", "separate"]

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Fitness:
    """The facts of the moment, and what makes the machine unfit: one line each, with its remedy."""

    facts: dict[str, Any]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Cores:
    """Which cores are whose. `engine` empty: bound to none, for both share those of the server."""

    engine: tuple[int, ...]
    server: tuple[int, ...]


def facts() -> dict[str, Any]:
    """What the machine is. What could not be read is None, with its reason in the list "unread"."""
    raise_open_files()
    return machine_facts.read(machine_facts.LASTING)


def fitness(connections: int = 0, sources: int = 1) -> Fitness:
    """What there is for a load of `connections`, from so many addresses as `sources`.

    Who else uses the machine is no part of it: that is seen while the load runs (`record.disturbance`).
    """
    raise_open_files()
    moment = machine_facts.read(machine_facts.OF_THE_MOMENT)
    seen = _observed(connections, sources)
    return Fitness(moment, tuple(problem for check in CHECKS if (problem := check(seen))))


def cores_for(placement: Placement, threads: int = 1, server_cores: int | None = None) -> Cores:
    """Cores for an engine of `threads` threads and for the server, at most `server_cores` of them.

    "separate": as far as there are enough, no physical core serves both. "shared": both may use all, and the
    engine is bound to none. Raises UsageError where the server cannot have so many.
    """
    usable = machine_facts.usable_cores()
    physical = _or_none(machine_facts.physical_cores) or [[core] for core in usable]
    divided = divide(placement, threads, physical)
    if server_cores is None:
        return divided
    return Cores(divided.engine, fewer(divided.server, server_cores, physical))


def divide(placement: Placement, threads: int, physical: list[list[int]]) -> Cores:
    """The same, for cores given as groups that share a physical core."""
    every = tuple(sorted(core for group in physical for core in group))
    if placement == "shared":
        # The scheduler must be free to move the engine out of the server's way.
        return Cores(engine=(), server=every)
    if len(every) < 2:
        return Cores(engine=every, server=every)
    if len(physical) > threads:
        # One thread each of the last physical cores; what they share it with stays idle.
        engine = tuple(group[0] for group in physical[-threads:])
        server = tuple(sorted(core for group in physical[:-threads] for core in group))
    else:
        split = max(1, len(every) - threads)
        server, engine = every[:split], every[split:]
    return Cores(engine=engine, server=server)


def fewer(cores: tuple[int, ...], wanted: int, physical: list[list[int]]) -> tuple[int, ...]:
    """So many of the cores, one of each physical core first. Raises UsageError if there are not so many."""
    if wanted > len(cores):
        raise UsageError(
            f"server_cores = {wanted}, and {len(cores)} of this machine's cores may be the server's",
            'use a machine with more cores, or placement = "shared"',
        )
    rank = {core: (group.index(core), core) for group in physical for core in group}
    return tuple(sorted(sorted(cores, key=rank.__getitem__)[:wanted]))


def raise_open_files() -> None:
    """As many open files as this process may have without privileges; the engine and servers inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _observed(connections: int, sources: int) -> Observed:
    physical = _or_none(machine_facts.physical_cores)
    quota = _or_none(machine_facts.cpu_quota_cores)
    ports = _or_none(machine_facts.port_range)
    return Observed(
        governor=_or_none(machine_facts.governor),
        usable_cores=len(machine_facts.usable_cores()),
        physical_cores=len(physical) if physical else None,
        cpu_quota_cores=quota if isinstance(quota, float) else None,
        open_files_soft=machine_facts.open_files_soft(),
        connections=connections,
        ports=(ports[1] - ports[0] + 1) * sources if ports else None,
        memory_available_bytes=_or_none(machine_facts.memory_available_bytes),
    )


def _or_none(fact: Callable[[], Fact]) -> Fact | None:
    try:
        return fact()
    except UnreadError:
        return None
