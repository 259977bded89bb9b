"""Runs on disk: `run.json` and one file per trial. A file is complete or absent, and a trial's never changes.

A trial is written to a temporary file, synced, and renamed. So a crash or a full disk loses at most the trial
in progress.
"""

import contextlib
import errno
import fcntl
import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from crumple.contract import TrialRecord
from crumple.contract_base import Frozen
from crumple.errors import NotStored, NotWritable, StorageFull, UsageError
from crumple.parsing import first_fault
from crumple.record.disturbance import Disturbance
from crumple.run import alike

Status = Literal["measured", "failed"]


class TrialIdentity(Frozen):
    """Identifies a trial. `block`, and the `position` in it, count from 1."""

    id: str
    experiment: str
    block: int
    position: int
    server: str
    twin: bool
    """Whether it is the A/A control."""
    seed: int


class Failure(Frozen):
    """Where and why a trial failed."""

    step: str
    """One of setup, build, start, answers, fitness, engine, database, answers-after, stop and validity."""
    message: str
    output_tail: tuple[str, ...] = ()


class StoredServer(Frozen):
    """The server as it ran."""

    versions: dict[str, str] = Field(default_factory=dict)
    cores: int | None = None
    """How many cores it could use; None: that was not settled when the trial failed."""
    start_s: float | None = None
    """Seconds from launch to the first answer; None: it never answered."""
    settings: dict[str, Any] = Field(default_factory=dict)


class DatabaseFacts(Frozen):
    """What the database did during the load."""

    place: str
    """The word "private", or the address of the user's database."""
    version: str
    queries: int
    """Queries on the workload's table, or all SELECT statements if the database does not count rows."""
    cpu_s: float | None
    """None: we cannot see its CPU time."""


class ProgramHashes(Frozen):
    """A hash of each program of a trial, the kernel's release, and the host."""

    server: str
    """Empty if it ran already."""
    workload: str
    engine: str
    lab: str
    kernel: str
    host: str = ""
    """What tells the machine from others; empty: that is not known."""


class StoredTrial(Frozen):
    """The result of one trial, measured or failed. With `problems` it was measured but is not valid."""

    trial: TrialIdentity
    status: Status
    failure: Failure | None
    server: StoredServer
    host: dict[str, Any]
    """The machine's facts just before the load; its shortcomings are under "problems"."""
    record: TrialRecord | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    """What a reader should know about it, valid or not."""
    overhead_s: float
    """The lab's own time, without the server's start and the engine's load."""
    canary: TrialRecord | None = None
    """The record of the light requests beside the load, if there were any."""
    database: DatabaseFacts | None = None
    """What it was asked and what that cost, if the workload uses one."""
    disturbance: Disturbance | None = None
    """What others took from it; None if the trial was not measured."""
    programs: ProgramHashes | None = None
    """None if the trial could not be tried."""

    @property
    def skipped(self) -> bool:
        """Return whether it could not be tried here because a runtime, cores or the database are missing."""
        return self.failure is not None and self.failure.step == "setup"

    @property
    def host_id(self) -> str:
        """Return the host that tried it; empty: it could not be tried, or the host is not known."""
        return self.programs.host if self.programs else ""

    @property
    def valid(self) -> bool:
        """Return whether the trial was measured and has no problems."""
        return self.status == "measured" and not self.problems


