"""Finds the engine and runs it: passes a TrialSpec in, reports its progress, returns the TrialRecord.

Between the first and the last request the only Python that runs is this reader of progress: one line a
second, unless the spec asks for more.
"""

import errno
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from crumple import parsing, project, release
from crumple.contract import Progress, TrialRecord, TrialSpec
from crumple.errors import EngineFailed, EngineMismatch, EngineMissing

NAME = "crumple-engine"
# In a wheel only. In the package, as the commands of a user's own folder are not beside Python.
CARRIED = Path(__file__).resolve().parent / "bin" / NAME
# Of the checkout that this lab lies in, whichever project it is used for.
OWN_SOURCE = project.PACKAGE.parents[1] / "engine"
TAIL_LINES = 20
GRACE_S = 60.0
STOP_S = 3.0

OnProgress = Callable[[Progress], None]


class EndEarly:
    """A call asks the running engine to end its load at once and still return its record."""

    def __init__(self) -> None:
        self.asked = False
        self._process: subprocess.Popen[str] | None = None

    def __call__(self) -> None:
        """Ask the running engine, or else the next one that starts."""
        self.asked = True
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)

    def began(self, process: subprocess.Popen[str]) -> None:
        """Set the engine to ask; ask it at once if a call came before."""
        self._process = process
        if self.asked:
            self()


@dataclass(frozen=True)
class Engine:
    """The engine's executable and the version that it reports."""

    path: Path
    version: str


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
    """Run one trial in the engine and return its record when the load is over. Raises EngineFailed.

    The engine does not outlive the lab: any exception here ends it, and it ends itself when its parent dies.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as answer:
        try:
            # A process group of its own: ctrl-C reaches only the lab, which then ends the engine.
            process = subprocess.Popen(
                [engine.path, "run", "-"],
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
            if end_early is not None:
                end_early.began(process)
            tail = _converse(process, spec, on_progress)
        finally:
            _end(process)
        if process.returncode != 0:
            raise failure(process.returncode, tail)
        answer.seek(0)
        return _record(answer.read(), spec)


def _sources(root: Path) -> list[Path]:
    """The folders of the engine's source: the project's, and that beside this lab."""
    return [source for source in dict.fromkeys((root / "engine", OWN_SOURCE)) if source.is_dir()]


def _remedy(root: Path) -> str:
    """How to get an engine of the lab's version: built in a checkout, installed beside a wheel."""
    if _sources(root):
        return "build it with: cargo build --release, in the engine folder"
    return f"install crumple {release.VERSION} again, by a wheel for this kind of machine: make wheels"


def at_most_s(spec: TrialSpec) -> float:
    """The time in seconds after which an engine that runs this spec counts as hanging."""
    phases = [spec.stop, *([spec.warm_up.stop] if spec.warm_up else [])]
    load_s = sum(stop.within_s if stop.kind == "requests" else stop.duration_s for stop in phases)
    return load_s + len(phases) * (spec.timeouts.request_s + spec.timeouts.connect_s) + GRACE_S


def _converse(process: subprocess.Popen[str], spec: TrialSpec, on_progress: OnProgress) -> deque[str]:
    """Send the spec, read progress until stderr closes; return the last lines that were not progress."""
    assert process.stdin and process.stderr
    hanging = threading.Event()

    def end_it() -> None:
        hanging.set()
        process.kill()

    watchdog = threading.Timer(at_most_s(spec), end_it)
    watchdog.daemon = True
    watchdog.start()
    try:
        try:
            process.stdin.write(spec.model_dump_json())
            process.stdin.close()
        except BrokenPipeError:
            pass  # the engine has ended, and wrote the reason to stderr
        tail = _listen(process.stderr, on_progress)
        process.wait()
    finally:
        watchdog.cancel()
    if hanging.is_set():
        raise EngineFailed(f"the engine did not end within {at_most_s(spec):.0f} s", output_tail=tuple(tail))
    return tail


def _listen(stderr: IO[str], on_progress: OnProgress) -> deque[str]:
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    for line in stderr:
        try:
            progress = Progress.model_validate_json(line)
        except ValidationError:
            tail.append(line.rstrip())
        else:
            on_progress(progress)
    return tail


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
        said = json.loads(line)
        return said["error"], said.get("remedy") or ""
    except (ValueError, KeyError, TypeError):
        return None


def _record(text: str, spec: TrialSpec) -> TrialRecord:
    try:
        record = TrialRecord.model_validate_json(text)
    except ValidationError as error:
        message = f"the engine's record is not what the contract says ({parsing.first_fault(error)})"
        raise EngineFailed(message, "build engine and lab from the same sources") from None
    if record.spec.label != spec.label or record.spec.seed != spec.seed:
        raise EngineFailed(f"the engine answered for {record.spec.label}, not for {spec.label}")
    return record


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stderr):
        if pipe:
            pipe.close()
