"""The engine's ceiling: what it reaches here against its own null server, which does nothing but answer.

It measures three times for a second, keeps the largest and remembers. A reading that others disturbed,
or that a load went beyond, is a lower bound. How near a trial came to it is judged in `record.validity`.
"""

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import ValidationError

from crumple import contract, engine
from crumple.contract import Frozen, TrialRecord, TrialSpec
from crumple.engine import Engine
from crumple.errors import EngineFailed
from crumple.machine import alone, capacity, facts

WARM_UP_S = 0.2
MEASURED_S = 0.8
READINGS = 3
CONNECTIONS_AT_ONCE = 1_000
TIMEOUT_S = 5.0
LAUNCH_S = 10.0
STOP_S = 3.0
FAILED_MAX = 0.01
WAITED_SHARE_MAX = 0.05
# At its ceiling a thread is busy for twice as long and more, even with one connection.
BUSY_SHARE_NEAR = 0.25
SHARE_NEAR = 0.7
# Two readings on a calm machine differ by less.
BEYOND = 1.1
BOUND_HOLDS_S = 60.0
# More take longer to open than the warm-up is long.
CONNECTIONS_MAX = 8_192
BODY_BYTES = 512
# The engine is to give first: the null server has a thread more for each of its, where there are cores.
SERVER_THREADS_PER_THREAD = 2


class Ceiling(Frozen):
    """Answers per second that the engine reaches against the null server.

    `throughput_per_s` None: that could not be measured, and then `why`. `at_least`: it may reach more, for
    `why`: other programs ran meanwhile, or a load went beyond it.
    """

    throughput_per_s: float | None
    at_least: bool = False
    why: str = ""


class _Memory(Frozen):
    """A ceiling on disk, the circumstances it holds for, and when it was read, in seconds since the boot."""

    circumstances: str
    ceiling: Ceiling
    read_at_s: float


@dataclass(frozen=True)
class _Load:
    """What of a spec the ceiling depends on."""

    threads: int
    connections: int
    connection: Literal["keep-alive", "per-request"]

    @classmethod
    def of(cls, spec: TrialSpec) -> "_Load":
        shape = spec.shape
        most = shape.to_connections if isinstance(shape, contract.RampShape) else shape.connections
        # Not about as many: where each serves one request, 8,192 reach a third less than 5,000.
        return cls(spec.threads, min(most, CONNECTIONS_MAX), spec.connection)


def cache() -> Path:
    """Where ceilings are remembered."""
    return platformdirs.user_cache_path("crumple") / "ceilings"


def known(load: Engine, spec: TrialSpec, cache_dir: Path) -> Ceiling | None:
    """What is remembered of loads such as `spec` since this machine was started; it never measures."""
    memory = _remembered(_file(cache_dir, _Load.of(spec)), load) if _stands_in(spec) else None
    return memory.ceiling if memory else None


def ceiling(load: Engine, spec: TrialSpec, cache_dir: Path) -> Ceiling | None:
    """The ceiling for loads such as `spec`, measured now or before, since this machine was started.

    None where the null server cannot stand in for the target: it speaks neither TLS nor over unix sockets.
    """
    if not _stands_in(spec):
        return None
    memory = _remembered(_file(cache_dir, _Load.of(spec)), load)
    if memory is not None and not (memory.ceiling.at_least and _is_old(memory)):
        return memory.ceiling
    return _read_anew(load, spec, cache_dir, memory, reached_per_s=0.0)


def measured_after(
    load: Engine, record: TrialRecord, cache_dir: Path, telling: Callable[[], None] = lambda: None
) -> Ceiling | None:
    """The ceiling for a load that is over; None where the engine was nowhere near it, or there is none.

    Measured only where none is remembered, or where what is remembered is too low to be true: a load went
    beyond it, or it is a lower bound and old. `telling` is called before that, for it takes seconds.
    """
    reached_per_s = record.outcomes.ok / record.measured_ns * 1e9 if record.measured_ns > 0 else 0.0
    if not reached_per_s or not _stands_in(record.spec) or _busy_share(record) < BUSY_SHARE_NEAR:
        return None
    memory = _remembered(_file(cache_dir, _Load.of(record.spec)), load)
    if memory is not None and not _is_too_low(memory, reached_per_s):
        return memory.ceiling
    telling()
    return _read_anew(load, record.spec, cache_dir, memory, reached_per_s)


