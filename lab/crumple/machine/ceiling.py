"""What the engine measures of its machine: its own ceiling, and what system calls and threads cost.

The ceiling is what it reaches against its own null server, which does nothing but answer: the largest of
three readings of a second each, stored on disk. Both run where loads come from: on a load host, if there is
one; of several, the ceilings are added up, which are read at the same time. A reading that other programs
disturbed, or that a load exceeded, is a lower bound.
`record.engine_limits` judges how near a trial came to the ceiling.
"""

import contextlib
import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from crumple import contract, engine, parsing, project
from crumple.contract import ThreadWindow, TrialRecord, TrialSpec
from crumple.contract_base import Frozen
from crumple.engine import Engine, OneLoadSource, complaint
from crumple.errors import EngineFailed
from crumple.machine import alone, capacity, facts, null_server

# Seconds of the warm-up of a reading with few connections: the connections are opened in it.
WARM_UP_S = 0.2
# Seconds of the measured phase of a reading with few connections.
MEASURED_S = 0.8
# How many readings are taken. The largest counts, since whatever else runs can only lower a reading.
READINGS = 3
# The connections up to which a reading has its usual length. With more it is longer in proportion, because
# they take time to open.
CONNECTIONS_AT_ONCE = 1_000
# Seconds after which a connect or a request to the null server is given up.
TIMEOUT_S = 5.0
# The largest share of requests that may be lost in a reading: the null server loses none, so with more the
# reading fails. The share above which a trial is marked is another question (record/failures.py).
FAILED_MAX = 0.01
# The largest share of the time that the engine's busiest thread may wait for a core in a reading; if it waits
# longer, the reading is only a lower bound.
WAITED_SHARE_MAX = 0.05
# The smallest share of the time that the engine's busiest thread must be busy for the engine to be near its
# ceiling. At the ceiling the share is at least twice as large, even with one connection.
BUSY_SHARE_NEAR = 0.25
# The share of a remembered lower bound beyond which a load is near it, so that the bound is measured again.
SHARE_NEAR = 0.7
# The largest factor by which two readings on a calm machine differ.
BEYOND = 1.1
# Seconds for which a lower bound is not measured again: what disturbed the readings is likely to disturb new
# ones as well.
BOUND_HOLDS_S = 60.0
# The most connections of a reading: more cannot be opened within the warm-up.
CONNECTIONS_MAX = 8_192
# The bytes of the body with which the null server answers.
BODY_BYTES = 512
# The engine must reach its limit first: the null server gets two threads for each of the engine's, where
# there are cores for them.
SERVER_THREADS_PER_THREAD = 2
# The digits of a load host's name in the name of a file: among thousands of hosts no two are alike.
HOST_DIGITS = 16


class Ceiling(Frozen):
    """Answers per second that the engine reaches against the null server.

    `throughput_per_s` None: it could not be measured. `at_least`: it is a lower bound, because other programs
    ran during the measurement or a load exceeded it. In both cases `why` has the reason.
    """

    throughput_per_s: float | None
    at_least: bool = False
    why: str = ""


class _Memory(Frozen):
    """A stored ceiling, the circumstances it holds for, and when it was measured, in seconds since boot."""

    circumstances: str
    ceiling: Ceiling
    read_at_s: float


