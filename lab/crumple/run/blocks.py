"""The trials of a run, block by block: what is left of each, and once more what was disturbed.

What a trial does is `trial`, which are to be repeated `again`; a run is begun and taken up by `run`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from crumple.contract import Progress
from crumple.database import database
from crumple.engine import Engine
from crumple.errors import NotFound, UsageError
from crumple.machine import calm, ceiling, machine, turns
from crumple.run import brought, programs, ready, run_file, trial
from crumple.run.again import Attempts, Streak
from crumple.run.brought import Elsewhere
from crumple.run.plan import Block
from crumple.run.ready import Ready
from crumple.run.run_file import RunFile
from crumple.run.store import Failure, Programs, RunStore, StoredTrial, TrialIdentity
from crumple.server import servers, start, variant
from crumple.server.server import ServerDescription, Setting
from crumple.workload.workload import Workload

# Of a run, before the first repeat that has to wait for a calm machine.
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
    `mixed`: go on though programs have changed since its first trials, and mark the others.
    """

    store: RunStore
    file: RunFile
    to_do: tuple[TrialIdentity, ...]
    retry_failed: bool = False
    only: str | None = None
    mixed: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of the trials that are asked for; empty: all."""
        return (self.only,) if self.only else ()

    def asks(self, trial: TrialIdentity) -> bool:
        """Whether it is among them."""
        return self.only in (None, trial.label)


@dataclass
class Means:
    """What all trials of a run are conducted with.

    `unfit`: experiments this machine cannot do, of which that has been said. `patience_s`: how long to wait
    for a calm machine before a trial is done again. `said`: what the machine lacks, of which the same.
    `stored`: the trials so far, without their records; `programs`: server → the hash of its program.
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
    stored: list[StoredTrial] = field(default_factory=list)
    programs: dict[str, str] = field(default_factory=dict)


def conduct_all(begun: Begun, root: Path, means: Means) -> None:
    """What is left of a run, each trial stored as it ends. Raises UsageError, StorageFull, NotWritable."""
    described = servers.find(root)
    running: dict[str, Elsewhere] = {}
    for label, place in begun.file.brought.items():
        guest = brought.read(place, described)
        if isinstance(guest.what, Elsewhere):
            running[label] = guest.what
        else:
            described[label] = guest.what
    means.stored = [_without_records(each) for each in begun.store.trials()]
    earlier = {each.trial.id for each in means.stored if _makes_room(each, begun)}
    means.attempts = Attempts(each for each in means.stored if each.trial.id not in earlier)
    blocks = [block for block in begun.file.plan.blocks if _left_in(block, begun, means.attempts)]
    used = {each.server for block in blocks for each in _left_in(block, begun, means.attempts)}
    means.programs = {label: _program(label, described) for label in used}
    _unmixed(begun, blocks, means)
    for each in earlier:
        begun.store.set_aside(each)
    servers_ready = ready.made_ready(used, described, running, means.watcher)
    for block in blocks:
        _block(begun, block, servers_ready, means)
    whole = {each.id for each in begun.file.plan.trials} <= begun.store.ids()
    if whole and (blocks or begun.file.ended is None):
        run_file.write(begun.store, begun.file.model_copy(update={"ended": run_file.now()}))


def _without_records(stored: StoredTrial) -> StoredTrial:
    """What of it a run has to keep in mind."""
    return stored.model_copy(update={"record": None, "canary": None})


def _program(label: str, described: Mapping[str, ServerDescription]) -> str:
    description = described.get(variant.server_of(label))
    return servers.program(description) if description else ""


def _unmixed(begun: Begun, blocks: Sequence[Block], means: Means) -> None:
    """Return if what is left is measured with the programs of what is stored. Raises UsageError."""
    if begun.mixed:
        return
    left = [each for block in blocks for each in _left_in(block, begun, means.attempts)]
    what = dict.fromkeys(name for each in left for name in _changed(begun, each, means))
    if what:
        raise UsageError(
            f"since {begun.store.name} was begun, this changed: {', '.join(what)}",
            "put it back, start a new run, or go on with --mixed, which marks the trials to come",
        )


def _changed(begun: Begun, identity: TrialIdentity, means: Means) -> list[str]:
    now = _programs(begun, identity, means)
    return programs.changed(means.stored, identity, now) if now else []


def _programs(begun: Begun, identity: TrialIdentity, means: Means) -> Programs | None:
    """None where a workload is gone: then it cannot be tried."""
    experiment = begun.file.study.experiments[identity.experiment]
    names = [experiment.workload, *([experiment.canary.workload] if experiment.canary else [])]
    asked = [means.workloads[name] for name in names if name in means.workloads]
    if len(asked) < len(names):
        return None
    return programs.programs(means.programs[identity.server], asked, means.load)


def _makes_room(stored: StoredTrial, begun: Begun) -> bool:
    """What failed and is to be tried again; a repeat that did, too."""
    if stored.trial.attempt == 1:
        return stored.trial in begun.to_do
    return begun.retry_failed and stored.status == "failed" and begun.asks(stored.trial)


def _left_in(block: Block, begun: Begun, attempts: Attempts) -> list[TrialIdentity]:
    """What of a block is to be done, or to be done again."""
    disturbed = attempts.disturbed(block) if attempts.due(block, begun.labels) else []
    return [each for each in (*begun.to_do, *disturbed) if each.label in block.labels and begun.asks(each)]


def _block(begun: Begun, block: Block, servers_ready: Mapping[str, Ready], means: Means) -> None:
    """The trials of a block that are left, and once more those of it that were disturbed."""
    for each in begun.to_do:
        if each.id in block.labels:
            _one(begun, each, servers_ready[each.server], means)
    while (again := means.attempts.due(block, begun.labels)) is not None:
        if not _one(begun, again, servers_ready[again.server], means):
            return


def _one(begun: Begun, identity: TrialIdentity, server: Ready, means: Means) -> bool:
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
    means.stored.append(_without_records(stored))
    means.watcher.ended(stored)
    for problem in set(stored.host.get("problems", ())) - means.said:
        means.said.add(problem)
        means.watcher.unfit(problem)
    if busy := means.streak.busy(stored):
        means.watcher.busy(busy)
    return True


def _is_calm(identity: TrialIdentity, means: Means) -> bool:
    """Wait for it, once in a run for long; if it does not get calm, say so."""
    busy = calm.awaited(means.patience_s)
    if not busy:
        return True
    means.patience_s = 0.0
    means.watcher.busy(
        f"{busy}; the disturbed trials of block {identity.block} of {identity.experiment} are not done again"
    )
    return False


def _job(begun: Begun, identity: TrialIdentity, server: Ready, means: Means) -> trial.Job | Failure:
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
    other = " and another ".join(_changed(begun, identity, means))
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
        programs=_programs(begun, identity, means),
        mixed=f"measured with another {other} than earlier trials of the run" if other else "",
    )


def _workload(name: str, means: Means) -> Workload:
    if name not in means.workloads:
        raise NotFound(f"there is no workload {name} any more", "put its file back, or start a new run")
    return means.workloads[name]


def _settings(label: str, description: ServerDescription | None) -> dict[str, Setting]:
    if description is None:
        return {}
    meant = variant.parse(label, variant.defaults({description.name: description}))
    return start.settings_with(description, meant.settings)
