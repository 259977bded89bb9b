"""The blocks of one run: what is left of each, and once more what was disturbed.

What a trial does is `trial`, which are to be repeated `again`; which block comes next is `session`'s to say.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from crumple.engine import Engine
from crumple.errors import NotFound, NotStored, UsageError
from crumple.machine import alone, capacity, ceiling
from crumple.record.figures import Figures, figures
from crumple.run import in_turns, ready, run_file, trial
from crumple.run.again import Attempts, Streak
from crumple.run.pace import Pace
from crumple.run.ready import Elsewhere, Ready
from crumple.run.run_file import RunFile
from crumple.run.run_plan import Block
from crumple.run.store import Failure, Programs, RunStore, StoredTrial, TrialIdentity
from crumple.study.study import Scale
from crumple.subject import database, server_toml, servers
from crumple.subject.server_toml import ServerDescription, Setting
from crumple.subject.workload import Workload

# Of a run, before the first repeat that has to wait for a calm machine.
PATIENCE_S = 10.0


class Watcher(ready.Watcher, in_turns.Watcher, Protocol):
    """Who is told how the run goes on."""

    def calibrating(self) -> None:
        """The engine's ceiling is being measured, after a trial that may have come near it."""

    def block(self, study: str, block: Block, why: str) -> None:
        """A block begins; `why` is empty where it is run whatever those before it came to."""

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
    """What all runs of a session are conducted with.

    `pace` learns from each trial, of which `noted` is told. `unfit`: experiments this machine cannot do, of
    which that has been said. `patience_s`: how long to wait for a calm machine before a trial is done again.
    `said`: what the machine lacks, of which the same.
    """

    load: Engine
    workloads: Mapping[str, Workload]
    databases: database.OnDemand
    watcher: Watcher
    pace: Pace = field(default_factory=Pace)
    noted: Callable[[], None] = lambda: None
    unfit: set[str] = field(default_factory=set)
    streak: Streak = field(default_factory=Streak)
    patience_s: float = PATIENCE_S
    said: set[str] = field(default_factory=set)


