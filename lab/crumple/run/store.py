"""Runs on disk: `run.json` and one file per trial, append-only, each whole or absent.

A trial is written beside its place, synced and renamed into it, and never changes afterwards; a crash or a
full disk loses at most the trial in flight. Nothing is judged here.
"""

import contextlib
import errno
import fcntl
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from crumple.contract import Frozen, TrialRecord
from crumple.errors import NotStored, NotWritable, StorageFull, UsageError
from crumple.parsing import first_fault
from crumple.record.disturbance import Disturbance

Status = Literal["measured", "failed"]


# Between the label of a trial and the number of its attempt.
AGAIN = "+"


class TrialIdentity(Frozen):
    """Which trial. `block` counts from 1, `position` is its place there, from 1; `twin`: the A/A control.

    `attempt`: 2 and more are repeats of a trial that was disturbed, under ids of their own.
    """

    id: str
    experiment: str
    block: int
    position: int
    server: str
    twin: bool
    seed: int
    attempt: int = 1

    @property
    def label(self) -> str:
        """What all attempts have in common: the id that was planned."""
        return self.id if self.attempt == 1 else self.id.rpartition(AGAIN)[0]

    def again(self) -> Self:
        """The next attempt."""
        attempt = self.attempt + 1
        return self.model_copy(update={"attempt": attempt, "id": f"{self.label}{AGAIN}{attempt}"})


class Failure(Frozen):
    """Where a trial ended and why. `step`: setup, build, start, answers, engine, database, answers-after,
    stop, lab.
    """

    step: str
    message: str
    output_tail: tuple[str, ...] = ()


class ServerFacts(Frozen):
    """The server as it ran. `start_s`: from launch to the first answer; None if it never answered."""

    versions: dict[str, str] = Field(default_factory=dict)
    start_s: float | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class DatabaseFacts(Frozen):
    """The database over the load. `place`: "private", or where the user's is. `cpu_s` None: not ours to see.

    `queries`: on the workload's table; all SELECT statements where the database counts no rows.
    """

    place: str
    version: str
    queries: int
    cpu_s: float | None


class Programs(Frozen):
    """What measured and was measured, each as a hash of its content. `server`: empty if it ran already."""

    server: str
    workload: str
    engine: str
    lab: str
    kernel: str


class StoredTrial(Frozen):
    """One trial, whatever became of it. A non-empty `problems` means measured, but not valid.

    `warnings`: what to know of it beside, valid or not.
    `host`: the machine's facts just before the load, with what it lacks under "problems".
    `database`: what it was asked and what that cost, where the workload asks one.
    `canary`: what became of the light requests beside the load, if there were any.
    `disturbance`: what others did to the machine meanwhile; None: it was not measured.
    `programs`: None of trials that could not be tried.
    `overhead_s`: the lab's own time, without the server's start and the engine's load.
    """

    trial: TrialIdentity
    status: Status
    failure: Failure | None
    server: ServerFacts
    host: dict[str, Any]
    record: TrialRecord | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    overhead_s: float
    canary: TrialRecord | None = None
    database: DatabaseFacts | None = None
    disturbance: Disturbance | None = None
    programs: Programs | None = None

    @property
    def disturbed(self) -> bool:
        """Others used the machine while it was measured; whatever else is to be said of it."""
        return self.disturbance is not None and self.disturbance.disturbed

    @property
    def skipped(self) -> bool:
        """Return whether it could not be tried here, for want of a runtime, of cores or of the database."""
        return self.failure is not None and self.failure.step == "setup"

    @property
    def valid(self) -> bool:
        """Measured, and it measured the server."""
        return self.status == "measured" and not self.problems


def replaced(trials: Sequence[StoredTrial]) -> set[str]:
    """Ids of those that a later attempt stands for."""
    last: dict[str, StoredTrial] = {}
    for each in sorted(trials, key=lambda each: each.trial.attempt):
        last[each.trial.label] = each
    return {each.trial.id for each in trials} - {each.trial.id for each in last.values()}