def _is_too_low(memory: _Memory, reached_per_s: float) -> bool:
    remembered_per_s = memory.ceiling.throughput_per_s or 0.0
    if memory.ceiling.at_least:
        # Others so soon would be no better.
        return reached_per_s > SHARE_NEAR * remembered_per_s and _is_old(memory)
    return reached_per_s > BEYOND * remembered_per_s


def _is_old(memory: _Memory) -> bool:
    return time.monotonic() - memory.read_at_s > BOUND_HOLDS_S


def _stands_in(spec: TrialSpec) -> bool:
    """Whether the null server can stand in for the target."""
    return spec.target.tls is None and not spec.target.address.startswith("unix:")


def _busy_share(record: TrialRecord) -> float:
    """How long the engine's busiest thread ran, or waited for a core, of the time measured; 1: not known."""
    windows = [thread.window for thread in record.probes.threads if thread.window]
    busy_ns = (window.cpu_ns + (window.run_queue_ns or 0) for window in windows)
    return max(busy_ns, default=record.measured_ns) / record.measured_ns


def _read_anew(
    load: Engine, spec: TrialSpec, cache_dir: Path, memory: _Memory | None, reached_per_s: float
) -> Ceiling:
    """Measured now, and remembered. What a load reached, and an earlier lower bound, it cannot be below."""
    like = _Load.of(spec)
    try:
        measured = _measured(load, like)
    except EngineFailed as error:
        return Ceiling(throughput_per_s=None, why=str(error))
    assert measured.throughput_per_s is not None
    bound_per_s = (memory.ceiling.throughput_per_s or 0.0) if memory and memory.ceiling.at_least else 0.0
    most_per_s = max(reached_per_s, bound_per_s)
    if most_per_s > BEYOND * measured.throughput_per_s:
        why = measured.why or "a load went beyond what was measured then"
        measured = Ceiling(throughput_per_s=most_per_s, at_least=True, why=why)
    _remember(_file(cache_dir, like), load, measured)
    return measured


def _measured(load: Engine, like: _Load) -> Ceiling:
    """The largest of some readings: whatever goes on besides only ever makes one smaller."""
    cores = capacity.cores_for("separate", like.threads)
    found: list[Ceiling] = []
    fault: EngineFailed | None = None
    with _null_server(load, like, cores.server) as address:
        for _ in range(READINGS):
            try:
                found.append(_reading(load, _spec(like, address, cores.engine)))
            except EngineFailed as error:
                fault = error
    if not found:
        assert fault is not None
        raise fault
    return largest(found)


def largest(readings: Sequence[Ceiling]) -> Ceiling:
    """Of those that say how much; a lower bound where nothing near it was read on a calm machine."""
    most = max(readings, key=_per_s)
    calm = [each for each in readings if not each.at_least and BEYOND * _per_s(each) >= _per_s(most)]
    return most.model_copy(update={"at_least": False, "why": ""}) if calm else most


def _per_s(reading: Ceiling) -> float:
    return reading.throughput_per_s or 0.0


def _reading(load: Engine, spec: TrialSpec) -> Ceiling:
    meanwhile = alone.Meanwhile()
    record = engine.run(load, spec, lambda _: None)
    shares = meanwhile.shares()
    lost = record.outcomes.failed + record.outcomes.not_sent
    if not record.outcomes.ok:
        raise EngineFailed(f"none of {record.scheduled:,} requests to the null server was answered in time")
    if lost > FAILED_MAX * record.scheduled:
        raise EngineFailed(f"{lost:,} of {record.scheduled:,} requests to the null server failed")
    why = _disturbed(record, shares)
    return Ceiling(
        throughput_per_s=record.outcomes.ok / record.measured_ns * 1e9, at_least=bool(why), why=why
    )