class Blocks:
    """Those of one run, each done when it is asked for, its trials stored as they end.

    `file`: run.json as it is now. `stored`: the trials so far, without their records. `has_done`: any by now.
    """

    def __init__(self, begun: Begun, root: Path, means: Means) -> None:
        self.file, self._means = begun.file, means
        self._described = servers.find(root)
        self._running: dict[str, Elsewhere] = {}
        for label, place in begun.file.brought.items():
            guest = ready.read(place, self._described)
            if isinstance(guest.what, Elsewhere):
                self._running[label] = guest.what
            else:
                self._described[label] = guest.what
        self.begun = replace(begun, to_do=left(begun))
        trials = begun.store.trials()
        for each in trials:
            means.pace.ended(each)
        self.stored = [_without_records(each) for each in trials]
        self._blocks_begun = {(each.trial.experiment, each.trial.block) for each in trials}
        self.figures: dict[str, Figures | None] = {}
        for each in _by_attempt(trials):
            self._read(each)
        self._earlier = {each.trial.id for each in self.stored if _makes_room(each, self.begun)}
        self._attempts = Attempts(each for each in self.stored if each.trial.id not in self._earlier)
        self._to_do = {each.id for each in self.begun.to_do}
        self.has_done = False
        self._programs: dict[str, str] = {}
        self._ready: Mapping[str, Ready] = {}

    @property
    def failed(self) -> dict[str, str]:
        """Return label → reason of each trial that failed or was skipped."""
        return {label: each.failure.message for label, each in self._last.items() if each.failure is not None}

    @property
    def skipped(self) -> set[str]:
        """Return the labels of trials that could not be tried on this machine."""
        return {label for label, each in self._last.items() if each.skipped}

    @property
    def _last(self) -> dict[str, StoredTrial]:
        return {each.trial.label: each for each in _by_attempt(self.stored)}

    def make_ready(self) -> None:
        """Its servers, checked and built. Raises UsageError where programs changed since its first trial."""
        open_blocks = [block for block in self.file.plan.blocks if self.left_in(block)]
        used = {each.server for block in open_blocks for each in self.left_in(block)}
        self._programs = {label: _program(label, self._described) for label in used}
        self._check_unmixed(open_blocks)
        for each in self._earlier:
            self.begun.store.set_aside(each)
        self.stored = [each for each in self.stored if each.trial.id not in self._earlier]
        for each in self._earlier:
            self.figures.pop(each, None)
        self._earlier = set()
        self._ready = ready.made_ready(used, self._described, self._running, self._means.watcher)

    def do(self, block: Block, why: str = "") -> None:
        """The trials of a block that are left, and once more those of it that were disturbed.

        `why`: empty where it is run whatever those before it came to. Raises StorageFull, NotWritable.
        """
        self._means.watcher.block(self.file.study.name, block, why)
        to_do = self.new_in(block)
        for group in [to_do] if self._shares_time(block) else [[each] for each in to_do]:
            self._together(group)
        while again := self._due(block):
            if not self._together(again):
                return

    @property
    def judges(self) -> bool:
        """Whether any of its experiments has more blocks if that is what its claims take."""
        scales = map(self.scale_of, self.file.study.experiments)
        return self.begun.only is None and any(each.least_blocks for each in scales)

    def _read(self, stored: StoredTrial) -> None:
        """Its figures, of which only the judging has need."""
        if self.judges:
            # One that cannot be read costs the run nothing but itself; the report says so.
            with contextlib.suppress(NotStored):
                self.figures[stored.trial.label] = figures(stored)

    def note(self, **changes: Any) -> None:
        """Write run.json with these changes. Raises StorageFull, NotWritable."""
        self.file = self.file.model_copy(update=changes)
        run_file.write(self.begun.store, self.file)

    def _check_unmixed(self, blocks: Sequence[Block]) -> None:
        if self.begun.mixed:
            return
        left = [each for block in blocks for each in self.left_in(block)]
        what = dict.fromkeys(name for each in left for name in self._changed(each))
        if what:
            raise UsageError(
                f"since {self.begun.store.name} was begun, this changed: {', '.join(what)}",
                "put it back, start a new run, or go on with --mixed, which marks the trials to come",
            )

    def _changed(self, identity: TrialIdentity) -> list[str]:
        now = self._programs_of(identity)
        return run_file.changed(self.stored, identity, now) if now else []

    def _programs_of(self, identity: TrialIdentity) -> Programs | None:
        """None where a workload is gone: then it cannot be tried."""
        experiment, known = self.file.study.experiments[identity.experiment], self._means.workloads
        names = [experiment.workload, *([experiment.canary.workload] if experiment.canary else [])]
        asked = [known[name] for name in names if name in known]
        if len(asked) < len(names):
            return None
        return run_file.programs(self._programs[identity.server], asked, self._means.load)

    def has_begun(self, block: Block) -> bool:
        """Whether any of its trials was tried before."""
        return (block.experiment, block.number) in self._blocks_begun

    def new_in(self, block: Block) -> list[TrialIdentity]:
        """What of a block has not been tried."""
        return [each for each in block.trials if each.id in self._to_do and self.begun.asks(each)]

    def left_in(self, block: Block) -> list[TrialIdentity]:
        """What of a block is to be done, or to be done again."""
        disturbed = self._attempts.disturbed(block, self.begun.labels) if self._due(block) else []
        return [*self.new_in(block), *disturbed]

    def _due(self, block: Block) -> list[TrialIdentity]:
        return self._attempts.due(block, self.begun.labels, together=self._shares_time(block))

    def _shares_time(self, block: Block) -> bool:
        return self.scale_of(block.experiment).slices > 1

    def scale_of(self, experiment: str) -> Scale:
        """The scale of the run, as that experiment has it."""
        return self.file.study.experiments[experiment].scales[self.file.scale]

    def _together(self, trials: Sequence[TrialIdentity]) -> bool:
        """Trials that share the time, or one; False: they are repeats, and the machine is busy."""
        jobs = [self._job(each) for each in trials]
        for identity, job in zip(trials, jobs, strict=True):
            if isinstance(job, Failure):
                self._store(trial.refused(identity, job, self._ready[identity.server].versions))
        can = [job for job in jobs if isinstance(job, trial.Job)]
        if can:
            with alone.turn(self._means.watcher.waiting):
                if can[0].trial.attempt > 1:
                    self._means.watcher.again(can[0].trial)
                    if not self._is_calm(can[0].trial):
                        return False
                self._measure(can)
        return True

    def _measure(self, jobs: Sequence[trial.Job]) -> None:
        means = self._means
        measured = in_turns.conduct(jobs, means.load, means.watcher)
        with contextlib.closing(measured):
            for stored in measured:
                self._store(stored)

    def _store(self, stored: StoredTrial) -> None:
        means = self._means
        self.begun.store.add(stored)
        self._to_do.discard(stored.trial.id)
        self._blocks_begun.add((stored.trial.experiment, stored.trial.block))
        self.has_done = True
        means.pace.ended(stored)
        self._attempts.note(stored)
        self.stored.append(_without_records(stored))
        self._read(stored)
        means.noted()
        means.watcher.ended(stored)
        for problem in set(stored.host.get("problems", ())) - means.said:
            means.said.add(problem)
            means.watcher.unfit(problem)
        if busy := means.streak.busy(stored):
            means.watcher.busy(busy)

    def _is_calm(self, identity: TrialIdentity) -> bool:
        """Wait for it, once in a session for long; if it does not get calm, say so."""
        means = self._means
        busy = alone.awaited(means.patience_s)
        if not busy:
            return True
        means.patience_s = 0.0
        means.watcher.busy(
            f"{busy}; the disturbed trials of block {identity.block} of {identity.experiment} are not done "
            "again"
        )
        return False

    def _job(self, identity: TrialIdentity) -> trial.Job | Failure:
        """All the trial needs, or why it cannot be tried."""
        server, means = self._ready[identity.server], self._means
        if server.built is None:
            assert server.refusal is not None
            return server.refusal
        experiment = self.file.study.experiments[identity.experiment]
        try:
            capacity.cores_for(experiment.placement, experiment.threads, experiment.server_cores)
            settings = _settings(identity.server, server.description)
            asked = _workload(experiment.workload, means)
            beside = _workload(experiment.canary.workload, means) if experiment.canary else None
        except UsageError as error:
            if identity.experiment not in means.unfit:
                means.unfit.add(identity.experiment)
                means.watcher.skipped(f"experiment {identity.experiment}", str(error))
            return Failure(step="setup", message=str(error))
        other = " and another ".join(self._changed(identity))
        return trial.Job(
            trial=identity,
            experiment=experiment,
            scale=experiment.scales[self.file.scale],
            workload=asked,
            built=server.built,
            versions=server.versions,
            settings=settings,
            ceiling=lambda record: ceiling.measured_after(
                means.load, record, ceiling.cache(), means.watcher.calibrating
            ),
            beside=beside,
            databases=means.databases,
            programs=self._programs_of(identity),
            mixed=f"measured with another {other} than earlier trials of the run" if other else "",
        )


