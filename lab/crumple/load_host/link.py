"""A link to a load host: one process through which trials are loaded from there, one after the other.

The link sends a heartbeat each half second, and the engine there one each second. Whoever hears none for
3 s ends the load: the engine there kills itself, and this side kills its own process and raises LoadHostLost.
"""

import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from pydantic import ValidationError

from crumple import engine as engines
from crumple import release
from crumple.contract import CONTRACT_VERSION
from crumple.errors import EngineFailed, LoadHostLost
from crumple.load_host import host_errors, sweep
from crumple.load_host.answer_types import EndedLine, Stated
from crumple.load_host.piped_process import PipedProcess
from crumple.load_host.sent_engine import SentEngine
from crumple.load_host.where import Where

# Seconds without a line after which the other side counts as lost. A heartbeat comes each second, so two may
# be late; and a load that nobody watches must be over within 4 s.
SILENCE_S = 3.0
# The last lines of a trial that a failure shows.
TAIL_LINES = 20
# What the engine there writes beside the lines of a trial.
RECORD, ENDED, HELD, BEAT = (f'{{"{each}":'.encode() for each in ("record", "ended", "held", "beat"))
# Seconds within which the engine there answers a command.
ASKED_S = 10.0


# How far a trial has got: it waits for its next turn, is over, or its load host is lost.
State = Literal["held", "over", "lost"]


class Link:
    """An open link. `load` begins a trial; `listen` passes its lines on until it is held or over.

    Who listens to several links at once calls `hear` of each whose `on_line_waiting` rings.
    """

    def __init__(self, where: Where, engine: SentEngine) -> None:
        """Open it: find the engine there or send it, and start it. Raises LoadHostFailed."""
        self.where = where
        # By it, all processes of this link are found there.
        self.mark = f"crumple-{secrets.token_hex(8)}"
        self._is_loading = False
        self._record = b""
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._process = PipedProcess(where.argv())
        try:
            self.path, self.was_sent = engine.begin(self._process, where, self.mark)
            self._process.watch(b"beat\n", SILENCE_S)
            self._check_version()
        except BaseException:
            self._process.kill()
            self._process.close()
            raise

    @property
    def is_free(self) -> bool:
        """Whether it can take a trial: it has not ended, and no trial has been left."""
        return self._process.lives and not self._is_loading

    def load(self, spec: str) -> None:
        """Begin a trial: `spec` is one line of JSON."""
        self._is_loading, self._record = True, b""
        self._tail.clear()
        self._say(spec)

    def go(self, at_ns: int | None = None) -> None:
        """Begin the next turn of a load that is held: at once, or at this instant of the clock there."""
        self._say("go" if at_ns is None else f"go {at_ns}")

    def end(self) -> None:
        """End the load early; its record is kept. It may be called from a signal handler."""
        self._say("end")

    def listen(self, on_line: Callable[[bytes], None], within_s: float) -> bool:
        """Pass the lines of the trial on until it is held (True) or over (False). Raises EngineFailed.

        It raises LoadHostLost if the link is lost, or the load is not over `within_s`.
        """
        deadline = time.monotonic() + within_s
        while True:
            state = self._passed_on(self._line(deadline, "did not end", within_s), on_line)
            if state is not None:
                return state == "held"

    def hear(self, on_line: Callable[[bytes], None]) -> State | None:
        """Pass the lines of the trial on that wait, until it is held, over or lost; None: it goes on.

        Raises EngineFailed. `loss` says how it was lost.
        """
        while (line := self._process.waiting()) is not None:
            if (state := self._passed_on(line, on_line)) is not None:
                return state
        return "lost" if self._process.ending is not None else None

    def on_line_waiting(self, ring: Callable[[], None]) -> None:
        """Have another thread call `ring` whenever there is something to hear."""
        self._process.bell = ring

    def record(self) -> bytes:
        """The TrialRecord of the trial that is over, as JSON. Raises EngineFailed."""
        if not self._record:
            raise EngineFailed(
                f"{self.where.name} wrote no record", output_tail=[*map(host_errors.shown, self._tail)]
            )
        return self._record.strip()[len(RECORD) : -1]

    def ask(self, line: str, within_s: float = ASKED_S) -> bytes:
        """What the engine there answers to a command, as JSON: "facts", "resolve NAME". Raises EngineFailed.

        It raises LoadHostLost if no answer comes `within_s`.
        """
        self._say(line)
        name, deadline = line.partition(" ")[0], time.monotonic() + within_s
        answers = f'{{"{name.replace("-", "_")}":'.encode()
        while True:
            said = self._line(deadline, f"did not answer {name}", within_s).strip()
            if said.startswith(answers):
                return said[len(answers) : -1]
            if complaint := engines.complaint(said.decode("utf-8", "replace")):
                raise host_errors.said(self.where, complaint[0])

    def end_null_server(self) -> None:
        """End the null server that was asked for."""
        self._say("null-server-end")

    def close(self) -> None:
        """End the engine there, and the process here."""
        self._process.close()

    def _check_version(self) -> None:
        """Raise LoadHostFailed if the engine there is another than its name says."""
        version: str
        documents: int | None
        try:
            stated = Stated.model_validate_json(self.ask("facts"))
            version, documents = stated.engine_version, stated.contract_version
        except ValidationError:
            version, documents = "unknown", None
        if (version, documents) != (release.VERSION, CONTRACT_VERSION):
            raise host_errors.other_version(self.where, self.path, version)

    def _say(self, line: str) -> None:
        self._process.send(f"{line}\n".encode())

    def loss(self, what: str = "", within_s: float = 0.0) -> LoadHostLost:
        """End what is left of the link, here and there, and return how it was lost.

        `what`: what did not happen within that time, if the process here has not ended.
        """
        ending = self._process.ending
        self._process.kill()
        self._process.close()
        states = sweep.sweep(self.where, self.mark)
        if ending is None:
            message = f"load-host-lost: {self.where.name} {what} within {within_s:.0f} s"
            return LoadHostLost("frozen", message, "measure again", [*map(host_errors.shown, self._tail)])
        return host_errors.lost(self.where, ending, SILENCE_S, states)

    def _passed_on(self, line: bytes, on_line: Callable[[bytes], None]) -> State | None:
        """Pass a line of the trial on; what has become of the trial by it. Raises EngineFailed."""
        if line.startswith(HELD):
            return "held"
        if line.startswith(RECORD):
            self._record = line
        elif line.startswith(ENDED):
            self._is_loading = False
            self._over(line)
            return "over"
        elif not line.startswith(BEAT):
            self._tail.append(line.decode("utf-8", "replace"))
            on_line(line)
        return None

    def _line(self, deadline: float, what: str, within_s: float) -> bytes:
        """Return the next line. Raises LoadHostLost."""
        line = self._process.line(deadline)
        if line is None:
            raise self.loss(what, within_s)
        return line

    def _over(self, line: bytes) -> None:
        """Raise EngineFailed if the engine's own program for this trial did not end with code 0."""
        try:
            code = EndedLine.model_validate_json(line).ended.code
        except ValidationError:
            raise host_errors.not_understood(self.where, line) from None
        if code != 0:
            raise host_errors.trial_ended(self.where, code, self._tail)
