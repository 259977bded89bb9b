"""Finds the engine and runs it: passes a TrialSpec in, reports its progress, returns the TrialRecord.

Between the first and the last request the only Python that runs is this reader of progress: one line a
second, unless the spec asks for more.
"""

import errno
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from pydantic import ValidationError

from crumple import parsing, project, release
from crumple.contract import ProgressLine, TrialRecord, TrialSpec
from crumple.contract_base import Lenient
from crumple.errors import EngineFailed, EngineMismatch, EngineMissing

NAME = "crumple-engine"
# The engine of a wheel. It is in the package, as the commands of a user's own folder are not beside Python.
CARRIED = Path(__file__).resolve().parent / "bin" / NAME
# The engine's source in the checkout that this lab lies in, whichever project it is used for.
OWN_SOURCE = project.PACKAGE.parents[1] / "engine"
# A failure shows the last 20 lines that the engine wrote.
TAIL_LINES = 20
# An engine that takes a minute longer than its load and its timeouts hangs.
GRACE_S = 60.0
# An engine that is asked to end has three seconds before it is killed.
STOP_S = 3.0
# What the engine writes when a turn of its load is over, and what lets it begin the next.
HELD, GO = re.compile(r'\{"held":\d+\}\n'), "go\n"

OnProgress = Callable[[ProgressLine], None]


class _Complaint(Lenient):
    error: str
    remedy: str | None = None


class Loading(Protocol):
    """An engine that was started for one trial.

    Call `turn` once for each turn of its spec, or once if it has none; then `record`. All raise EngineFailed.
    """

    def turn(self) -> None:
        """Begin the next turn of the load, and wait until it is over."""

    def end_early(self) -> None:
        """End the load at once; its record is kept. It may be called from a signal handler."""

    def record(self) -> TrialRecord:
        """Return the record after the last turn."""


class EndEarly:
    """A call asks the running engine to end its load at once and still return its record."""

    def __init__(self) -> None:
        self.asked = False
        self._running: Loading | None = None

    def __call__(self) -> None:
        """Ask the running engine, or else the next one that starts."""
        self.asked = True
        if self._running is not None:
            self._running.end_early()

    def began(self, running: Loading) -> None:
        """Set the engine to ask; ask it at once if a call came before."""
        self._running = running
        if self.asked:
            self()


class LoadSource(Protocol):
    """One or more other machines, which loads come from while the server and its probes are here."""

    @property
    def name(self) -> str:
        """As it was named on the command line; of several, all names."""

    @property
    def each(self) -> Sequence["OneLoadSource"]:
        """The machines, one or more. A load that cannot be parted comes from the first."""

    def started(
        self, engine: "Engine", spec: TrialSpec, on_progress: OnProgress
    ) -> AbstractContextManager[Loading]:
        """Start an engine there, and its probes here, for one trial. Raises EngineFailed."""


class OneLoadSource(LoadSource, Protocol):
    """One machine which loads come from."""

    @property
    def physical_cores(self) -> list[list[int]]:
        """Its cores, by the physical core that they share. Raises EngineFailed."""

    @property
    def circumstances(self) -> str:
        """Which machine it is, since which boot, and with which cores. Raises EngineFailed."""

    def null_server(self, arguments: str) -> AbstractContextManager[str]:
        """Run the null server on its loopback; the address. Raises EngineFailed."""

    def cpu_shares(self, record: TrialRecord) -> tuple[float, float] | None:
        """Return the shares of its CPU time, 0 to 1, that others used and that its hypervisor took.

        None: unread. The record is of a load on its null server.
        """


@dataclass(frozen=True)
class Engine:
    """The engine's executable, the version that it reports, and where loads come from; None: from here."""

    path: Path
    version: str
    load_host: LoadSource | None = None