class RunStore:
    """The folder of one run. Trials that are there stay as they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_file = folder / "run.json"
        self._trials = folder / "trials"

    @classmethod
    def create(cls, runs: Path, name: str) -> Self | None:
        """The folder of a new run; None if another run has it. Raises StorageFull, NotWritable."""
        with _storage(runs):
            runs.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                (runs / name).mkdir()
                return cls(runs / name)
        return None

    @property
    def name(self) -> str:
        """The run's id, which is the folder's name."""
        return self.folder.name

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While inside, no other process runs this run. Raises UsageError if one does."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise UsageError(f"{self.name} is being run by another crumple", "wait until it ends") from None
        finally:
            os.close(folder)

    def write_run(self, document: str) -> None:
        """run.json, whole or as it was before. Raises StorageFull, NotWritable."""
        try:
            with _storage(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                _write_whole(self.run_file, document)
        except BaseException:
            # Of a run that cannot begin nothing stays; a folder that holds anything is not removed.
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            raise

    def discard(self) -> None:
        """Remove a run that has no trial yet, as far as that can be done."""
        with contextlib.suppress(OSError):
            if not self._trials.exists():
                self.run_file.unlink()
                self.folder.rmdir()

    def read_run(self) -> bytes:
        """run.json as it is. Raises NotStored."""
        try:
            return self.run_file.read_bytes()
        except OSError as error:
            raise NotStored(
                f"{self.folder} holds no run: {error.strerror}", f"list runs with: ls {self.folder.parent}"
            ) from None

    def add(self, trial: StoredTrial) -> Path:
        """Store one trial; its file. Raises FileExistsError if it is there already, StorageFull,
        NotWritable.
        """
        path = self.path_of(trial.trial.id)
        if path.exists():
            raise FileExistsError(f"{trial.trial.id} is stored already")
        with _storage(self.folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, trial.model_dump_json(by_alias=True))
        return path

    def set_aside(self, trial_id: str) -> Path:
        """Make room for another attempt at a trial; the earlier one is kept, out of every report.

        Raises StorageFull, NotWritable.
        """
        path = self.path_of(trial_id)
        aside = self._trials / "set-aside"
        with _storage(self.folder):
            aside.mkdir(exist_ok=True)
            attempt = len(list(aside.glob(f"{glob.escape(path.stem)}.*.json"))) + 1
            return path.rename(aside / f"{path.stem}.{attempt}.json")

    def trials(self) -> list[StoredTrial]:
        """All stored trials, by id. Raises NotStored if one cannot be read."""
        return [_read_trial(path) for path in sorted(self._trials.glob("*.json"))]

    def ids(self) -> set[str]:
        """Ids of the stored trials, without reading them."""
        return {path.stem.replace("__", "/") for path in self._trials.glob("*.json")}

    def path_of(self, trial_id: str) -> Path:
        """Where a trial is or will be stored."""
        return self._trials / f"{trial_id.replace('/', '__')}.json"


def find(runs: Path, name: str | None = None) -> RunStore:
    """The run called `name` (or the folder of that path), or the latest. Raises NotStored."""
    if name is not None:
        folders = [folder for folder in (runs / name, Path(name)) if (folder / "run.json").is_file()]
    else:
        folders = sorted((file.parent for file in runs.glob("*/run.json")), key=_began, reverse=True)
    if not folders:
        what = f"there is no run {name}" if name else "there is no run yet"
        raise NotStored(what, "start one with: crumple run todo-json --scale quick")
    return RunStore(folders[0])


def _began(folder: Path) -> tuple[str, str]:
    # A run's id ends in its date and time, which sort as text.
    return folder.name[-15:], folder.name


def _read_trial(path: Path) -> StoredTrial:
    try:
        return StoredTrial.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotStored(f"{path} cannot be read: {error.strerror}", "move it away") from None
    except ValidationError as error:
        if any(each["loc"][-1:] == ("version",) for each in error.errors()):
            raise NotStored(
                f"{path} is of another version of crumple",
                "read it with that version, or run the study again",
            ) from None
        raise NotStored(f"{path} is not a stored trial ({first_fault(error)})", "move it away") from None


def _write_whole(path: Path, text: str) -> None:
    """Write beside, sync, rename, sync the folder: a reader sees all of it or nothing."""
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
