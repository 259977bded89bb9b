"""A run: plans a study, conducts its trials in order, continues what was cut off.

What a trial does is `trial`, how servers are made ready `ready`; what the user sees meanwhile is `live`.
Nothing is computed or judged here.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from crumple import engine
from crumple.contract import Progress
from crumple.database import database
from crumple.engine import Engine
from crumple.errors import NotFound, UsageError
from crumple.machine import calm, ceiling, costs, facts, machine, turns
from crumple.run import brought, plan, ready, run_file, trial
from crumple.run.again import Attempts, Streak
from crumple.run.brought import Brought, Elsewhere
from crumple.run.plan import Block
from crumple.run.ready import Ready
from crumple.run.run_file import RunFile, ServerNote
from crumple.run.store import Failure, RunStore, StoredTrial, TrialIdentity
from crumple.server import servers, start, variant
from crumple.server.server import ServerDescription, Setting
from crumple.study import selection
from crumple.study.study import ScaleName, Study
from crumple.workload import workload
from crumple.workload.workload import Workload

# Each by a process of its own, in about two seconds.
COST_READINGS = 3
PATIENCE_S = 10.0


class Watcher(ready.Watcher, Protocol):
    """Who is told how the run goes on."""

    def calibrating(self) -> None:
        """The engine's ceiling is being measured, after a trial that may have come near it."""

    def began(self, trial: TrialIdentity) -> None:
        """A trial begins."""

    def progress(self, trial: TrialIdentity, progress: Progress) -> None:
        """The engine's line of the last second."""

    def ended(self, stored: StoredTrial) -> None:
        """A trial is stored."""

    def again(self, trial: TrialIdentity) -> None:
        """A trial was disturbed, and is to be done once more as soon as the machine is calm."""

    def unfit(self, problem: str) -> None:
        """What this machine lacks for the load of a trial; each said once."""

    def busy(self, why: str) -> None:
        """Others use the machine, again and again, and what they disturb does not count."""