def find(root: Path) -> Path:
    """The path of the engine's executable. Raises EngineMissing, which lists each place that was searched."""
    if named := os.environ.get("CRUMPLE_ENGINE"):
        # It excludes the other places.
        places = [(Path(named), "CRUMPLE_ENGINE")]
    else:
        places = [(CARRIED, "in the package")]
        places += [(source / "target" / "release" / NAME, "built from source") for source in _sources(root)]
    for path, _ in places:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    searched = ", ".join(f"{path} ({what})" for path, what in places)
    raise EngineMissing(f"no engine in {searched}", _remedy(root))


def load(root: Path) -> Engine:
    """The engine, whose version is the lab's. Raises EngineMissing, EngineMismatch, EngineFailed."""
    path = find(root)
    version = stated(path)
    if version != release.VERSION:
        message = f"the engine {path} is version {version}, the lab is {release.VERSION}"
        raise EngineMismatch(message, _remedy(root))
    return Engine(path, version)


def stated(path: Path) -> str:
    """The version that an engine's executable states. Raises EngineFailed."""
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True)
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            message = f"{path} is for another kind of machine than this one ({os.uname().machine})"
            raise EngineFailed(message, "install the wheel for this one, or build the engine here") from None
        raise EngineFailed(f"{path} does not run: {error}", "build the engine again") from None
    except subprocess.SubprocessError as error:
        raise EngineFailed(f"{path} does not run: {error}", "build the engine again") from None
    words = asked.stdout.split()
    return words[-1] if words else "none"


def run(
    engine: Engine, spec: TrialSpec, on_progress: OnProgress, end_early: EndEarly | None = None
) -> TrialRecord:
    """Run one trial in the engine and return its record when the load is over. Raises EngineFailed."""
    with started(engine, spec, on_progress) as running:
        if end_early is not None:
            end_early.began(running)
        running.turn()
        return running.record()


@contextmanager
def started(engine: Engine, spec: TrialSpec, on_progress: OnProgress) -> Iterator[Loading]:
    """Start an engine for one trial; its load begins with the first turn. Raises EngineFailed.

    The engine does not outlive the lab: it ends with this context, and it ends itself when its parent dies.
    """
    if engine.load_host is not None:
        with engine.load_host.started(engine, spec, on_progress) as loading:
            yield loading
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answer, process(engine, answer, "run") as begun:
        yield LoadingEngine(begun, spec, answer, on_progress)


