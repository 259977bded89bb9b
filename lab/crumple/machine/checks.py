"""Whether a machine is fit to measure on: one small function for each thing that spoils measurements.

Pure: they judge what `machine` observed. Each answers with one line that names the remedy, or None.
"""

from collections.abc import Callable
from dataclasses import dataclass

# Of all cores' time, in a look of a second or less.
OTHERS_TOO_BUSY = 0.15
STEAL_TOO_MUCH = 0.02
# Besides its connections the engine holds epoll, probes, pipes and files.
DESCRIPTORS_BESIDES = 128
MEMORY_TOO_LITTLE_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Observed:
    """What counts for fitness, at one moment; None: not told here."""

    governor: str | None
    usable_cores: int
    physical_cores: int | None
    cpu_quota_cores: float | None
    open_files_soft: int
    connections: int
    ports: int | None
    memory_available_bytes: int | None


def governor(seen: Observed) -> str | None:
    """A clock rate that follows the load changes what a request costs."""
    if seen.governor in (None, "performance"):
        return None
    return f"the CPU governor is {seen.governor}; as root: cpupower frequency-set -g performance"


def cores(seen: Observed) -> str | None:
    """Engine and server each need a core."""
    if seen.usable_cores < 2:
        return "engine and server share the only core; use a machine with two or more"
    if seen.physical_cores is not None and seen.physical_cores < 2:
        return "engine and server share the only physical core; use a machine with two or more"
    return None


def quota(seen: Observed) -> str | None:
    """A quota stops all work in the middle of a period."""
    if seen.cpu_quota_cores is None or seen.cpu_quota_cores >= seen.usable_cores:
        return None
    return (
        f"the container may use {seen.cpu_quota_cores:g} of {seen.usable_cores} cores; remove its CPU quota"
    )


def descriptors(seen: Observed) -> str | None:
    """One descriptor for each connection, in the engine and in the server."""
    needed = seen.connections + DESCRIPTORS_BESIDES
    if seen.open_files_soft >= needed:
        return None
    return (
        f"{seen.open_files_soft} open files are too few for {seen.connections} connections; "
        f"raise the hard limit: ulimit -Hn {needed}, as root"
    )


def ports(seen: Observed) -> str | None:
    """One local port for each connection."""
    if seen.ports is None or seen.ports > seen.connections:
        return None
    return (
        f"{seen.ports} local ports are too few for {seen.connections} connections; "
        "as root: sysctl net.ipv4.ip_local_port_range='1024 65535'"
    )


def memory(seen: Observed) -> str | None:
    """A machine that swaps measures its disk."""
    if seen.memory_available_bytes is None or seen.memory_available_bytes >= MEMORY_TOO_LITTLE_BYTES:
        return None
    return f"only {seen.memory_available_bytes // 2**20} MiB of memory are available; end other programs"


CHECKS: tuple[Callable[[Observed], str | None], ...] = (
    governor,
    cores,
    quota,
    descriptors,
    ports,
    memory,
)
