"""The engine's ceiling: what it reaches here against its own null server, which does nothing but answer.

It measures for a second and remembers; how near a trial came to it is judged in `record.validity`.
"""

import contextlib
import json
import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import ValidationError

from crumple import contract, engine
from crumple.contract import Frozen, TrialSpec
from crumple.engine import Engine
from crumple.errors import EngineFailed
from crumple.machine import facts, machine

WARM_UP_S = 0.2
MEASURED_S = 0.8
CONNECTIONS_AT_ONCE = 1_000
TIMEOUT_S = 5.0
LAUNCH_S = 10.0
STOP_S = 3.0
FAILED_MAX = 0.01
# More take longer to open than the warm-up is long.
CONNECTIONS_MAX = 8_192
BODY_BYTES = 512
# The engine is to give first: the null server has a thread more for each of its, where there are cores.
SERVER_THREADS_PER_THREAD = 2


class Ceiling(Frozen):
    """Answers per second that the engine reaches against the null server.

    `throughput_per_s` None: that could not be measured, and then `why`.
    """

    throughput_per_s: float | None
    why: str = ""


class _Memory(Frozen):
    """A ceiling on disk, and the circumstances it holds for."""

    circumstances: str
    ceiling: Ceiling


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


def ceiling(load: Engine, spec: TrialSpec, cache_dir: Path) -> Ceiling | None:
    """The ceiling for loads such as `spec`, measured now or before, since this machine was started.

    None where the null server cannot stand in for the target: it speaks neither TLS nor over unix sockets.
    """
    if spec.target.tls is not None or spec.target.address.startswith("unix:"):
        return None
    like = _Load.of(spec)
    file = _file(cache_dir, like)
    known = _remembered(file, load)
    if known is not None:
        return known
    try:
        measured = _measured(load, like)
    except EngineFailed as error:
        return Ceiling(throughput_per_s=None, why=str(error))
    _remember(file, load, measured)
    return measured


def _measured(load: Engine, like: _Load) -> Ceiling:
    cores = machine.cores_for("separate", like.threads)
    with _null_server(load, like, cores.server) as address:
        record = engine.run(load, _spec(like, address, cores.engine), lambda _: None)
    lost = record.outcomes.failed + record.outcomes.not_sent
    if not record.outcomes.ok:
        raise EngineFailed(f"none of {record.scheduled:,} requests to the null server was answered in time")
    if lost > FAILED_MAX * record.scheduled:
        raise EngineFailed(f"{lost:,} of {record.scheduled:,} requests to the null server failed")
    return Ceiling(throughput_per_s=record.outcomes.ok / record.measured_ns * 1e9)


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


def _remembered(file: Path, load: Engine) -> Ceiling | None:
    with contextlib.suppress(OSError, facts.UnreadError, ValidationError):
        memory = _Memory.model_validate_json(file.read_text(encoding="utf-8"))
        if memory.circumstances == _circumstances(load):
            return memory.ceiling
    return None


def _remember(file: Path, load: Engine, measured: Ceiling) -> None:
    # What cannot be remembered is measured again each time, which costs a second and no more.
    with contextlib.suppress(OSError, facts.UnreadError):
        memory = _Memory(circumstances=_circumstances(load), ceiling=measured)
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        beside.write_text(memory.model_dump_json(), encoding="utf-8")
        beside.replace(file)