@dataclass(frozen=True)
class _Load:
    """The parts of a spec that the ceiling depends on."""

    threads: int
    connections: int
    connection: Literal["keep-alive", "per-request"]

    @classmethod
    def of(cls, spec: TrialSpec, hosts: int = 1) -> "_Load":
        """Return those of a load, or of its share on each of several load hosts."""
        # The exact number, not a rounded one: with a connection for each request, 8,192 connections reach a
        # third less than 5,000.
        connections = -(-capacity.connections_of(spec.shape) // hosts)
        return cls(spec.threads, min(connections, CONNECTIONS_MAX), spec.connection)


@dataclass(frozen=True)
class _Place:
    """A machine that loads come from, and a load that it has put on."""

    load: Engine
    like: _Load
    reached_per_s: float
    """The answers per second that came to it."""

    @property
    def host(self) -> OneLoadSource | None:
        """The load host; None: it is this machine."""
        return self.load.load_host.each[0] if self.load.load_host is not None else None


# What is read at a glance: the usual number of connections, by one thread.
GLANCE = _Load(threads=1, connections=50, connection="keep-alive")


def cache() -> Path:
    """The folder in which ceilings are stored."""
    return project.cache() / "ceilings"


def measured_after(
    load: Engine, record: TrialRecord, cache_dir: Path, telling: Callable[[], None] = lambda: None
) -> Ceiling | None:
    """The ceiling for a load that is over; None: the engine was far from it, or the target has none.

    Measured only if none is stored, or if the stored one is too low: this load exceeded it, or it is an old
    lower bound that this load came near. `telling` is called first, as measuring takes seconds.
    """
    if not record.outcomes.ok or record.measured_ns <= 0 or not _stands_in(record.spec):
        return None
    if _busy_share(record) < BUSY_SHARE_NEAR:
        return None
    places = _places(load, record)
    known = [_known(place, cache_dir) for place in places]
    if None in known:
        telling()
        # Imported here because most loads are far from the ceiling.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(places)) as each:
            known = [*each.map(lambda place: _read_anew(place, cache_dir), places)]
    return together([each for each in known if each is not None])


def together(ceilings: Sequence[Ceiling]) -> Ceiling:
    """Return what several machines reach together; not known if it is not known of one of them."""
    whys = "; ".join(dict.fromkeys(each.why for each in ceilings if each.why))
    reached = [each.throughput_per_s for each in ceilings if each.throughput_per_s is not None]
    if len(reached) < len(ceilings):
        return Ceiling(throughput_per_s=None, why=whys)
    return Ceiling(throughput_per_s=sum(reached), at_least=any(each.at_least for each in ceilings), why=whys)


def _places(load: Engine, record: TrialRecord) -> list[_Place]:
    """Return the machines from which a load came, with what came to each."""
    ok = [host.outcomes.ok for host in record.load_hosts] or [record.outcomes.ok]
    like = _Load.of(record.spec, len(ok))
    hosts: Sequence[OneLoadSource | None] = load.load_host.each if load.load_host is not None else [None]
    return [
        _Place(replace(load, load_host=host), like, its / record.measured_ns * 1e9)
        for host, its in zip(hosts, ok, strict=False)
    ]


def _known(place: _Place, cache_dir: Path) -> Ceiling | None:
    """Return what is stored of a ceiling; None: nothing, or it is too low."""
    memory = _remembered(_file(cache_dir, place), place)
    return None if memory is None or _is_too_low(memory, place.reached_per_s) else memory.ceiling


class Ceilings:
    """Returns the engine's ceiling, which it measures only if a load came near it."""

    def __init__(self, load: Engine) -> None:
        self._load = load
        self._reached: Ceiling | None = None

    def __call__(self, record: TrialRecord) -> Ceiling | None:
        """The ceiling for a load that is over; None: the engine was far from it, or the target has none."""
        if self._reached is None:
            self._reached = measured_after(self._load, record, cache())
        return self._reached


def _is_too_low(memory: _Memory, reached_per_s: float) -> bool:
    remembered_per_s = memory.ceiling.throughput_per_s or 0.0
    if memory.ceiling.at_least:
        # New readings so soon after the last would be no better.
        return reached_per_s > SHARE_NEAR * remembered_per_s and _is_old(memory)
    return reached_per_s > BEYOND * remembered_per_s


def _is_old(memory: _Memory) -> bool:
    return time.monotonic() - memory.read_at_s > BOUND_HOLDS_S


def _stands_in(spec: TrialSpec) -> bool:
    """Whether the null server can stand in for the target."""
    return spec.target.tls is None and not spec.target.address.startswith("unix:")


def _busy_share(record: TrialRecord) -> float:
    """The share of the measured time that the busiest thread ran or waited for a core; 1: unknown."""
    busy = ((each.cpu_ns + (each.run_queue_ns or 0)) / each.span_ns for each in _windows(record))
    return max(busy, default=1.0)


def _windows(record: TrialRecord) -> list[ThreadWindow]:
    """What was read of each thread at both ends of the measured phase."""
    return [thread.window for thread in record.probes.threads if thread.window and thread.window.span_ns]


def _read_anew(place: _Place, cache_dir: Path) -> Ceiling:
    """Measure the ceiling and store it; it is at least what a load reached and an earlier lower bound."""
    file = _file(cache_dir, place)
    try:
        measured = _measured(place)
    except EngineFailed as error:
        return Ceiling(throughput_per_s=None, why=str(error))
    assert measured.throughput_per_s is not None
    memory = _remembered(file, place)
    bound_per_s = (memory.ceiling.throughput_per_s or 0.0) if memory and memory.ceiling.at_least else 0.0
    most_per_s = max(place.reached_per_s, bound_per_s)
    if most_per_s > BEYOND * measured.throughput_per_s:
        why = measured.why or "a load went beyond what was measured then"
        measured = Ceiling(throughput_per_s=most_per_s, at_least=True, why=why)
    _remember(file, place, measured)
    return measured


def at_a_glance(load: Engine) -> Ceiling:
    """The ceiling of one thread by a single reading, which is not stored."""
    try:
        return _measured(_Place(load, GLANCE, 0.0), readings=1)
    except EngineFailed as error:
        return Ceiling(throughput_per_s=None, why=str(error))


def _measured(place: _Place, readings: int = READINGS) -> Ceiling:
    """The largest of the readings: whatever else runs can only lower a reading."""
    like, host = place.like, place.host
    if host is None:
        cores = capacity.cores_for("separate", like.threads)
    else:
        cores = capacity.divide("separate", like.threads, host.physical_cores)
    found: list[Ceiling] = []
    fault: EngineFailed | None = None
    with _null_server(place, cores.server) as address:
        for _ in range(readings):
            try:
                found.append(_reading(place, _spec(like, address, cores.engine)))
            except EngineFailed as error:
                fault = error
    if not found:
        assert fault is not None
        raise fault
    return largest(found)


def largest(readings: Sequence[Ceiling]) -> Ceiling:
    """The largest reading; a lower bound unless a reading on the calm machine came near it.

    Every reading must have a throughput.
    """
    most = max(readings, key=_per_s)
    calm = [each for each in readings if not each.at_least and BEYOND * _per_s(each) >= _per_s(most)]
    return most.model_copy(update={"at_least": False, "why": ""}) if calm else most


def _per_s(reading: Ceiling) -> float:
    return reading.throughput_per_s or 0.0


def _reading(place: _Place, spec: TrialSpec) -> Ceiling:
    watch = alone.CpuWatch()
    record = engine.run(place.load, spec, lambda _: None)
    shares = watch.shares() if place.host is None else _shares_there(place.host, record)
    lost = record.outcomes.failed + record.outcomes.not_sent
    if not record.outcomes.ok:
        raise EngineFailed(f"none of {record.scheduled:,} requests to the null server was answered in time")
    if lost > FAILED_MAX * record.scheduled:
        raise EngineFailed(f"{lost:,} of {record.scheduled:,} requests to the null server failed")
    why = _disturbed(record, shares)
    return Ceiling(
        throughput_per_s=record.outcomes.ok / record.measured_ns * 1e9, at_least=bool(why), why=why
    )


def _shares_there(host: OneLoadSource, record: TrialRecord) -> alone.Shares:
    others, steal = host.cpu_shares(record) or (None, None)
    return alone.Shares(others, steal)


def _disturbed(record: TrialRecord, shares: alone.Shares) -> str:
    """Why the engine may reach more than in this reading; empty: nothing disturbed it."""
    waited = max(((each.run_queue_ns or 0) / each.span_ns for each in _windows(record)), default=0.0)
    if waited > WAITED_SHARE_MAX:
        return f"its thread waited for a core {waited:.0%} of the time"
    if shares.others is not None and shares.others > capacity.OTHERS_TOO_BUSY:
        return f"other programs used {shares.others:.0%} of the CPU during the measurement"
    if shares.steal is not None and shares.steal > capacity.STEAL_TOO_MUCH:
        return f"the hypervisor took {shares.steal:.0%} of the CPU time during the measurement"
    return ""


def _spec(like: _Load, address: str, cores: tuple[int, ...]) -> TrialSpec:
    expect = contract.ExpectSpec(status=200, body_bytes=BODY_BYTES, body_sha256=None, hash_one_in=0)
    # Thousands of connections take time to open, and more if each serves only one request.
    longer = max(1.0, like.connections / CONNECTIONS_AT_ONCE)
    return TrialSpec(
        label="ceiling",
        target=contract.Target(address=address, host=address),
        requests=(contract.RequestSpec(method="GET", path="/", expect=expect),),
        shape=contract.ClosedShapeSpec(connections=like.connections),
        connection=like.connection,
        warm_up=contract.WarmUpSpec(
            connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=WARM_UP_S * longer)
        ),
        stop=contract.DurationStopSpec(duration_s=MEASURED_S * longer),
        timeouts=contract.TimeoutSpec(connect_s=TIMEOUT_S, request_s=TIMEOUT_S),
        threads=like.threads,
        cores=cores,
        probe=contract.ProbeSpec(interval_ms=100, server_pid=None),
        seed=1,
    )


