"""A command under the engine's guard: it, and all that it starts, ends with the lab, whatever ends the lab.

Launching, watching and ending only; what the command is for is its caller's to know.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from crumple import engine, project
from crumple.errors import ServerFailed

TAIL_LINES = 20
TAIL_BYTES = 16_384
LAUNCH_S = 10.0
GRACE_S = 3.0
GONE_S = 3.0
# In the environment of the command, so that what it started is known even after the guard was killed.
MARK = "CRUMPLE_SCRATCH"
# In a folder that is filled before the command starts: the guard removes no other that holds anything.
MADE_FOR_THIS = ".crumple-scratch"


@dataclass(frozen=True)
class Ended:
    """How a command ended; both None: the guard ended without telling."""

    exit: int | None
    signal: int | None

    def __str__(self) -> str:
        """As the end of a sentence: "ended with code 1"."""
        if self.signal is not None:
            return f"was killed by signal {self.signal} ({signal.Signals(self.signal).name})"
        return "ended with its guard" if self.exit is None else f"ended with code {self.exit}"


class Guarded:
    """A command that runs. `pid`: its own; `guard_pid`: of the guard, the ancestor of all that it starts."""

    def __init__(self, process: subprocess.Popen[bytes], output: IO[bytes], scratch: Path) -> None:
        self._process = process
        self._output = output
        self._pending = b""
        self._ended: Ended | None = None
        self.scratch = scratch
        self.guard_pid = process.pid
        self.pid = 0

    def ended(self, within_s: float = 0.0) -> Ended | None:
        """How the command ended, waiting up to `within_s` for that; None while it runs."""
        deadline = time.monotonic() + within_s
        while self._ended is None:
            line = self._line(max(0.0, deadline - time.monotonic()))
            if line is None:
                return None
            if "exit" in line:
                self._ended = Ended(line["exit"], line["signal"])
            elif not line:
                self._ended = Ended(None, None)
        return self._ended

    def output_tail(self) -> list[str]:
        """The last lines the command wrote, on both streams."""
        size = os.fstat(self._output.fileno()).st_size
        # pread: the command writes at the same file position, which must not move.
        tail = os.pread(self._output.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        return tail.decode("utf-8", "replace").splitlines()[-TAIL_LINES:]

    def end(self) -> None:
        """End the command and all that it started; return when they are gone. Raises ServerFailed("stop")."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(GRACE_S + GONE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        left = _end_marked(f"{MARK}={self.scratch}".encode())
        shutil.rmtree(self.scratch, ignore_errors=True)
        if left:
            pids = ", ".join(str(pid) for pid in left)
            message = f"could not be ended: its processes {pids} are still there"
            raise ServerFailed(
                "stop", message, self.output_tail(), "look at them with ps and end them by hand"
            )

    def launched(self, within_s: float) -> bool:
        """Wait for the guard to say that the command started, which sets `pid`."""
        line = self._line(within_s)
        self.pid = line.get("pid", 0) if line else 0
        return self.pid > 0

    def _line(self, within_s: float) -> dict[str, int | None] | None:
        """The guard's next line; {} when there will be none, None when there is none as yet."""
        assert self._process.stdout
        events = self._process.stdout.fileno()
        deadline = time.monotonic() + within_s
        while b"\n" not in self._pending:
            left_s = max(0.0, deadline - time.monotonic())
            if not select.select([events], [], [], left_s)[0]:
                return None
            read = os.read(events, 4096)
            if not read:
                return {}
            self._pending += read
        line, self._pending = self._pending.split(b"\n", 1)
        answer: dict[str, int | None] = json.loads(line)
        return answer


def launch(
    step: str,
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    cores: Sequence[int],
    scratch: Path,
) -> Guarded:
    """Start `command` in `cwd` on `cores` (all, if empty). The caller ends it. Raises ServerFailed(`step`).

    `scratch` is a folder made for the command and removed with it.
    """
    pinned = ["--cores", ",".join(str(core) for core in cores)] if cores else []
    executable = engine.find(project.root())
    arguments = [
        executable,
        "guard",
        "--scratch",
        scratch,
        "--cwd",
        cwd,
        "--grace",
        str(GRACE_S),
        *pinned,
        "--",
    ]
    # A file without a name: nothing of it is left, however the lab ends.
    output = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the command)
    process = subprocess.Popen(
        [*arguments, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=output,
        env={**env, MARK: str(scratch)},
        process_group=0,  # ctrl-C is for the lab, which then ends the command in good order
    )
    guarded = Guarded(process, output, scratch)
    try:
        if not guarded.launched(LAUNCH_S):
            raise _not_launched(step, command, guarded.output_tail())
    except BaseException:
        guarded.end()
        raise
    return guarded


def new_scratch() -> Path:
    """A folder of its own for one command, which goes with it whatever is put into it."""
    folder = Path(tempfile.mkdtemp(prefix="crumple-"))
    try:
        (folder / MADE_FOR_THIS).touch()
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _not_launched(step: str, command: Sequence[str], tail: list[str]) -> ServerFailed:
    if said := engine.complaint(tail[-1] if tail else ""):
        error, remedy = said
        return ServerFailed(step, error, tail[:-1], remedy)
    return ServerFailed(step, f"the guard could not start {command[0]}", tail)


def _end_marked(mark: bytes) -> list[int]:
    """Kill what still carries the mark; which of them are there nevertheless, after GONE_S."""
    deadline = time.monotonic() + GONE_S
    while left := _marked(mark):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return left
        time.sleep(0.01)
    return []


def _marked(mark: bytes) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        # Another user's, or ended between two looks; a zombie's environment is empty.
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found
