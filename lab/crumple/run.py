"""A run: plans a study, makes its servers ready, conducts the trials in order, continues what was cut off.

What a trial does is `trial`; what the user sees meanwhile is `live`. Nothing is computed or judged here.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Protocol

from crumple import ceiling, engine, listening, machine, plan, run_file, servers, study, trial, workload
from crumple.ceiling import Ceiling
from crumple.contract import Progress
from crumple.engine import Engine
from crumple.errors import CrumpleError, NotFound, ServerFailed
from crumple.run_file import RunFile, ServerNote
from crumple.server import ServerDescription
from crumple.store import Failure, RunStore, StoredTrial, TrialIdentity
from crumple.study import ScaleName, Study


class Watcher(Protocol):
    """Who is told how the run goes on."""

    def preparing(self, server: str) -> None:
        """A server is being built, which may take minutes the first time."""

    def calibrating(self) -> None:
        """The engine's ceiling is being measured, once for each kind of load since the machine started."""

    def skipped(self, server: str, reason: str) -> None:
        """None of this server's trials can be tried; `reason` holds the remedy."""

    def began(self, trial: TrialIdentity) -> None:
        """A trial begins."""

    def progress(self, trial: TrialIdentity, progress: Progress) -> None:
        """The engine's line of the last second."""

    def ended(self, stored: StoredTrial) -> None:
        """A trial is stored."""


@dataclass(frozen=True)
class Begun:
    """A run that exists on disk, and what of it is still to be done, in order."""

    store: RunStore
    file: RunFile
    to_do: tuple[TrialIdentity, ...]


def begin(
    asked: Study, scale: ScaleName, *, root: Path, runs: Path, seed: int | None, only: Collection[str]
) -> Begun:
    """Plan a new run, of the servers `only` if any are named, and write its run.json; None draws a seed.

    Raises UsageError, StorageFull, and what the engine raises.
    """
    meant = study.restricted(asked, only) if only else asked
    seed = secrets.randbelow(2**32) if seed is None else seed
    planned = plan.plan(meant, scale, seed)
    loaded = engine.load(root)
    described = servers.find(root)
    used = sorted({each.server for each in planned.trials})
    began, name = _unused_id(runs, meant.name, scale)
    file = RunFile(
        id=name,
        study=meant,
        scale=scale,
        seed=seed,
        only=tuple(sorted(only)) if only else None,
        plan=planned,
        machine=machine.facts(),
        servers={name: _note(described[name]) for name in used},
        versions={name: servers.versions(described[name]) for name in used},
        lab_version=metadata.version("crumple"),
        engine_version=loaded.version,
        began=began.isoformat(timespec="seconds"),
    )
    store = RunStore(runs / file.id)
    run_file.write(store, file)
    return Begun(store, file, planned.trials)


def resume(store: RunStore, *, retry_failed: bool) -> Begun:
    """Pick up a run where it was cut off. Failed trials stay as they are unless they are to be retried."""
    file = run_file.read(store)
    if retry_failed:
        for stored in store.trials():
            if stored.status == "failed":
                store.set_aside(stored.trial.id)
    done = store.ids()
    return Begun(store, file, tuple(each for each in file.plan.trials if each.id not in done))


def narrowed(begun: Begun, trial_id: str) -> Begun:
    """The same run with one trial to do. Raises NotFound if it is not planned or is stored already."""
    for each in begun.to_do:
        if each.id == trial_id:
            return Begun(begun.store, begun.file, (each,))
    if any(each.id == trial_id for each in begun.file.plan.trials):
        raise NotFound(f"{trial_id} is stored already", "take another one, or start a new run")
    examples = ", ".join(each.id for each in begun.file.plan.trials[:2])
    raise NotFound(f"the plan has no trial {trial_id}", f"its trials are {examples} and so on")


def execute(begun: Begun, root: Path, watcher: Watcher) -> None:
    """Do what is to be done, trial by trial, each stored as it ends. Raises StorageFull, UsageError."""
    load = engine.load(root)
    means = _Means(load, workload.find(root), watcher)
    with begun.store.held():
        _conduct_all(begun, root, means)


