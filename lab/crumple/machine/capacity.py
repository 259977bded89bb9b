"""What this machine can carry: its fitness to measure, cores for engine and server, and the loads that fit.

The checks are pure: each judges a `MachineFitness` and returns one line that names the remedy, or None. A
load that does not fit is reduced, and a sentence says so. Only `raise_open_files` changes anything: it raises
this process's soft limit of open files to the hard limit.
"""

import contextlib
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from crumple import contract
from crumple.errors import UsageError
from crumple.machine import facts as machine_facts
from crumple.machine.facts import UnreadError

# The largest share of all cores' time, read over a second or less, that other programs may use before the
# machine counts as too busy.
OTHERS_TOO_BUSY = 0.15
# The largest share of all cores' time that a hypervisor may take.
STEAL_TOO_MUCH = 0.02
# Descriptors that the engine needs besides its connections: epoll, probes, pipes and files.
DESCRIPTORS_BESIDES = 128
# The least memory that must be available: with less, the machine may swap during a load.
MEMORY_TOO_LITTLE_BYTES = 256 * 2**20


@dataclass(frozen=True)
class MachineFitness:
    """The facts that decide fitness, at one moment; None: this machine does not report it."""

    governor: str | None
    usable_cores: int
    physical_cores: int | None
    cpu_quota_cores: float | None
    open_files_soft: int
    connections: int
    ports: int | None
    memory_available_bytes: int | None


def governor(seen: MachineFitness) -> str | None:
    """The governor must be "performance": a clock rate that follows the load changes a request's cost."""
    if seen.governor in (None, "performance"):
        return None
    return f"the CPU governor is {seen.governor}; as root: cpupower frequency-set -g performance"


def cores(seen: MachineFitness) -> str | None:
    """Engine and server each need a core."""
    if seen.usable_cores < 2:
        return "engine and server share the only core; use a machine with two or more"
    if seen.physical_cores is not None and seen.physical_cores < 2:
        return "engine and server share the only physical core; use a machine with two or more"
    return None


def quota(seen: MachineFitness) -> str | None:
    """There must be no CPU quota: once it is used up, all work stops until the next period."""
    if seen.cpu_quota_cores is None or seen.cpu_quota_cores >= seen.usable_cores:
        return None
    return (
        f"the container may use {seen.cpu_quota_cores:g} of {seen.usable_cores} cores; remove its CPU quota"
    )


def descriptors(seen: MachineFitness) -> str | None:
    """Engine and server each need a descriptor for each connection."""
    needed = seen.connections + DESCRIPTORS_BESIDES
    if seen.open_files_soft >= needed:
        return None
    return (
        f"{seen.open_files_soft} open files are too few for {seen.connections} connections; "
        f"raise the hard limit: ulimit -Hn {needed}, as root"
    )


def ports(seen: MachineFitness) -> str | None:
    """Each connection needs a local port."""
    if seen.ports is None or seen.ports > seen.connections:
        return None
    return (
        f"{seen.ports} local ports are too few for {seen.connections} connections; "
        "as root: sysctl net.ipv4.ip_local_port_range='1024 65535'"
    )


def memory(seen: MachineFitness) -> str | None:
    """Memory must be left: on a machine that swaps, a load measures the disk."""
    if seen.memory_available_bytes is None or seen.memory_available_bytes >= MEMORY_TOO_LITTLE_BYTES:
        return None
    return f"only {seen.memory_available_bytes // 2**20} MiB of memory are available; end other programs"


CHECKS: tuple[Callable[[MachineFitness], str | None], ...] = (
    governor,
    cores,
    quota,
    descriptors,
    ports,
    memory,
)


# Whether engine and server share all cores or each have their own.
Placement = Literal["shared", "separate"]

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Fitness:
    """The facts of the moment, and what makes the machine unfit: one line each, with its remedy."""

    facts: dict[str, Any]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Cores:
    """Cores of engine and server. `engine` empty: it is not pinned, and shares the server's cores."""

    engine: tuple[int, ...]
    server: tuple[int, ...]


def facts() -> dict[str, Any]:
    """The lasting facts of this machine; None: could not be read, for the reason in the list "unread"."""
    raise_open_files()
    return machine_facts.read(machine_facts.LASTING)


def fitness(connections: int = 0, sources: int = 1) -> Fitness:
    """The machine's fitness for `connections` connections from `sources` local addresses.

    CPU use by other programs is not part of it: that is read while the load runs (`record.disturbance`).
    """
    raise_open_files()
    moment = machine_facts.read(machine_facts.OF_THE_MOMENT)
    seen = _observed(connections, sources)
    return Fitness(moment, tuple(problem for check in CHECKS if (problem := check(seen))))


def cores_for(placement: Placement, threads: int = 1, server_cores: int | None = None) -> Cores:
    """Cores for an engine of `threads` threads and for a server, which gets `server_cores`; None: the rest.

    "separate": no physical core serves both, if there are enough. "shared": both may use all cores, and the
    engine is not pinned. Raises UsageError if the server cannot have `server_cores`.
    """
    usable = machine_facts.usable_cores()
    physical = _or_none(machine_facts.physical_cores) or [[core] for core in usable]
    divided = divide(placement, threads, physical)
    if server_cores is None:
        return divided
    return Cores(divided.engine, fewer(divided.server, server_cores, physical))


