"""One timed load with the engine or with a peer, and its cost: answers, and CPU of the whole process.

targets.py starts the servers that are loaded. The scripts judge the results.
"""

import json
import os
import random
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple import contract, engine
from crumple.errors import CrumpleError
from peers import Peer

ROOT = Path(__file__).resolve().parent.parent


class LoadError(CrumpleError):
    """A load that failed. The text is what the load generator wrote."""


class NotBuiltError(CrumpleError):
    """A program that has to be built first."""


@dataclass(frozen=True)
class Cost:
    """The result of one load. CPU is user + kernel time of the load generator's process, in seconds."""

    answered: int
    seconds: float
    cpu_s: float

    def __post_init__(self) -> None:
        if not self.answered:
            raise LoadError("not one request was answered")

    @property
    def cpu_per_request_us(self) -> float:
        return self.cpu_s / self.answered * 1e6

    @property
    def throughput_per_s(self) -> float:
        return self.answered / self.seconds


def closed(connections: int) -> contract.ClosedShapeSpec:
    """A closed shape without pauses: the next request follows the answer."""
    return contract.ClosedShapeSpec(connections=connections)


def poisson(rate_per_s: float, connections: int, seconds: float) -> contract.OpenShapeSpec:
    """An open shape with a constant rate and arrivals that are independent of one another."""
    rate = contract.RateSpec(from_per_s=rate_per_s, to_per_s=rate_per_s, duration_s=seconds)
    return contract.OpenShapeSpec(connections=connections, arrivals="poisson", rates=(rate,))


def spec(
    address: str,
    shape: contract.ShapeSpec,
    seconds: float,
    core: int,
    *,
    path: str = "/",
    warm_up_s: float = 0.0,
    kernel_timestamps: bool = True,
    pacing: contract.Pacing = "sleep",
    server_pid: int | None = None,
    sources: tuple[str, ...] = (),
    seed: int = 1,
) -> contract.TrialSpec:
    """A trial with one thread on `core`, which records everything that a trial records."""
    warm_up = contract.WarmUpSpec(
        connections=None, pauses=True, stop=contract.DurationStopSpec(duration_s=warm_up_s)
    )
    return contract.TrialSpec(
        label="bench",
        target=contract.Target(address=address, host=address, sources=sources),
        requests=(
            contract.RequestSpec(
                method="GET",
                path=path,
                expect=contract.ExpectSpec(status=200, body_bytes=None, body_sha256=None, hash_one_in=0),
            ),
        ),
        shape=shape,
        connection="keep-alive",
        kernel_timestamps=kernel_timestamps,
        pacing=pacing,
        warm_up=warm_up if warm_up_s else None,
        stop=contract.DurationStopSpec(duration_s=seconds),
        timeouts=contract.TimeoutSpec(connect_s=5.0, request_s=20.0),
        threads=1,
        cores=(core,),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=server_pid),
        seed=seed,
    )


class Running:
    """A command that runs on a core of its own. Its output is read only when it has ended."""

    def __init__(self, command: list[str], core: int, given: bytes = b"") -> None:
        """Starts the command and passes `given` to its standard input."""
        self.command = command
        self.scratch = tempfile.TemporaryDirectory()
        self.output, self.errors = (Path(self.scratch.name) / name for name in ("output", "errors"))
        with self.output.open("wb") as output, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                preexec_fn=lambda: os.sched_setaffinity(0, {core}),
            )
        assert self.process.stdin
        self.process.stdin.write(given)
        self.process.stdin.close()

    def finish(self) -> tuple[str, float]:
        """Waits for the end. Returns output and CPU in seconds. Raises LoadError if the command failed."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        with self.scratch:
            if self.process.returncode != 0:
                tail = self.errors.read_text(errors="replace")[-300:].strip()
                raise LoadError(f"{self.command[0]} ended with {self.process.returncode}: {tail}")
            return self.output.read_text(), usage.ru_utime + usage.ru_stime


def with_peer(peer: Peer, url: str, connections: int, seconds: float, core: int) -> Cost:
    """Runs the peer on `core`. Raises LoadError with its last output if it fails."""
    output, cpu_s = Running(peer.command(url, connections, seconds), core).finish()
    answered = peer.answered(output)
    return Cost(answered, answered / peer.per_s(output), cpu_s)


def with_engine(spec: contract.TrialSpec) -> Cost:
    """Runs the engine on the spec's core. Raises LoadError if more than 1 % of the requests failed."""
    return measured(spec)[1]