def left(begun: Begun) -> tuple[TrialIdentity, ...]:
    """What of it is to be done as the store is now: another crumple may have done some since it was read."""
    kept = begun.store.ids()
    if begun.retry_failed:
        kept -= {stored.trial.id for stored in begun.store.trials() if stored.status == "failed"}
    return tuple(each for each in begun.to_do if each.id not in kept)


def _by_attempt(trials: Sequence[StoredTrial]) -> list[StoredTrial]:
    """The last attempt at each trial comes last."""
    return sorted(trials, key=lambda each: each.trial.attempt)


def _without_records(stored: StoredTrial) -> StoredTrial:
    """What of it a run has to keep in mind."""
    return stored.model_copy(update={"record": None, "canary": None})


def _program(label: str, described: Mapping[str, ServerDescription]) -> str:
    description = described.get(server_toml.server_of(label))
    return servers.program(description) if description else ""


def _makes_room(stored: StoredTrial, begun: Begun) -> bool:
    """What failed and is to be tried again; a repeat that did, too."""
    if stored.trial.attempt == 1:
        return stored.trial in begun.to_do
    return begun.retry_failed and stored.status == "failed" and begun.asks(stored.trial)


def _workload(name: str, means: Means) -> Workload:
    if name not in means.workloads:
        raise NotFound(f"there is no workload {name} any more", "put its file back, or start a new run")
    return means.workloads[name]


def _settings(label: str, description: ServerDescription | None) -> dict[str, Setting]:
    if description is None:
        return {}
    meant = server_toml.parse(label, server_toml.defaults({description.name: description}))
    return servers.settings_with(description, meant.settings)