def divide(placement: Placement, threads: int, physical: list[list[int]]) -> Cores:
    """Cores for engine and server out of groups of logical cores that share a physical core."""
    every = tuple(sorted(core for group in physical for core in group))
    if placement == "shared":
        # Not pinned: the scheduler must be free to move the engine to a core that the server leaves idle.
        return Cores(engine=(), server=every)
    if len(every) < 2:
        return Cores(engine=every, server=every)
    if len(physical) > threads:
        # One logical core of each of the last physical cores; its siblings stay idle.
        engine = tuple(group[0] for group in physical[-threads:])
        server = tuple(sorted(core for group in physical[:-threads] for core in group))
    else:
        split = max(1, len(every) - threads)
        server, engine = every[:split], every[split:]
    return Cores(engine=engine, server=server)


def fewer(cores: tuple[int, ...], wanted: int, physical: list[list[int]]) -> tuple[int, ...]:
    """`wanted` of the cores, one of each physical core first. Raises UsageError if there are fewer."""
    if wanted > len(cores):
        raise UsageError(
            f"server_cores = {wanted}, and {len(cores)} of this machine's cores may be the server's",
            'use a machine with more cores, or placement = "shared"',
        )
    rank = {core: (group.index(core), core) for group in physical for core in group}
    return tuple(sorted(sorted(cores, key=rank.__getitem__)[:wanted]))


def raise_open_files() -> None:
    """Raise the soft limit of open files to the hard limit; the engine and servers inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _observed(connections: int, sources: int) -> MachineFitness:
    physical = _or_none(machine_facts.physical_cores)
    quota = _or_none(machine_facts.cpu_quota_cores)
    ports = _or_none(machine_facts.port_range)
    return MachineFitness(
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


# The share of an address's local ports that connections may use. A connection that is given up keeps its port
# occupied for a minute, while its replacement takes another.
PORTS_SHARE = 0.3
SOURCE = "127.0.0.{}"
# The most local addresses that a load connects from: they differ in their last byte, which ends at 255.
SOURCES_MAX = 250


@dataclass(frozen=True)
class Limits:
    """Limits on connections. `open_files`: the hard limit; `ports`: per local address, None: not known."""

    open_files: int
    ports: int | None


@dataclass(frozen=True)
class FittedShape:
    """The shape that fits. `sources`: loopback addresses to connect from; empty: the kernel chooses.

    `less`: a sentence that says by how much the shape was reduced, and why; empty: it is as asked.
    """

    shape: contract.ShapeSpec
    sources: tuple[str, ...] = ()
    less: str = ""


def limits() -> Limits:
    """This machine's limits. Before every load the soft limit of open files is raised to the hard one."""
    try:
        first, last = machine_facts.port_range()
    except UnreadError:
        return Limits(machine_facts.open_files_hard(), None)
    return Limits(machine_facts.open_files_hard(), last - first + 1)


def connections_of(shape: contract.ShapeSpec) -> int:
    """Return the most connections that a load of this shape holds, or may hold."""
    return shape.to_connections if isinstance(shape, contract.RampShapeSpec) else shape.connections


def fitted(shape: contract.ShapeSpec, here: Limits) -> FittedShape:
    """The shape with as many connections as there is room for.

    In an open shape `connections` is a limit that need not be reached, so it is lowered without a sentence.
    """
    asked = connections_of(shape)
    room = here.open_files - DESCRIPTORS_BESIDES
    held = max(1, min(asked, room))
    less = ""
    if held < asked and not isinstance(shape, contract.OpenShapeSpec):
        less = (
            f"{held:,} of the {asked:,} connections asked for: no more than {here.open_files:,} files may be "
            f"open here; raise the hard limit: ulimit -Hn {asked + DESCRIPTORS_BESIDES}, as root"
        )
    return FittedShape(_with_connections(shape, held), _sources(held, here.ports), less)


def _with_connections(shape: contract.ShapeSpec, held: int) -> contract.ShapeSpec:
    if not isinstance(shape, contract.RampShapeSpec):
        return shape.model_copy(update={"connections": held})
    if held == shape.to_connections:
        return shape
    # The ramp stays as steep as asked: it ends sooner, and then holds the connections there is room for.
    low = min(shape.from_connections, held)
    rise = (held - low) / (shape.to_connections - shape.from_connections)
    over_s = max(shape.over_s * rise, 1e-3)
    return shape.model_copy(update={"from_connections": low, "to_connections": held, "over_s": over_s})


def _sources(connections: int, ports: int | None) -> tuple[str, ...]:
    if ports is None or connections <= PORTS_SHARE * ports:
        return ()
    needed = min(SOURCES_MAX, -(-connections // max(1, int(PORTS_SHARE * ports))))
    # 127.0.0.1 is left to the other programs on this machine.
    return tuple(SOURCE.format(number) for number in range(2, needed + 2))