class RunStore:
    """The folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_file = folder / "run.json"
        self._trials = folder / "trials"

    @classmethod
    def create(cls, runs: Path, name: str) -> Self | None:
        """Create the folder of a new run; None if it exists already. Raises StorageFull, NotWritable."""
        with _storage(runs):
            runs.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                (runs / name).mkdir()
                return cls(runs / name)
        return None

    @property
    def name(self) -> str:
        """Return the run's id, which is the folder's name."""
        return self.folder.name

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the run until the context ends. Raises UsageError if another process holds the lock."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise UsageError(f"{self.name} is being run by another crumple", "wait until it ends") from None
        finally:
            os.close(folder)

    def write_run(self, document: str) -> None:
        """Replace run.json; on an error it stays as it was. Raises StorageFull, NotWritable."""
        try:
            with _storage(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                _write_whole(self.run_file, document)
        except BaseException:
            # A run that cannot begin leaves no folder. rmdir removes the folder only if it is empty.
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            raise

    def discard(self) -> None:
        """Remove the run if it has no trial yet. Errors are ignored."""
        with contextlib.suppress(OSError):
            if not self._trials.exists():
                self.run_file.unlink()
                self.folder.rmdir()

    def read_run(self) -> bytes:
        """Return the content of run.json. Raises NotStored."""
        try:
            return self.run_file.read_bytes()
        except OSError as error:
            raise NotStored(
                f"{self.folder} holds no run: {error.strerror}", f"list runs with: ls {self.folder.parent}"
            ) from None

    def add(self, trial: StoredTrial) -> Path:
        """Store one trial and return its file.

        Raises FileExistsError if the trial is stored already, StorageFull, NotWritable.
        """
        path = self.path_of(trial.trial.id)
        if path.exists():
            raise FileExistsError(f"{trial.trial.id} is stored already")
        with _storage(self.folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, trial.model_dump_json(by_alias=True))
        return path

    def copy(self, other: "RunStore", trial_id: str) -> None:
        """Store a trial of another run as it is. Raises NotStored, StorageFull, NotWritable."""
        try:
            written = other.path_of(trial_id).read_text(encoding="utf-8")
        except OSError as error:
            raise NotStored(
                f"cannot read {trial_id} of {other.name}: {error.strerror}", "try again"
            ) from None
        path = self.path_of(trial_id)
        with _storage(self.folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, written)

    def set_aside(self, trial_id: str) -> Path:
        """Move a stored trial to the folder set-aside, which no report reads, so that it can be tried again.

        Raises StorageFull, NotWritable.
        """
        path = self.path_of(trial_id)
        aside = self._trials / "set-aside"
        with _storage(self.folder):
            aside.mkdir(exist_ok=True)
            attempt = len(list(aside.glob(f"{glob.escape(path.stem)}.*.json"))) + 1
            return path.rename(aside / f"{path.stem}.{attempt}.json")

    def trials(self) -> list[StoredTrial]:
        """Read all stored trials, sorted by id, without the samples of the engine's own process.

        Raises NotStored if one cannot be read.
        """
        return [*alike.share(_read_trial(path) for path in sorted(self._trials.glob("*.json")))]

    def trial(self, trial_id: str) -> StoredTrial:
        """Read one stored trial. Raises NotStored."""
        return _read_trial(self.path_of(trial_id))

    def ids(self) -> set[str]:
        """Return the ids of the stored trials, without reading the trials."""
        return {path.stem.replace("__", "/") for path in self._trials.glob("*.json")}

    def path_of(self, trial_id: str) -> Path:
        """Return the file in which a trial is stored, or would be."""
        return self._trials / f"{trial_id.replace('/', '__')}.json"


def find(runs: Path, name: str | None = None) -> RunStore:
    """Return the run named `name`, or in the folder of that path; None: the latest run. Raises NotStored."""
    if name is not None:
        folders = [folder for folder in (runs / name, Path(name)) if (folder / "run.json").is_file()]
    else:
        folders = sorted((file.parent for file in runs.glob("*/run.json")), key=began, reverse=True)
    if not folders:
        what = f"there is no run {name}" if name else "there is no run yet"
        raise NotStored(what, "start one with: crumple run todo-json --scale quick")
    return RunStore(folders[0])


def began(folder: Path) -> tuple[str, str]:
    """Return the sort key of a run's folder, by which the run that began last is the greatest."""
    # A run's id ends with its date and time, which sort as text.
    return folder.name[-15:], folder.name


def _read_trial(path: Path) -> StoredTrial:
    try:
        return StoredTrial.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotStored(f"cannot read {path}: {error.strerror}", "move it away") from None
    except ValidationError as error:
        if any(each["loc"][-1:] == ("version",) for each in error.errors()):
            raise NotStored(
                f"{path} was written by another version of crumple",
                "read it with that version, or run the study again",
            ) from None
        raise NotStored(f"{path} is not a stored trial ({first_fault(error)})", "move it away") from None


def _write_whole(path: Path, text: str) -> None:
    """Write to a temporary file, sync, rename, and sync the folder: a reader sees the whole text or none."""
    beside = path.with_name(f".{path.name}.tmp")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def _storage(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            message = f"no space left for {folder}; every trial stored before is intact"
            raise StorageFull(message, "free some space, then continue with --resume") from None
        message = f"cannot write {folder}: {error.strerror}"
        raise NotWritable(message, "name another place in CRUMPLE_RUNS") from None
