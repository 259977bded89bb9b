"""One process with three streams: sends lines to it, collects its lines, and notices when it is silent.

One thread writes, one reads. What comes from another machine is not trusted: each line and all of them are
bounded. A process that breaks a bound, or is silent for too long, is killed: that of this machine only.
"""

import os
import queue
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from crumple import engine
from crumple.errors import EngineFailed

# The longest line that is kept. A record of an hour is a tenth of that.
LINE_MOST_BYTES = 64 << 20
# The most bytes that may wait to be taken: four such lines.
WAITING_MOST_BYTES = 4 * LINE_MOST_BYTES
# What a line takes beside its bytes while it waits: an empty one takes 33 bytes, and its place in a queue.
LINE_COST_BYTES = 64
# The most lines per second. An engine writes at most one each millisecond and a few beside, and a shell that
# starts some hundreds; what could not pass for 3 s, until a link counts as lost, comes at once.
LINES_MOST_PER_S = 5_000
# The last lines on stderr that are kept, and how much of each.
TAIL_LINES = 20
TAIL_LINE_BYTES = 500
# Seconds between two looks at whether the process is silent.
LOOK_EVERY_S = 0.5
# Seconds that a process has to end after its input was closed, before it is killed.
END_S = 3.0


@dataclass(frozen=True)
class Ending:
    """How a process ended. `silent`, `flooded`: it was killed for that; `code`: negative for a signal."""

    code: int
    # For how long it had written nothing, in seconds.
    quiet_s: float
    silent: bool
    flooded: bool
    # The longest pause of this program's own between two heartbeats, in seconds.
    paused_s: float
    errors: tuple[str, ...]


class PipedProcess:
    """A running process. `ending` is set when its last line has been taken."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Raises EngineFailed."""
        try:
            # A session of its own: ctrl-C does not reach it, and it finds no terminal to ask for a password.
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            message = f"{argv[0]} does not run: {error.strerror}"
            raise EngineFailed(message, f"install {argv[0]}, or name another command") from None
        self.ending: Ending | None = None
        self.bell: Callable[[], None] = lambda: None
        """Called by another thread whenever a line waits, or the last one has come."""
        # SimpleQueue: a signal handler may put a line while this thread puts or takes one.
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._beat = b""
        self._quiet_s = self._quiet_most_s = 0.0
        self._silent = self._flooded = self._killed = False
        self._paused_s = 0.0
        self._errors: deque[str] = deque(maxlen=TAIL_LINES)
        work = (self._write, self._read, self._read_errors)
        self._threads = [threading.Thread(target=each, daemon=True) for each in work]
        for thread in self._threads:
            thread.start()

    def send(self, data: bytes) -> None:
        """Have `data` written. It may be called from a signal handler."""
        self._outbox.put(data)

    def watch(self, beat: bytes, quiet_most_s: float) -> None:
        """From now on, send `beat` each LOOK_EVERY_S; kill a process that is silent for `quiet_most_s`."""
        self._beat, self._quiet_most_s = beat, quiet_most_s

    def line(self, by_s: float) -> bytes | None:
        """The next line, without its end; None: none came by then, or, with `ending` set, none will.

        `by_s`: by time.monotonic(). After that none is taken, also if some wait.
        """
        within_s = by_s - time.monotonic()
        if self.ending or within_s <= 0:
            return None
        try:
            line = self._lines.get(timeout=within_s)
        except queue.Empty:
            return None
        if line is None:
            self._reap()
            return None
        self._waiting_bytes -= len(line) + LINE_COST_BYTES
        return line

    def waiting(self) -> bytes | None:
        """The next line, if one waits; None: none does, or, with `ending` set, none will."""
        if self.ending or self._lines.empty():
            return None
        return self.line(time.monotonic() + LOOK_EVERY_S)

    @property
    def lives(self) -> bool:
        """Whether the process runs, as far as is known."""
        return self.ending is None and self._process.poll() is None

    def kill(self) -> None:
        """Kill the process at once, and hear no more of what it has started."""
        self._killed = True
        self._process.kill()

    def close(self) -> None:
        """Close the input of the process and wait for its end; kill it if it takes longer than END_S."""
        self._outbox.put(None)
        deadline = time.monotonic() + END_S
        while not self.ending and time.monotonic() < deadline:
            self.line(deadline)
        if not self.ending:
            self.kill()
            self._reap()

    def _reap(self) -> None:
        # It has closed its output, so it is about to end.
        code = engine.exit_code(self._process, END_S)
        self._outbox.put(None)
        for thread in self._threads:
            thread.join(LOOK_EVERY_S)
        self.ending = Ending(
            code, self._quiet_s, self._silent, self._flooded, self._paused_s, tuple(self._errors)
        )

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin
        last_s = time.monotonic()
        with suppress(OSError), stdin:
            while True:
                try:
                    data = self._outbox.get(timeout=LOOK_EVERY_S)
                except queue.Empty:
                    data = self._beat
                if self._beat:
                    self._paused_s = max(self._paused_s, time.monotonic() - last_s)
                if data is None:
                    return
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(stdin.fileno(), rest) :]
                last_s = time.monotonic()

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout
        parts: list[bytes] = []
        length, lines, second_s = 0, 0, 0.0
        with suppress(OSError), stdout:
            while True:
                # Silence is counted in waits of this thread, so it takes no pause of its own for one.
                if not select.select([stdout], [], [], LOOK_EVERY_S)[0]:
                    self._quiet_s += LOOK_EVERY_S
                    if self._quiet_most_s and self._quiet_s >= self._quiet_most_s:
                        self._silent = True
                        self.kill()
                        break
                    # What it had started may keep the stream open.
                    if self._process.poll() is not None:
                        break
                    continue
                data = os.read(stdout.fileno(), 1 << 16)
                if not data:
                    break
                self._quiet_s = 0.0
                if self._killed:
                    break
                *ended, rest = data.split(b"\n")
                for each in ended:
                    self._put(b"".join([*parts, each]))
                    parts, length = [], 0
                parts.append(rest)
                length += len(rest)
                lines += len(ended)
                if time.monotonic() - second_s >= 1.0:
                    lines, second_s = len(ended), time.monotonic()
                waiting = self._waiting_bytes > WAITING_MOST_BYTES
                if waiting or length > LINE_MOST_BYTES or lines > LINES_MOST_PER_S:
                    self._flooded = True
                    self.kill()
                    break
        self._lines.put(None)
        self.bell()

    def _put(self, line: bytes) -> None:
        # The other thread may lose one of these sums; the bound need not be exact.
        self._waiting_bytes += len(line) + LINE_COST_BYTES
        self._lines.put(line)
        self.bell()

    def _read_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr
        with suppress(OSError), stderr:
            for line in iter(lambda: stderr.readline(1 << 16), b""):
                if self._killed:
                    break
                if text := line[:TAIL_LINE_BYTES].decode("utf-8", "replace").strip():
                    self._errors.append(text)