@dataclass(frozen=True)
class _Means:
    """What all trials of a run are conducted with. `ceilings`: the engine's, by experiment, once it began."""

    load: Engine
    workloads: Mapping[str, workload.Workload]
    watcher: Watcher
    ceilings: dict[str, Ceiling | None] = field(default_factory=dict)


def _conduct_all(begun: Begun, root: Path, means: _Means) -> None:
    ready = _made_ready({each.server for each in begun.to_do}, servers.find(root), means.watcher)
    for each in begun.to_do:
        _one(begun, each, ready[each.server], means)
    if {each.id for each in begun.file.plan.trials} <= begun.store.ids():
        run_file.write(begun.store, begun.file.model_copy(update={"ended": run_file.now()}))


@dataclass(frozen=True)
class _Ready:
    """A server as its trials find it: built, or why not."""

    description: ServerDescription | None
    versions: Mapping[str, str]
    built: servers.Built | None
    refusal: Failure | None


def _one(begun: Begun, identity: TrialIdentity, server: _Ready, means: _Means) -> None:
    if server.built is None or server.description is None:
        assert server.refusal is not None
        stored = trial.refused(identity, server.refusal, server.versions)
        begun.store.add(stored)
        means.watcher.ended(stored)
        return
    experiment = begun.file.study.experiments[identity.experiment]
    settings = {name: setting.default for name, setting in server.description.settings.items()}
    job = trial.Job(
        trial=identity,
        experiment=experiment,
        scale=experiment.scales[begun.file.scale],
        workload=means.workloads[experiment.workload],
        built=server.built,
        versions=server.versions,
        settings=settings,
    )
    job = replace(job, ceiling=_ceiling(job, means))
    means.watcher.began(identity)
    stored = trial.conduct(
        job, means.load, begun.store, lambda progress: means.watcher.progress(identity, progress)
    )
    means.watcher.ended(stored)


def _ceiling(job: trial.Job, means: _Means) -> Ceiling | None:
    """The engine's ceiling under the experiment's load, before any server is there to be disturbed."""
    name = job.trial.experiment
    if name not in means.ceilings:
        means.watcher.calibrating()
        like = trial.spec_of(job, f"{listening.HOST}:0", None, ())
        means.ceilings[name] = ceiling.ceiling(means.load, like, ceiling.cache())
    return means.ceilings[name]


def _made_ready(
    names: Collection[str], described: Mapping[str, ServerDescription], watcher: Watcher
) -> dict[str, _Ready]:
    """Build every server before the first trial, so that no compiler disturbs a measurement."""
    return {name: _made_one_ready(name, described.get(name), watcher) for name in sorted(names)}


def _made_one_ready(name: str, description: ServerDescription | None, watcher: Watcher) -> _Ready:
    if description is None:
        return _refuse(
            name, None, {}, Failure(step="setup", message=f"there is no server {name} any more"), watcher
        )
    readiness = servers.readiness(description)
    if isinstance(readiness, servers.Missing):
        message = f"{readiness.reason}; {readiness.remedy}" if readiness.remedy else readiness.reason
        return _refuse(name, description, {}, Failure(step="setup", message=message), watcher)
    versions = servers.versions(description)
    watcher.preparing(name)
    try:
        return _Ready(description, versions, servers.build(description), None)
    except CrumpleError as error:
        tail = error.output_tail if isinstance(error, ServerFailed) else ()
        failure = Failure(step="build", message=str(error), output_tail=tail)
        return _refuse(name, description, versions, failure, watcher)


def _refuse(
    name: str,
    description: ServerDescription | None,
    versions: Mapping[str, str],
    failure: Failure,
    watcher: Watcher,
) -> _Ready:
    watcher.skipped(name, failure.message)
    return _Ready(description, versions, None, failure)


def _unused_id(runs: Path, study_name: str, scale: ScaleName) -> tuple[datetime, str]:
    """The present, or the first second after it in which no run of that name began."""
    began = datetime.now(UTC)
    while (runs / run_file.run_id(study_name, scale, began)).exists():
        began += timedelta(seconds=1)
    return began, run_file.run_id(study_name, scale, began)


def _note(description: ServerDescription) -> ServerNote:
    return ServerNote(
        title=description.title,
        language=description.language,
        io_model=description.io_model,
        about=description.about,
        libraries=dict(description.libraries),
    )