def _disturbed(record: TrialRecord, shares: alone.Shares) -> str:
    """Why the engine may reach more than it did here; empty: nothing was in its way."""
    windows = [thread.window for thread in record.probes.threads if thread.window]
    waited = max((each.run_queue_ns or 0 for each in windows), default=0) / record.measured_ns
    if waited > WAITED_SHARE_MAX:
        return f"its thread waited for a core {waited:.0%} of the time"
    if shares.others is not None and shares.others > capacity.OTHERS_TOO_BUSY:
        return f"other programs used {shares.others:.0%} of the CPU meanwhile"
    if shares.steal is not None and shares.steal > capacity.STEAL_TOO_MUCH:
        return f"the hypervisor took {shares.steal:.0%} of the CPU time meanwhile"
    return ""


def _spec(like: _Load, address: str, cores: tuple[int, ...]) -> TrialSpec:
    expect = contract.Expect(status=200, body_bytes=BODY_BYTES, body_sha256=None, hash_one_in=0)
    # Thousands of connections take their time to be there, and more where each serves one request.
    longer = max(1.0, like.connections / CONNECTIONS_AT_ONCE)
    return TrialSpec(
        label="ceiling",
        target=contract.Target(address=address, host=address),
        requests=(contract.Request(method="GET", path="/", expect=expect),),
        shape=contract.ClosedShape(connections=like.connections),
        connection=like.connection,
        warm_up=contract.WarmUp(
            connections=None, pauses=True, stop=contract.AfterDuration(duration_s=WARM_UP_S * longer)
        ),
        stop=contract.AfterDuration(duration_s=MEASURED_S * longer),
        timeouts=contract.Timeouts(connect_s=TIMEOUT_S, request_s=TIMEOUT_S),
        threads=like.threads,
        cores=cores,
        probe=contract.Probe(interval_ms=100, server_pid=None),
        seed=1,
    )


@contextmanager
def _null_server(load: Engine, like: _Load, cores: tuple[int, ...]) -> Iterator[str]:
    """The null server on `cores`; yields its address. Raises EngineFailed. It ends with the lab."""
    threads = min(len(cores), SERVER_THREADS_PER_THREAD * like.threads)
    command = [
        *(load.path, "null-server", "--cores", ",".join(map(str, cores))),
        *("--threads", str(threads), "--body-bytes", str(BODY_BYTES)),
    ]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,  # ctrl-C is for the lab, which then ends it in good order
    )
    try:
        yield f"127.0.0.1:{_port(process)}"
    finally:
        _end(process)


def _port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout
    said = b""
    if select.select([process.stdout], [], [], LAUNCH_S)[0]:
        said = process.stdout.readline()
    try:
        port: int = json.loads(said)["port"]
    except (ValueError, KeyError, TypeError):
        raise EngineFailed("the null server does not start", "build the engine again") from None
    return port


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin and process.stdout
    process.stdin.close()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _file(cache_dir: Path, like: _Load) -> Path:
    return cache_dir / f"{like.threads}t-{like.connections}c-{like.connection}.json"


def _circumstances(load: Engine) -> str:
    """The engine's build, this boot of the machine, and the cores there are. Raises OSError, UnreadError."""
    boot_id = facts.text(facts.SYSCTLS / "kernel/random/boot_id")
    cores = ",".join(map(str, facts.usable_cores()))
    return f"{load.version} {load.path.stat().st_mtime_ns} {boot_id} {cores}"


def _remembered(file: Path, load: Engine) -> _Memory | None:
    with contextlib.suppress(OSError, facts.UnreadError, ValidationError):
        memory = _Memory.model_validate_json(file.read_text(encoding="utf-8"))
        if memory.circumstances == _circumstances(load):
            return memory
    return None


def _remember(file: Path, load: Engine, measured: Ceiling) -> None:
    # What cannot be remembered is measured again each time, which costs a second and no more.
    with contextlib.suppress(OSError, facts.UnreadError):
        memory = _Memory(
            circumstances=_circumstances(load), ceiling=measured, read_at_s=round(time.monotonic(), 3)
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        beside.write_text(memory.model_dump_json(), encoding="utf-8")
        beside.replace(file)
