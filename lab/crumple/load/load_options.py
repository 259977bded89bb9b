"""What a load needs beside its shape, by its flags: timeouts, threads, cores, the process to watch."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from crumple.errors import Mistakes, UsageError
from crumple.load import typed_values
from crumple.load.load_flags import EngineFlags
from crumple.load.target import Resolved
from crumple.machine import load_machine, process_tree
from crumple.machine.load_machine import LoadMachine

# Seconds after which an attempt to connect is given up, unless a flag says otherwise.
CONNECT_S = 5.0
# Seconds after which a request is given up, unless a flag says otherwise.
REQUEST_S = 20.0
# The kernel gives no process a higher number (proc_sys_kernel(5), pid_max).
PID_MAX = 1 << 22
# A seed has as many bits: every reader of JSON then holds it exactly, also if its numbers are floats.
SEED_BITS = 48
# A pid or a port. Python converts no text of thousands of digits, and 30 are more than either has.
_NUMBER = re.compile(r"\d{1,30}")
# What a probe may read at random times: fields of the contract's Probe, and of Options.
READINGS = ("stages", "tasks", "dependencies")


def random_seed() -> int:
    """Return a seed from the system's randomness."""
    return random.SystemRandom().getrandbits(SEED_BITS)


@dataclass(frozen=True)
class Options:
    """What a load needs beside its shape."""

    connection: Literal["keep-alive", "per-request"] = "keep-alive"
    connect_s: float = CONNECT_S
    """When an attempt to connect is given up."""
    request_s: float = REQUEST_S
    """When a request is given up, since it was due."""
    threads: int | None = None
    """The engine's threads; None: as many as suit the shape."""
    cores: tuple[int, ...] = ()
    """To which threads are bound; empty: they are not bound."""
    kernel_timestamps: bool = True
    pacing: Literal["sleep", "spin"] = "sleep"
    server_pid: int | None = None
    """The root of the watched process tree."""
    server_address: str | None = None
    """Where the server listens in its own network namespace; None: where the load goes to."""
    stages: bool = False
    """Whether to read at which stage requests in flight are."""
    tasks: bool = False
    """Whether to read what the server's threads do."""
    dependencies: bool = False
    """Whether to read which of the server's own connections wait for an answer."""
    speed_of_cores: tuple[int, ...] = ()
    """The cores whose speed is read."""
    seed: int = field(default_factory=random_seed)
    machine: LoadMachine = field(default_factory=load_machine.this)
    """Where the load comes from."""


def options_of(flags: EngineFlags, machine: LoadMachine) -> Options:
    """Return what the load needs beside its shape. Raises UsageError."""
    mistakes = Mistakes()
    mistakes.of(lambda: typed_values.bounded("--threads", flags.threads, most=typed_values.THREADS_MAX))
    mistakes.of(lambda: typed_values.bounded("--seed", flags.seed, least=0))
    if flags.seed is not None and flags.seed >= 1 << 63:
        mistakes.add(f"--seed {flags.seed}: that is too large", f"write one below {1 << SEED_BITS}")
    request_s = _timeout_s("--timeout", flags.timeout, REQUEST_S, mistakes)
    # A user who waits one second for the whole request does not wait five for the connection.
    connect_s = _timeout_s("--connect-timeout", flags.connect_timeout, min(CONNECT_S, request_s), mistakes)
    cores = mistakes.of(lambda: _cores(flags.cores, machine.cores)) or ()
    if flags.watch is not None and flags.no_watch:
        mistakes.add("--watch names a process, and --no-watch watches none", "leave one of them out")
    server_pid = None if flags.watch is None else mistakes.of(lambda: watched_pid(str(flags.watch)))
    mistakes.none()
    options = Options(
        connection="per-request" if flags.disable_keepalive else "keep-alive",
        connect_s=connect_s,
        request_s=request_s,
        threads=flags.threads,
        cores=cores,
        kernel_timestamps=not flags.no_kernel_timestamps,
        pacing="spin" if flags.spin else "sleep",
        server_pid=server_pid,
        machine=machine,
    )
    return options if flags.seed is None else replace(options, seed=flags.seed)


def _timeout_s(flag: str, text: str | None, otherwise_s: float, mistakes: Mistakes) -> float:
    if text is None:
        return otherwise_s
    if text.strip() in ("0", "0s"):
        mistakes.add(f"{flag} {text}: without a limit a load may never end", "write 24h, the longest")
        return otherwise_s
    return mistakes.of(lambda: typed_values.read_duration_s(flag, text)) or otherwise_s


def _cores(text: str | None, usable: Sequence[int]) -> tuple[int, ...]:
    if text is None:
        return ()
    cores = typed_values.read_cores("--cores", text)
    missing = [core for core in cores if core not in usable]
    if missing:
        listed = ", ".join(str(core) for core in usable)
        raise UsageError(f"--cores {text}: there is no core {missing[0]} to use", f"choose among {listed}")
    return cores


def watched_pid(text: str) -> int:
    """The process meant by a pid, or by a colon and the port it listens on. Raises UsageError."""
    is_port, number = text.startswith(":"), text.removeprefix(":")
    if not _NUMBER.fullmatch(number) or int(number) == 0:
        raise UsageError(f"--watch {text}: that is no process", "write its pid, or :8080 for its port")
    if is_port:
        return process_tree.owner(int(number))
    if int(number) <= PID_MAX and process_tree.is_hidden(int(number)):
        raise UsageError(
            f"--watch {text}: process {number} belongs to another user, and is hidden from this one",
            "run as that user",
        )
    if not Path(f"/proc/{number}").is_dir():
        raise UsageError(
            f"--watch {text}: there is no such process", "look it up with ps, or write its port: :8080"
        )
    return int(number)


def reading(options: Options, resolved: Resolved) -> Options:
    """Return the options with all that can be read of a server on this machine.

    If its process was named, the engine says why it does not see the stages, where it does not.
    """
    stages = shows_stages(resolved) or options.server_pid is not None
    return replace(options, stages=stages, tasks=True, dependencies=True)


def shows_stages(resolved: Resolved) -> bool:
    """Whether this machine may show at which stage requests are: it has the other ends of the connections."""
    return resolved.is_local and not resolved.target.address.startswith("unix:")
