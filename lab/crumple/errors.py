"""What can go wrong, as types: each says in one line what happened and what to do about it.

The command line prints `str(error)` and exits with `exit_code`; a traceback means a bug in crumple. Not here:
trials that failed, which are data (see run/store.py).
"""

# ruff: noqa: N818 - they read as what happened: `except ServerFailed`

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Meant = TypeVar("Meant")

EXIT_NO = 1
EXIT_USAGE = 2


class CrumpleError(Exception):
    """Expected to happen now and then. `message`: what happened. `remedy`: what to do, or empty."""

    exit_code = EXIT_NO

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message}; {remedy}" if remedy else message)


class UsageError(CrumpleError):
    """Asked for something that does not exist or does not make sense; nothing was started."""

    exit_code = EXIT_USAGE


class Mistakes:
    """Collects what is wrong with a command, so that all of it is said at once, a line each."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, message: str, remedy: str) -> None:
        """One more."""
        self._lines.append(str(UsageError(message, remedy)))

    def of(self, read: Callable[[], Meant]) -> Meant | None:
        """What `read` returns; where it raises UsageError, that is one more and the answer is None."""
        try:
            return read()
        except UsageError as mistake:
            self._lines.append(str(mistake))
            return None

    def none(self) -> None:
        """Return only if there are none. Raises UsageError."""
        if self._lines:
            raise UsageError("\n".join(dict.fromkeys(self._lines)))


class NotFound(UsageError):
    """A name that is not there. The remedy holds the nearest names."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a file. `key` is dotted, as in `experiments.shared.shape.connections`."""

    file: Path
    key: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """One line: file, key, what is wrong, what to do."""
        file = self.file.relative_to(Path.cwd()) if self.file.is_relative_to(Path.cwd()) else self.file
        line = f"{file}: {self.key}: {self.message}" if self.key else f"{file}: {self.message}"
        return f"{line}; {self.remedy}" if self.remedy else line


class FileInvalid(UsageError):
    """A study, workload or server.toml that cannot be meant. Carries every problem, one line each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class EngineMissing(CrumpleError):
    """No engine executable; the message lists each place that was searched."""


class EngineMismatch(CrumpleError):
    """The engine is of another version than the lab; their documents may differ."""


class EngineFailed(CrumpleError):
    """The engine refused the spec, ended early or answered something that is no record.

    `output_tail`: its last lines on stderr.
    """

    def __init__(self, message: str, remedy: str = "", output_tail: Sequence[str] = ()) -> None:
        super().__init__(message, remedy)
        self.output_tail = tuple(output_tail)


class ServerFailed(CrumpleError):
    """A server that could not be built, started, kept alive or stopped.

    `step`: "build", "start", "answers", "engine" or "stop". `output_tail`: the last lines the server wrote.
    """

    def __init__(self, step: str, message: str, output_tail: Sequence[str] = (), remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.step = step
        self.output_tail = tuple(output_tail)


class DatabaseMissing(CrumpleError):
    """No database to be started here; the remedy names the package that brings it."""


class DatabaseFailed(CrumpleError):
    """A database that did not start, ended early, or refuses us. `output_tail`: the last lines it wrote."""

    def __init__(self, message: str, output_tail: Sequence[str] = (), remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.output_tail = tuple(output_tail)


class WrongAnswer(CrumpleError):
    """A server answered, but not what its workload's contract says."""


class NoAnswer(WrongAnswer):
    """A server took too long to answer, or did not answer at all."""


class StorageFull(CrumpleError):
    """The disk took no more; every trial stored before is intact."""


class NotWritable(CrumpleError):
    """A folder of crumple's own takes no files; the remedy names the variable that moves it."""


class NotStored(CrumpleError):
    """A run or trial on disk that cannot be read as one."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM. Not an `Exception`: a trial must not mistake it for its own failure."""