@dataclass(frozen=True)
class Begun:
    """A run that exists on disk, and what of it is still to be done, in order.

    `retry_failed`: trials that are stored as failed, too. `only`: the one trial that is asked for.
    """

    store: RunStore
    file: RunFile
    to_do: tuple[TrialIdentity, ...]
    retry_failed: bool = False
    only: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the trials that are asked for; empty: all."""
        return (self.only,) if self.only else ()

    def asks(self, trial: TrialIdentity) -> bool:
        """Whether it is among them."""
        return self.only in (None, trial.label)


def begin(
    asked: Study,
    scale: ScaleName,
    *,
    root: Path,
    runs: Path,
    seed: int | None,
    only: Collection[str],
    own: Sequence[str] = (),
    waiting: Callable[[], None],
) -> Begun:
    """Plan a new run, of the servers `only` if any are named, and write its run.json; None draws a seed.

    `own`: folders or URLs of servers that are not the project's. `waiting`: another crumple measures, and is
    waited for. Raises UsageError, StorageFull, NotWritable, and what the engine raises.
    """
    described = servers.find(root)
    guests = [brought.read(place, described) for place in own]
    meant = chosen(asked, scale, described, workload.find(root), only=only, guests=guests)
    seed = secrets.randbelow(2**32) if seed is None else seed
    planned = plan.plan(meant, scale, seed)
    loaded = engine.load(root)
    described |= {each.label: each.what for each in guests if isinstance(each.what, ServerDescription)}
    running = {each.label: each.what for each in guests if isinstance(each.what, Elsewhere)}
    used = sorted({each.server for each in planned.trials})
    notes = {label: _note(label, described, running) for label in used}
    versions = {label: _versions(label, described) for label in used}
    here = machine.facts() | _costs(meant, loaded, waiting)
    # Last, so that nothing is left of a run that cannot begin, and none begins before its turn came.
    began, store = _new_folder(runs, meant.name, scale)
    file = RunFile(
        id=store.name,
        study=meant,
        scale=scale,
        seed=seed,
        only=tuple(sorted(only)) if only else None,
        brought={each.label: each.place for each in guests},
        plan=planned,
        machine=here,
        servers=notes,
        versions=versions,
        lab_version=metadata.version("crumple"),
        engine_version=loaded.version,
        began=began.isoformat(timespec="seconds"),
    )
    run_file.write(store, file)
    return Begun(store, file, planned.trials)


def _costs(asked: Study, loaded: Engine, waiting: Callable[[], None]) -> dict[str, Any]:
    """What its claims need to know of the machine, measured before anything else runs here."""
    if not any(claim.kind == "figure" and claim.cost for claim in asked.claims):
        return {}
    with turns.turn(waiting):
        return {"costs": costs.readings(loaded, facts.usable_cores()[-1], COST_READINGS)}


def chosen(
    asked: Study,
    scale: ScaleName,
    described: Mapping[str, ServerDescription],
    workloads: Mapping[str, Workload],
    *,
    only: Collection[str],
    guests: Sequence[Brought] = (),
) -> Study:
    """The study as it is at the scale, with one's own servers and without those left out.

    Raises UsageError, also for values of parameters that a workload does not take.
    """
    meant = asked.at(scale)
    for guest in guests:
        if isinstance(guest.what, Elsewhere):
            answers = brought.answered(guest.what, list(meant.experiments.values()), workloads)
        else:
            answers = set(guest.what.workloads)
        meant = selection.joined(meant, guest.label, answers)
    if only:
        names = [*only, *(guest.label for guest in guests)]
        meant = selection.restricted(meant, names, variant.defaults(described))
    for name, experiment in meant.experiments.items():
        try:
            for asked_for in filter(None, (experiment, experiment.canary)):
                workloads[asked_for.workload].request_with(asked_for.parameters)
        except UsageError as error:
            raise UsageError(f"{asked.name}: experiment {name}: {error.message}", error.remedy) from None
    return meant


def resume(store: RunStore, *, retry_failed: bool) -> Begun:
    """Pick up a run where it was cut off. Failed trials stay as they are unless they are to be retried."""
    file = run_file.read(store)
    return _left(Begun(store, file, file.plan.trials, retry_failed))


def _left(begun: Begun) -> Begun:
    """What of it is to be done as the store is now."""
    kept = begun.store.ids()
    if begun.retry_failed:
        kept -= {stored.trial.id for stored in begun.store.trials() if stored.status == "failed"}
    return replace(begun, to_do=tuple(each for each in begun.to_do if each.id not in kept))


def narrowed(begun: Begun, trial_id: str) -> Begun:
    """The same run with one trial to do. Raises NotFound if it is not planned or is stored already."""
    one = plan.named(begun.file.plan, trial_id)
    if one not in begun.to_do:
        raise NotFound(f"{trial_id} is stored already", "take another one, or start a new run")
    return replace(begun, to_do=(one,), only=one.id)


def execute(begun: Begun, root: Path, watcher: Watcher, database_url: str | None = None) -> None:
    """Do what is to be done, trial by trial, each stored as it ends.

    Raises UsageError, also where another crumple runs this run, StorageFull and NotWritable.
    `database_url`: a database of the user's, for trials that need one; None: a private one.
    """
    load = engine.load(root)
    # Of a run that is resumed nobody has asked for the machine's facts.
    machine.raise_open_files()
    with begun.store.held(), database.on_demand(database_url) as databases:
        # Another crumple may have done some of it before this one held it.
        _conduct_all(_left(begun), root, _Means(load, workload.find(root), databases, watcher))


@dataclass
class _Means:
    """What all trials of a run are conducted with.

    `unfit`: experiments this machine cannot do, of which that has been said. `patience_s`: how long to wait
    for a calm machine before a trial is done again. `said`: what the machine lacks, of which the same.
    """

    load: Engine
    workloads: Mapping[str, Workload]
    databases: database.OnDemand
    watcher: Watcher
    unfit: set[str] = field(default_factory=set)
    attempts: Attempts = field(default_factory=Attempts)
    streak: Streak = field(default_factory=Streak)
    patience_s: float = PATIENCE_S
    said: set[str] = field(default_factory=set)


def _conduct_all(begun: Begun, root: Path, means: _Means) -> None:
    described = servers.find(root)
    running: dict[str, Elsewhere] = {}
    for label, place in begun.file.brought.items():
        guest = brought.read(place, described)
        if isinstance(guest.what, Elsewhere):
            running[label] = guest.what
        else:
            described[label] = guest.what
    _set_aside(begun)
    means.attempts = Attempts(begun.store.trials())
    blocks = [block for block in begun.file.plan.blocks if _left_in(block, begun, means.attempts)]
    used = {each.server for block in blocks for each in _left_in(block, begun, means.attempts)}
    servers_ready = ready.made_ready(used, described, running, means.watcher)
    for block in blocks:
        _block(begun, block, servers_ready, means)
    whole = {each.id for each in begun.file.plan.trials} <= begun.store.ids()
    if whole and (blocks or begun.file.ended is None):
        run_file.write(begun.store, begun.file.model_copy(update={"ended": run_file.now()}))


def _set_aside(begun: Begun) -> None:
    """Make room for what failed and is to be tried again."""
    earlier = begun.store.ids() & {each.id for each in begun.to_do}
    if begun.retry_failed:
        earlier |= {
            stored.trial.id
            for stored in begun.store.trials()
            if stored.trial.attempt > 1 and stored.status == "failed" and begun.asks(stored.trial)
        }
    for each in earlier:
        begun.store.set_aside(each)


def _left_in(block: Block, begun: Begun, attempts: Attempts) -> list[TrialIdentity]:
    """What of a block is to be done, or to be done again."""
    disturbed = attempts.disturbed(block) if attempts.due(block, begun.labels) else []
    return [each for each in (*begun.to_do, *disturbed) if each.label in block.labels and begun.asks(each)]


def _block(begun: Begun, block: Block, servers_ready: Mapping[str, Ready], means: _Means) -> None:
    """The trials of a block that are left, and once more those of it that were disturbed."""
    for each in begun.to_do:
        if each.id in block.labels:
            _one(begun, each, servers_ready[each.server], means)
    while (again := means.attempts.due(block, begun.labels)) is not None:
        if not _one(begun, again, servers_ready[again.server], means):
            return


def _one(begun: Begun, identity: TrialIdentity, server: Ready, means: _Means) -> bool:
    """Whether it was tried: no repeat is begun while others use the machine."""
    job = _job(begun, identity, server, means)
    if isinstance(job, Failure):
        stored = trial.refused(identity, job, server.versions)
        begun.store.add(stored)
    else:
        with turns.turn(means.watcher.waiting):
            if identity.attempt > 1:
                means.watcher.again(identity)
                if not _is_calm(identity, means):
                    return False
            means.watcher.began(identity)
            stored = trial.conduct(
                job, means.load, begun.store, lambda progress: means.watcher.progress(identity, progress)
            )
    means.attempts.note(stored)
    means.watcher.ended(stored)
    for problem in set(stored.host.get("problems", ())) - means.said:
        means.said.add(problem)
        means.watcher.unfit(problem)
    if busy := means.streak.busy(stored):
        means.watcher.busy(busy)
    return True


def _is_calm(identity: TrialIdentity, means: _Means) -> bool:
    """Wait for it, once in a run for long; if it does not get calm, say so."""
    busy = calm.awaited(means.patience_s)
    if not busy:
        return True
    means.patience_s = 0.0
    means.watcher.busy(
        f"{busy}: trials of block {identity.block} of {identity.experiment} that were disturbed "
        "are not done again"
    )
    return False


def _job(begun: Begun, identity: TrialIdentity, server: Ready, means: _Means) -> trial.Job | Failure:
    """All the trial needs, or why it cannot be tried."""
    if server.built is None:
        assert server.refusal is not None
        return server.refusal
    experiment = begun.file.study.experiments[identity.experiment]
    try:
        machine.cores_for(experiment.placement, experiment.threads, experiment.server_cores)
        settings = _settings(identity.server, server.description)
        asked = _workload(experiment.workload, means)
        beside = _workload(experiment.canary.workload, means) if experiment.canary else None
    except UsageError as error:
        if identity.experiment not in means.unfit:
            means.unfit.add(identity.experiment)
            means.watcher.skipped(f"experiment {identity.experiment}", str(error))
        return Failure(step="setup", message=str(error))
    return trial.Job(
        trial=identity,
        experiment=experiment,
        scale=experiment.scales[begun.file.scale],
        workload=asked,
        built=server.built,
        versions=server.versions,
        settings=settings,
        ceiling=lambda record: ceiling.measured_after(
            means.load, record, ceiling.cache(), means.watcher.calibrating
        ),
        beside=beside,
        databases=means.databases,
    )


def _workload(name: str, means: _Means) -> Workload:
    if name not in means.workloads:
        raise NotFound(f"there is no workload {name} any more", "put its file back, or start a new run")
    return means.workloads[name]


def _settings(label: str, description: ServerDescription | None) -> dict[str, Setting]:
    if description is None:
        return {}
    meant = variant.parse(label, variant.defaults({description.name: description}))
    return start.settings_with(description, meant.settings)


def _new_folder(runs: Path, study_name: str, scale: ScaleName) -> tuple[datetime, RunStore]:
    """The present, or the first second after it in which no run of that name began, and the folder it names.

    Raises StorageFull, NotWritable.
    """
    began = datetime.now(UTC)
    while (made := RunStore.create(runs, run_file.run_id(study_name, scale, began))) is None:
        began += timedelta(seconds=1)
    return began, made


def _versions(label: str, described: Mapping[str, ServerDescription]) -> dict[str, str]:
    description = described.get(variant.server_of(label))
    return servers.versions(description) if description else {}


def _note(
    label: str, described: Mapping[str, ServerDescription], running: Mapping[str, Elsewhere]
) -> ServerNote:
    if label in running:
        about = "A server that ran already: the same process in every trial."
        return ServerNote(title=running[label].url, language="", io_model="", about=about, libraries={})
    description = described[variant.server_of(label)]
    return ServerNote(
        title=description.title,
        language=description.language,
        io_model=description.io_model,
        about=description.about,
        libraries=dict(description.libraries),
    )