def measured(spec: contract.TrialSpec) -> tuple[contract.TrialRecord, Cost]:
    """Like `with_engine`, and also returns the record. The CPU includes that of the warm-up."""
    output, cpu_s = begun(spec).finish()
    record = contract.TrialRecord.model_validate_json(output)
    if record.outcomes.failed > 0.01 * record.scheduled:
        raise LoadError(f"failures under load: {record.outcomes.as_dict()}")
    return record, Cost(record.outcomes.ok, record.measured_ns / 1e9, cpu_s)


def begun(spec: contract.TrialSpec) -> Running:
    """Starts the engine on the spec's core."""
    command = [str(engine.find(ROOT)), "run", "-"]
    return Running(command, spec.cores[0], spec.model_dump_json().encode())


def parts(record: contract.TrialRecord, cost: Cost) -> dict[str, float]:
    """What the engine's CPU was spent on, in µs per request: the loop itself; collector and probes beside it;
    start, end and the writing of the record."""
    process = record.probes.engine.window
    threads = [thread.window.cpu_ns if thread.window else None for thread in record.probes.threads]
    if process is None or None in threads:
        raise LoadError("the engine could not read its own CPU time")
    loop_s = sum(ns for ns in threads if ns is not None) / 1e9
    process_s = (process.cpu_user_ns + process.cpu_kernel_ns) / 1e9
    seconds = {
        "loop": loop_s,
        "collector and probes": max(process_s - loop_s, 0.0),
        "start and end": max(cost.cpu_s - max(process_s, loop_s), 0.0),
    }
    return {name: spent_s / cost.answered * 1e6 for name, spent_s in seconds.items()}


def bare_loop(
    program: Path, address: str, connections: int, seconds: float, core: int, variant: str = "stamped"
) -> tuple[Cost, float]:
    """The least cost: sending, receiving and, for `stamped`, timing each answer. Also returns the CPU of the
    loop itself, in µs per request."""
    command = [
        *(str(program), address, str(connections), str(seconds), variant),
        *("--slice-ms", str(round(seconds * 1000))),
    ]
    output, cpu_s = Running(command, core).finish()
    (said,) = map(json.loads, output.splitlines())
    cost = Cost(said["answered"], said["ns"] / 1e9, cpu_s)
    return cost, said["cpu_ns"] / 1e3 / cost.answered


def example(name: str, *, debug_will_do: bool = False) -> Path:
    """The executable of a Rust program in this folder. Raises NotBuiltError, which has the remedy.

    `debug_will_do`: a program without optimisation serves as well, as nothing is judged.
    """
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "engine" / "target")
    for profile in ("release", "debug") if debug_will_do else ("release",):
        path = target / profile / "examples" / name
        if path.is_file():
            return path
    raise NotBuiltError(
        f"{name} is not built", "run: cargo build --release --examples --manifest-path engine/Cargo.toml"
    )


def middle(values: Sequence[float]) -> float:
    """The median. Of an even number of values, the upper one of the two in the middle."""
    return sorted(values)[len(values) // 2]


def interleaved(who: Iterable[str], rounds: int, seed: int | None = None) -> Iterator[str]:
    """Each of `who` once in every round. Each round has a random order of its own."""
    names, shuffled = sorted(who), random.Random(seed)
    for _ in range(rounds):
        yield from shuffled.sample(names, len(names))