@contextmanager
def process(engine: Engine, answer: IO[str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command of the engine that writes to `answer`; it ends with this context.

    Raises EngineFailed.
    """
    try:
        # A process group of its own: ctrl-C reaches only the lab, which then ends the engine.
        begun = subprocess.Popen(
            [engine.path, *arguments],
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=subprocess.PIPE,
            encoding="utf-8",  # in every locale
            errors="replace",
            process_group=0,
        )
    except OSError as error:
        raise EngineFailed(f"{engine.path} does not run: {error}", "build the engine again") from None
    try:
        yield begun
    finally:
        _end(begun)


class LoadingEngine:
    """An engine that loads from this machine (`Loading`)."""

    def __init__(
        self, process: subprocess.Popen[str], spec: TrialSpec, answer: IO[str], on_progress: OnProgress
    ) -> None:
        self.process = process
        self.spec = spec
        self._answer = answer
        self._on_progress = on_progress
        self._turns_left = len(spec.turns) or 1
        self._next = spec.model_dump_json()
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)

    def turn(self) -> None:
        """Begin the next turn of the load, and wait until it is over. Raises EngineFailed."""
        self._turns_left -= 1
        hanging = threading.Event()

        def end_it() -> None:
            hanging.set()
            self.process.kill()

        watchdog = threading.Timer(at_most_s(self.spec), end_it)
        watchdog.daemon = True
        watchdog.start()
        try:
            self._tell()
            is_held = self._listen()
            if not is_held:
                self.process.wait()
        finally:
            watchdog.cancel()
        if hanging.is_set():
            took = f"{at_most_s(self.spec):.0f} s"
            raise EngineFailed(f"the engine did not end within {took}", output_tail=tuple(self._tail))
        if not is_held and self.process.returncode != 0:
            raise failure(self.process.returncode, self._tail)

    def end_early(self) -> None:
        """End the load at once; its record is kept."""
        self.process.send_signal(signal.SIGINT)

    def record(self) -> TrialRecord:
        """Return the record after the last turn. Raises EngineFailed."""
        self._answer.seek(0)
        return record_of(self._answer.read(), self.spec)

    def _tell(self) -> None:
        """Send what begins the next turn: the spec, or the command to go on."""
        assert self.process.stdin
        try:
            self.process.stdin.write(self._next)
            self.process.stdin.flush()
            if not self._turns_left:
                self.process.stdin.close()
        except BrokenPipeError:
            pass  # the engine has ended, and wrote the reason to stderr
        self._next = GO

    def _listen(self) -> bool:
        """Pass progress on until the load is held (True) or stderr closes; keep the last other lines."""
        assert self.process.stderr
        for line in self.process.stderr:
            try:
                progress = ProgressLine.model_validate_json(line)
            except ValidationError:
                if HELD.fullmatch(line):
                    return True
                self._tail.append(line.rstrip())
            else:
                self._on_progress(progress)
        return False


def _sources(root: Path) -> list[Path]:
    """The folders of the engine's source: the project's, and that beside this lab."""
    return [source for source in dict.fromkeys((root / "engine", OWN_SOURCE)) if source.is_dir()]


def _remedy(root: Path) -> str:
    """How to get an engine of the lab's version: built in a checkout, installed beside a wheel."""
    if _sources(root):
        return "build it with: cargo build --release, in the engine folder"
    return f"install crumple {release.VERSION} again, by a wheel for this kind of machine: make wheels"


def at_most_s(spec: TrialSpec) -> float:
    """The time in seconds after which an engine counts as hanging in a turn of this spec, or in all of it."""
    phases = [spec.stop, *([spec.warm_up.stop] if spec.warm_up else [])]
    load_s = sum(stop.within_s if stop.kind == "requests" else stop.duration_s for stop in phases)
    return load_s + len(phases) * (spec.timeouts.request_s + spec.timeouts.connect_s) + GRACE_S


def failure(code: int, tail: Sequence[str]) -> EngineFailed:
    """Return what to say of an engine that ended with that code; `tail`: the last lines that it wrote."""
    ended = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    last = tail[-1] if tail else ""
    if said := complaint(last):
        error, remedy = said
        return EngineFailed(f"the engine {ended}: {error}", remedy, tuple(tail))
    return EngineFailed(f"the engine {ended}{': ' + last if last else ''}", output_tail=tuple(tail))


def complaint(line: str) -> tuple[str, str] | None:
    """Error and remedy from the last line of a failed engine command; None: it is no such line."""
    try:
        said = _Complaint.model_validate_json(line)
    except ValidationError:
        return None
    return said.error, said.remedy or ""


def record_of(text: str | bytes, spec: TrialSpec) -> TrialRecord:
    """Return the record that the engine wrote for this spec. Raises EngineFailed."""
    try:
        record = TrialRecord.model_validate_json(text)
    except ValidationError as error:
        message = f"the engine's record is not what the contract says ({parsing.first_fault(error)})"
        raise EngineFailed(message, "build engine and lab from the same sources") from None
    if record.spec.label != spec.label or record.spec.seed != spec.seed:
        raise EngineFailed(f"the engine answered for {record.spec.label}, not for {spec.label}")
    return record


def exit_code(process: subprocess.Popen[Any], within_s: float) -> int:
    """Wait for the end of a process that is about to end; kill it if that takes longer."""
    try:
        return process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        exit_code(process, STOP_S)
    for pipe in (process.stdin, process.stderr):
        if pipe:
            # What was not yet written to an engine that has ended is not needed any more.
            with suppress(BrokenPipeError):
                pipe.close()
