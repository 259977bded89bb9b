"""Runs a command under the engine's guard: it and its descendants end with the lab, however the lab ends.

What the command writes to stdout and stderr goes into an unnamed file, of which only the end is kept. A pipe
would wake the lab for every line that the server writes during a load.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple import engine, project
from crumple.errors import ServerFailed
from crumple.machine import leftovers
from crumple.machine.leftovers import MARK, ScratchFolder

# The most lines of the command's output that a failure shows: its last ones.
TAIL_LINES = 20
# The bytes at the end of the output that are kept and searched for these lines.
TAIL_BYTES = 16_384
# The size on disk beyond which the output's file is cut to its end. It may be exceeded by what the command
# writes between two looks.
KEPT_BYTES = 1 << 20
# Seconds between two looks at that size.
LOOK_EVERY_S = 0.25

_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # of fallocate(2)
_LIBC = ctypes.CDLL(None, use_errno=True)


class Written:
    """The output of one command. Its file is gone with this object or with the lab, however that ends."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the command)
        self._over = threading.Event()

    def fileno(self) -> int:
        """The descriptor that the command writes to."""
        return self._file.fileno()

    def tail(self) -> list[str]:
        """The last lines, TAIL_LINES at most."""
        size = os.fstat(self.fileno()).st_size
        # pread: the command writes at the same file position, which must not move.
        tail = os.pread(self.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        return tail.decode("utf-8", "replace").splitlines()[-TAIL_LINES:]

    def began(self) -> None:
        """Keep the file bounded from now on, until `over` is called."""
        threading.Thread(target=self._keep_bounded, daemon=True).start()

    def over(self) -> None:
        """Stop keeping the file bounded: the command has ended."""
        self._over.set()

    def _keep_bounded(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            seen = os.fstat(self.fileno())
            if seen.st_blocks * 512 > KEPT_BYTES:
                _free(self.fileno(), seen.st_size - TAIL_BYTES)


def _free(file: int, until: int) -> None:
    """Free the disk space before `until` and keep the file's size, so that writing continues at its end.

    Does nothing on a file system that cannot do this.
    """
    _LIBC.fallocate(file, _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(0), ctypes.c_int64(until))


# Seconds within which the guard must have started the command.
LAUNCH_S = 10.0
# Seconds that the command has to end after it was asked to, before the guard kills it.
GRACE_S = 3.0
# Seconds that the guard has besides, for what it killed to be gone, before it is killed itself.
GONE_S = 3.0


@dataclass(frozen=True)
class CommandEnd:
    """How a command ended; both None: the guard ended without reporting it."""

    exit: int | None
    signal: int | None

    def __str__(self) -> str:
        """As the end of a sentence: "ended with code 1"."""
        if self.signal is not None:
            return f"was killed by signal {self.signal} ({signal.Signals(self.signal).name})"
        return "ended with its guard" if self.exit is None else f"ended with code {self.exit}"


class Guarded:
    """A running command. `pid`: its own; `guard_pid`: the guard's, the ancestor of all that it starts."""

    def __init__(self, process: subprocess.Popen[bytes], written: Written, scratch: ScratchFolder) -> None:
        self._process = process
        self._written = written
        self._scratch = scratch
        self._pending = b""
        self._ended: CommandEnd | None = None
        self.guard_pid = process.pid
        self.pid = 0
        written.began()

    @property
    def scratch(self) -> Path:
        """The command's scratch folder, which `end` removes."""
        return self._scratch.path

    def ended(self, within_s: float = 0.0) -> CommandEnd | None:
        """Wait up to `within_s` seconds for the command to end; how it ended, or None: it still runs."""
        deadline = time.monotonic() + within_s
        while self._ended is None:
            line = self._line(max(0.0, deadline - time.monotonic()))
            if line is None:
                return None
            if "exit" in line:
                self._ended = CommandEnd(line["exit"], line["signal"])
            elif not line:
                self._ended = CommandEnd(None, None)
        return self._ended

    def output_tail(self) -> list[str]:
        """The last lines the command wrote, on both streams."""
        return self._written.tail()

    def end(self) -> None:
        """End the command and its descendants; return when they are gone. Raises ServerFailed("stop")."""
        assert self._process.stdin
        self._process.stdin.close()
        engine.exit_code(self._process, GRACE_S + GONE_S)
        left = leftovers.end(self.scratch)
        self._written.over()
        self._scratch.remove()
        if left:
            pids = ", ".join(str(pid) for pid in left)
            message = f"could not be ended: its processes {pids} are still there"
            raise ServerFailed(
                "stop", message, self.output_tail(), "look at them with ps and end them by hand"
            )

    def launched(self, within_s: float) -> bool:
        """Wait up to `within_s` seconds until the command has started, and set `pid`; False: it has not."""
        line = self._line(within_s)
        self.pid = (line.get("pid") if line else None) or 0
        return self.pid > 0

    def _line(self, within_s: float) -> dict[str, int | None] | None:
        """The guard's next line; {}: there will be none, None: there is none yet."""
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
    scratch: ScratchFolder,
) -> Guarded:
    """Start `command` in `cwd` on `cores` (all, if empty). The caller ends it. Raises ServerFailed(`step`).

    `scratch` is removed when the command is ended. Its path is in the command's environment as a mark, by
    which its descendants are found even after the guard was killed.
    """
    pinned = ["--cores", ",".join(str(core) for core in cores)] if cores else []
    options = ["--scratch", str(scratch.path), "--cwd", str(cwd), "--grace", str(GRACE_S), *pinned]
    try:
        written = Written()
        process = subprocess.Popen(
            [engine.find(project.root()), "guard", *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=written.fileno(),
            env={**env, MARK: str(scratch.path)},
            process_group=0,  # ctrl-C reaches only the lab, which then ends the command
        )
    except BaseException:
        # There is no Guarded yet that would remove it.
        scratch.remove()
        raise
    guarded = Guarded(process, written, scratch)
    try:
        if not guarded.launched(LAUNCH_S):
            raise _not_launched(step, command, cwd, guarded.output_tail())
    except BaseException:
        guarded.end()
        raise
    return guarded


def _not_launched(step: str, command: Sequence[str], cwd: Path, tail: list[str]) -> ServerFailed:
    if said := engine.complaint(tail[-1] if tail else ""):
        error, remedy = said
        if mount := _not_to_run_from(cwd / command[0]):
            remedy = f"{mount} is mounted noexec; mount it with exec, or name another place in XDG_CACHE_HOME"
        return ServerFailed(step, error, tail[:-1], remedy)
    return ServerFailed(step, f"the guard could not start {command[0]}", tail)


def _not_to_run_from(program: Path) -> Path | None:
    """The program's mount, if the program cannot run because that is mounted noexec; else None."""
    if not program.is_file() or not os.statvfs(program).f_flag & os.ST_NOEXEC:
        return None
    return next(folder for folder in program.parents if folder.is_mount())