def _null_server(place: _Place, cores: tuple[int, ...]) -> AbstractContextManager[str]:
    """Run the null server on `cores`, where loads come from; its address. Raises EngineFailed."""
    threads = min(len(cores), SERVER_THREADS_PER_THREAD * place.like.threads)
    on_cores = f"--cores {','.join(map(str, cores))} --threads {threads}"
    arguments = f"{on_cores} --body-bytes {BODY_BYTES}"
    if place.host is None:
        return null_server.running(place.load.path, arguments)
    return place.host.null_server(arguments)


def _file(cache_dir: Path, place: _Place) -> Path:
    like = place.like
    name = f"{like.threads}t-{like.connections}c-{like.connection}.json"
    if place.host is None:
        return cache_dir / name
    # A name of a load host may hold any character.
    return cache_dir / f"{hashlib.sha256(place.host.name.encode()).hexdigest()[:HOST_DIGITS]}-{name}"


def _circumstances(place: _Place) -> str:
    """The engine's build, the boot of its machine, and the usable cores.

    Raises OSError, UnreadError, EngineFailed.
    """
    # Of this machine's boot, since the time that is stored with it counts from there.
    boot_id = facts.boot_id()
    host, load = place.host, place.load
    where = ",".join(map(str, facts.usable_cores())) if host is None else host.circumstances
    return f"{load.version} {load.path.stat().st_mtime_ns} {boot_id} {where}"


