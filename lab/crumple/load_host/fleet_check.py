"""Looks at load hosts before a load comes from them: is each reached, what is it, and what does it lack?"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from crumple.contract_base import Frozen
from crumple.engine import Engine
from crumple.errors import EngineFailed
from crumple.load_host import way
from crumple.load_host.facts_there import FactsThere
from crumple.load_host.load_host import LoadHost
from crumple.load_host.where import Where
from crumple.machine import capacity, ceiling
from crumple.machine.ceiling import Ceiling

# The lines that tell how far away a host is: its p99 is the second largest of two hundred. And the seconds
# for them: a host that is 20 ms away has answered a hundred.
LINES, LINES_S = 200, 2.0
# The connections that there must be room for: as many as a load at a rate may open unless it says otherwise.
CONNECTIONS = 1_000


class UnreachedHost(Frozen):
    """A load host that no load can come from."""

    where: str
    """As --from named it, without secrets."""
    error: str
    remedy: str


class ReachedHost(Frozen):
    """A load host as it was found; null: it does not say."""

    where: str
    """As --from named it, without secrets."""
    engine_version: str
    """Of the engine there, which is that of this machine."""
    was_sent: bool
    """Whether the engine was sent now; otherwise it was there."""
    is_apart: bool
    """Whether it shares no core with this machine: it runs another kernel."""
    kernel: str | None
    cpu_model: str | None
    cores: int
    """How many an engine may use."""
    open_files: int
    """How many files an engine may open."""
    ports: int | None
    """How many local ports each of its addresses has."""
    round_trip_ns: float
    """How long a line took there and back: the median."""
    round_trip_p99_ns: int
    clock_ahead_ns: int
    """How far its clock is ahead of the one here."""
    clock_off_most_ns: int
    """By how much `clock_ahead_ns` may be wrong."""
    ceiling_per_s: float | None
    """The requests per second that a thread of the engine reaches there, by one reading; null: unread."""
    ceiling_at_least: bool
    """Whether the ceiling may be higher."""
    ceiling_why: str
    """Why it may be higher, or was not read."""
    boot_id: str | None
    """Which start of a kernel it has: hosts with the same one are one machine."""
    lacks: tuple[str, ...]
    """What makes it less fit for loads, each with its remedy."""


def looked_at(hosts: list[Where], engine: Engine) -> list[ReachedHost | UnreachedHost]:
    """Look at all at once."""
    with ThreadPoolExecutor(len(hosts)) as each:
        return list(each.map(lambda where: _of(where, engine), hosts))


def _of(where: Where, engine: Engine) -> ReachedHost | UnreachedHost:
    try:
        with LoadHost(where, engine.path) as host:
            return _reached(host, engine)
    except EngineFailed as error:
        return UnreachedHost(where=where.name, error=error.message, remedy=error.remedy)


def _reached(host: LoadHost, engine: Engine) -> ReachedHost:
    with host.link() as link:
        was_sent = link.was_sent
    facts = host.facts
    found = way.measured(host.clock, LINES, LINES_S)
    reached = ceiling.at_a_glance(replace(engine, load_host=host))
    return ReachedHost(
        where=host.name,
        engine_version=facts.engine_version,
        was_sent=was_sent,
        is_apart=not host.is_this_kernel,
        kernel=facts.kernel,
        cpu_model=facts.cpu_model,
        cores=len(facts.cores),
        open_files=facts.open_files,
        ports=facts.ports,
        round_trip_ns=found.median_ns,
        round_trip_p99_ns=found.p99_ns,
        clock_ahead_ns=found.clock_ahead_ns,
        clock_off_most_ns=found.clock_off_most_ns,
        ceiling_per_s=reached.throughput_per_s,
        ceiling_at_least=reached.at_least,
        ceiling_why=reached.why,
        boot_id=facts.boot_id,
        lacks=tuple(lacking(facts, is_apart=not host.is_this_kernel)),
    )


@dataclass(frozen=True)
class Together:
    """Several load hosts that put one load on."""

    cores: int
    """All that their engines may use, each once."""
    ceiling: Ceiling
    """The requests per second that one thread on each reaches, all of them at once."""
    start_apart_ns: int
    """By how much they may begin apart, as far as lines through the pipe tell their clocks."""
    one_machine: tuple[tuple[str, ...], ...]
    """Those that are one machine, and share its cores."""


def together(hosts: Sequence[ReachedHost]) -> Together:
    """Return what several load hosts are together."""
    machines: dict[str, list[ReachedHost]] = {}
    for at, host in enumerate(hosts):
        kernel = (host.boot_id or f"unknown {at}") if host.is_apart else "this one"
        machines.setdefault(kernel, []).append(host)
    read = [
        Ceiling(throughput_per_s=host.ceiling_per_s, at_least=host.ceiling_at_least, why=host.ceiling_why)
        for host in hosts
    ]
    off_ns = sorted(host.clock_off_most_ns for host in hosts)
    return Together(
        cores=sum(max(host.cores for host in same) for same in machines.values()),
        ceiling=ceiling.together(read),
        start_apart_ns=sum(off_ns[-2:]),
        one_machine=tuple(tuple(host.where for host in same) for same in machines.values() if same[1:]),
    )


def lacking(facts: FactsThere, *, is_apart: bool) -> list[str]:
    """Return what a load host lacks: a line each, with the remedy there.

    `is_apart`: it is another machine, so that no server runs beside its engine.
    """
    seen = capacity.MachineFitness(
        governor=facts.governor,
        usable_cores=len(facts.cores),
        physical_cores=len(facts.physical_cores) or None,
        cpu_quota_cores=facts.cpu_quota_cores,
        open_files_soft=facts.open_files,
        connections=CONNECTIONS,
        ports=facts.ports,
        memory_available_bytes=facts.memory_available_bytes,
    )
    checks = [each for each in capacity.CHECKS if not is_apart or each is not capacity.cores]
    return [line for check in checks if (line := check(seen))]
