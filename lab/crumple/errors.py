"""The expected errors: each says in one line what happened and what to do about it.

The command line prints `str(error)` and exits with `exit_code`; a traceback means a bug in crumple. A failed
trial is data, not an error; run/store.py stores it.
"""

# ruff: noqa: N818 - names say what happened: `except ServerFailed`

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Meant = TypeVar("Meant")

# The exit codes beside 0 are those of docs/reference/command-line.md. This one: the command is done, and the
# answer is no; or something went wrong.
EXIT_NO = 1
# The usage was wrong, and nothing was started.
EXIT_USAGE = 2
# A server was lost, a load is not valid, or a trial of a study failed.
EXIT_NOT_VALID = 3
# Somebody ended the command: the code that shells have for Ctrl-C.
EXIT_INTERRUPTED = 130


class CrumpleError(Exception):
    """An expected error. `message`: what happened. `remedy`: what to do, or empty."""

    exit_code = EXIT_NO

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message}; {remedy}" if remedy else message)


class UsageError(CrumpleError):
    """The user asked for something that does not exist or makes no sense; nothing was started."""

    exit_code = EXIT_USAGE


class NothingCompared(CrumpleError):
    """No comparison was possible, for example because the time was too short; the command was right."""

    exit_code = EXIT_NOT_VALID


class ServerLost(CrumpleError):
    """A server ended, or ceased to answer, while it was loaded: nothing is known of its limits."""

    exit_code = EXIT_NOT_VALID


class Mistakes:
    """Collects the mistakes in a command, to report them together, one line each."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, message: str, remedy: str) -> None:
        """Record a mistake."""
        self._lines.append(str(UsageError(message, remedy)))

    def of(self, read: Callable[[], Meant]) -> Meant | None:
        """What `read` returns; if it raises UsageError, record that mistake and return None."""
        try:
            return read()
        except UsageError as mistake:
            self._lines.append(str(mistake))
            return None

    @property
    def any(self) -> bool:
        """Whether a mistake was recorded."""
        return bool(self._lines)

    def none(self) -> None:
        """Return if no mistake was recorded. Raises UsageError with all of them."""
        if self._lines:
            raise UsageError("\n".join(dict.fromkeys(self._lines)))


class NotFound(UsageError):
    """A name that does not exist. The remedy suggests the nearest names."""


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
    """A study, workload or server.toml with problems. Its message has one line for each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class EngineMissing(CrumpleError):
    """No engine executable; the message lists each place that was searched."""


class EngineMismatch(CrumpleError):
    """The engine's version is not the lab's; their documents may differ."""


class EngineFailed(CrumpleError):
    """The engine refused the spec, ended early or returned something that is not a record.

    `output_tail`: its last lines on stderr.
    """

    def __init__(self, message: str, remedy: str = "", output_tail: Sequence[str] = ()) -> None:
        super().__init__(message, remedy)
        self.output_tail = tuple(output_tail)


class LoadHostFailed(EngineFailed):
    """The load host cannot be reached, or cannot run the engine: nothing was loaded."""


class LoadHostLost(EngineFailed):
    """The load host, or the way to it, was lost during a trial: nothing is known of the server.

    `how`: what was lost, one of `load_host.host_errors.HOW`.
    """

    exit_code = EXIT_NOT_VALID

    def __init__(self, how: str, message: str, remedy: str = "", output_tail: Sequence[str] = ()) -> None:
        super().__init__(message, remedy, output_tail)
        self.how = how


class ClusterLost(CrumpleError):
    """The scheduler of a cluster, or the last of its hosts, was lost. What has arrived is stored."""


class ServerFailed(CrumpleError):
    """A server that could not be built, started, kept alive or stopped.

    `step`: "build", "start", "answers", "engine" or "stop". `output_tail`: the last lines the server wrote.
    """

    def __init__(self, step: str, message: str, output_tail: Sequence[str] = (), remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.step = step
        self.output_tail = tuple(output_tail)


class DatabaseMissing(CrumpleError):
    """No database server can be started here; the remedy names the package to install."""


class DatabaseFailed(CrumpleError):
    """The database did not start, ended early or refused a connection. `output_tail`: its last lines."""

    def __init__(self, message: str, output_tail: Sequence[str] = (), remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.output_tail = tuple(output_tail)


class WrongAnswer(CrumpleError):
    """A server's answer is not the one that its workload's contract specifies."""


class NoAnswer(WrongAnswer):
    """A server took too long to answer, or did not answer at all."""


class StorageFull(CrumpleError):
    """The disk is full, so a trial or a result is not stored. All that was stored before is intact."""


class NotWritable(CrumpleError):
    """Crumple cannot write to one of its own folders; the remedy names the variable that moves it."""


class NotStored(CrumpleError):
    """A stored run or trial that cannot be read."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM. Not an `Exception`: otherwise a trial would record it as its own failure."""