def _remembered(file: Path, place: _Place) -> _Memory | None:
    with contextlib.suppress(OSError, facts.UnreadError, EngineFailed, ValidationError):
        memory = _Memory.model_validate_json(file.read_text(encoding="utf-8"))
        if memory.circumstances == _circumstances(place):
            return memory
    return None


def _remember(file: Path, place: _Place, measured: Ceiling) -> None:
    # A ceiling that cannot be stored is measured again each time, which takes only seconds.
    with contextlib.suppress(OSError, facts.UnreadError, EngineFailed):
        memory = _Memory(
            circumstances=_circumstances(place), ceiling=measured, read_at_s=round(time.monotonic(), 3)
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        beside.write_text(memory.model_dump_json(), encoding="utf-8")
        beside.replace(file)


# Seconds after which the measurement of the costs is given up. It takes about two, so one that takes longer
# hangs.
COSTS_S = 60.0
# What system calls, switches, threads and processes cost on this machine; the engine's names.
COSTS = ("system_call", "non_blocking_read", "thread_switch", "process_switch", "thread", "process")


class Cost(Frozen):
    """One cost: median, 10th and 90th percentile over `rounds`, each of `repeats` repetitions."""

    name: str
    meaning: str
    ns: Annotated[float, Field(ge=0)]
    low_ns: float
    high_ns: float
    rounds: int
    repeats: int


def costs(load: Engine, core: int | None) -> tuple[Cost, ...]:
    """All costs on `core`, measured in about 2 s; None: the scheduler chooses. Raises EngineFailed."""
    pinned = [] if core is None else ["--core", str(core)]
    try:
        asked = subprocess.run(
            [load.path, "costs", *pinned], capture_output=True, text=True, timeout=COSTS_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineFailed(f"{load.path} costs did not end: {error}") from None
    if asked.returncode != 0:
        raise _costs_failed(asked.stderr)
    try:
        return TypeAdapter(tuple[Cost, ...]).validate_json(asked.stdout)
    except ValidationError as error:
        message = f"the engine's costs are not what the lab expects ({parsing.first_fault(error)})"
        raise EngineFailed(message, "build engine and lab from the same sources") from None


def cost_readings(load: Engine, core: int | None, times: int) -> dict[str, tuple[float, ...]]:
    """Cost → its median in ns in each of `times` measurements, each a new process. Raises EngineFailed."""
    measured = [costs(load, core) for _ in range(times)]
    return {cost.name: tuple(each[at].ns for each in measured) for at, cost in enumerate(measured[0])}


def _costs_failed(stderr: str) -> EngineFailed:
    last = stderr.strip().rpartition("\n")[2]
    if said := complaint(last):
        return EngineFailed(*said)
    return EngineFailed(f"the engine's costs failed: {last}")
