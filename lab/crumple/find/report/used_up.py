"""What was used up where a server broke: CPU time, connections, or packets that were sent again. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from crumple.find.level import Level
from crumple.record.failures import MAYBE_OF_OTHERS, REQUESTS_PER_RETRANSMIT

SignKind = Literal["cpu", "one-core", "connections", "retransmits", "idle", "unwatched"]

# The least share of its cores that a server keeps busy if it has used up the CPU: the rest is lost between
# requests.
CPU_SHARE_MIN = 0.9
# The fewest and the most cores, of several, that a server with one thread for the work keeps busy.
ONE_CORE = (0.9, 1.15)


@dataclass(frozen=True)
class Sign:
    """`value` of `limit`: cores busy of cores, connections of those allowed, segments of requests."""

    kind: SignKind
    value: float
    limit: float


def signs(edge: Sequence[Level], server_cores: int | None) -> tuple[Sign, ...]:
    """Return what the levels at which it broke have in common; empty without levels.

    `server_cores`: how many cores the server may use.
    """
    if not edge:
        return ()
    busy = [each.server_cores_busy for each in edge if each.server_cores_busy is not None]
    seen = bool(busy and server_cores)
    by_cpu = _cpu(median(busy), server_cores) if busy and server_cores else None
    # Where the CPU time is not known, the connections may all be in use because they wait for the CPU.
    by_connections = _connections(edge) if seen and not by_cpu else None
    found = [sign for sign in (by_cpu, by_connections, _retransmits(edge)) if sign]
    if found:
        return tuple(found)
    if busy and server_cores:
        return (Sign("idle", median(busy), server_cores),)
    return (Sign("unwatched", 0, 0),)


def _cpu(busy: float, cores: int) -> Sign | None:
    if busy >= CPU_SHARE_MIN * cores:
        return Sign("cpu", busy, cores)
    return Sign("one-core", busy, cores) if ONE_CORE[0] <= busy <= ONE_CORE[1] else None


def _connections(edge: Sequence[Level]) -> Sign | None:
    """The sign that connections are short. Ask only if the CPU is not used up: else they all wait for it."""
    most, limit = (
        median(each.connections_most for each in edge),
        median(each.connections_limit for each in edge),
    )
    in_rate = all(each.connections_limit != round(each.load) for each in edge)
    return Sign("connections", most, limit) if in_rate and most >= limit else None


def _retransmits(edge: Sequence[Level]) -> Sign | None:
    again = sum(each.retransmitted or 0 for each in edge)
    requests = sum(each.scheduled for each in edge)
    many = again >= MAYBE_OF_OTHERS and again * REQUESTS_PER_RETRANSMIT > requests
    return Sign("retransmits", again, requests) if many else None
