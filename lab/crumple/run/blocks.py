"""Execute the blocks of one run: the trials that are left in each.

`trial` executes one trial, and `session` decides which block comes next.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from crumple.engine import Engine
from crumple.errors import NotFound, NotStored, UsageError
from crumple.machine import alone, capacity, ceiling, facts
from crumple.record.figures import Figures, figures
from crumple.run import in_turns, ready, run_file, run_plan, trial
from crumple.run.pace import TrialPace
from crumple.run.ready import Elsewhere, ReadyServer
from crumple.run.run_file import ChosenBlock, Host, RunFile
from crumple.run.run_plan import Block
from crumple.run.store import Failure, ProgramHashes, RunStore, StoredTrial, TrialIdentity
from crumple.study.study import Study
from crumple.study.study_load import Scale
from crumple.subject import database, server_toml, servers
from crumple.subject.server_toml import ServerDescription, Setting
from crumple.subject.workload import Workload


class RunWatcher(ready.ReadyWatcher, in_turns.TurnWatcher, Protocol):
    """Receives the events of a run."""

    def calibrating(self) -> None:
        """The engine's ceiling is being measured, because a trial may have come near it."""

    def block(self, study: Study, block: Block, why: str) -> None:
        """A block begins; `why` is empty if it is run whatever the results so far are."""

    def ended(self, stored: StoredTrial) -> None:
        """A trial ended and is stored."""

    def over(self, run: "Begun") -> None:
        """A run has had all blocks that it must have; its claims can be judged."""

    def unfit(self, problem: str) -> None:
        """This machine lacks something for the load of a trial. Called once per problem."""


@dataclass(frozen=True)
class Begun:
    """A run that exists on disk, and the trials that it still has to do, in order."""

    store: RunStore
    file: RunFile
    to_do: tuple[TrialIdentity, ...]
    retry_failed: bool = False
    """Whether to repeat trials that are stored as failed."""
    asked: frozenset[str] | None = None
    """The ids of the trials that are asked for; None: all are."""
    mixed: bool = False
    """Whether to continue although programs changed since the first trials. Later trials are then marked."""

    def asks(self, trial: TrialIdentity) -> bool:
        """Return whether the trial is asked for."""
        return self.asked is None or trial.id in self.asked


@dataclass
class Means:
    """What all runs of a session share. `pace` learns from each trial; `noted` is called after each."""

    load: Engine
    workloads: Mapping[str, Workload]
    databases: database.OnDemand
    watcher: RunWatcher
    pace: TrialPace = field(default_factory=TrialPace)
    noted: Callable[[], None] = lambda: None
    unfit: set[str] = field(default_factory=set)
    """The experiments that this machine cannot do, as the user knows."""
    said: set[str] = field(default_factory=set)
    """The problems of this machine that the user knows."""


class Blocks:
    """The blocks of one run. `do` executes one of them and stores its trials as they end.

    `file`: the present content of run.json. `stored`: the trials so far, without their records. `has_done`:
    whether this session stored a trial of the run.
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
        self.begun = replace(begun, to_do=trials_left(begun))
        trials = begun.store.trials()
        for each in trials:
            means.pace.ended(each)
        self.stored = [_without_records(each) for each in trials]
        self._blocks_begun = {(each.trial.experiment, each.trial.block) for each in trials}
        self.figures: dict[str, Figures | None] = {}
        for each in trials:
            self._read(each)
        self._earlier = {each.trial.id for each in self.stored if _makes_room(each, self.begun)}
        self._to_do = {each.id for each in self.begun.to_do}
        self.has_done = False
        self._programs: dict[str, str] = {}
        self._ready: Mapping[str, ReadyServer] = {}

    @property
    def failed(self) -> dict[str, str]:
        """Return label → reason for each trial that failed or was skipped."""
        return {each.trial.id: each.failure.message for each in self.stored if each.failure is not None}

    @property
    def skipped(self) -> set[str]:
        """Return the labels of trials that could not be tried on this machine."""
        return {each.trial.id for each in self.stored if each.skipped}

    def make_ready(self) -> None:
        """Check and build the run's servers. Raises UsageError if programs changed since its first trial."""
        used = self._cleared()
        self._ready = ready.make_ready(used, self._described, self._running, self._means.watcher)
        self._note_host()

    def _cleared(self) -> set[str]:
        """Make room for trials that are tried again; return the servers that are used.

        Raises UsageError if programs changed.
        """
        open_blocks = [block for block in self.file.blocks if self.left_in(block)]
        used = {each.server for block in open_blocks for each in self.left_in(block)}
        if self.file.study.map is not None:
            # Any of them may be in a block that is planned later.
            used |= {each.server for each in self.file.plan.trials}
        self._programs = {label: _program(label, self._described) for label in used}
        self._check_unmixed(open_blocks)
        for each in self._earlier:
            self.begun.store.set_aside(each)
        self.stored = [each for each in self.stored if each.trial.id not in self._earlier]
        for each in self._earlier:
            self.figures.pop(each, None)
        self._earlier = set()
        return used

    def _note_host(self) -> None:
        """Note this machine in run.json if the run was begun on another one, and is not known to be on it."""
        here, known = facts.host_id(), self.file.all_hosts
        if self._ready and self.file.host and here not in {each.id for each in known}:
            versions = {label: dict(each.versions) for label, each in self._ready.items()}
            added = Host(id=here, machine=capacity.facts(), versions=versions)
            self.file = self.file.with_hosts((*known, added))
            self.note()

    def begin(self, block: Block) -> None:
        """Count the block as begun: its trials are now among those that must be run."""
        self._blocks_begun.add((block.experiment, block.number))

    def plan_further(self, study: Study, block: Block, why: str) -> None:
        """Add a block to the plan, of a study that has its experiment. Raises StorageFull, NotWritable."""
        planned = self.file.plan.model_copy(update={"blocks": (*self.file.plan.blocks, block)})
        servers = tuple(each.server for each in block.trials)
        chosen = ChosenBlock(experiment=block.experiment, block=block.number, servers=servers, why=why)
        self._to_do |= block.labels
        self.note(study=study, plan=planned, chosen=(*self.file.chosen, chosen))

    def do(self, blocks: Sequence[Block], why: str = "") -> None:
        """Execute the trials that are left in these blocks.

        `why`: empty if they are run whatever the results so far are. Raises StorageFull, NotWritable.
        """
        for block in blocks:
            self._means.watcher.block(self.file.study, block, why)
            to_do = self.left_in(block)
            shares_time = self.scale_of(block.experiment).slices > 1
            for group in [to_do] if shares_time else [[each] for each in to_do]:
                self._together(group)

    @property
    def judges(self) -> bool:
        """Return whether results decide how many blocks any of the run's experiments gets."""
        scales = [self.scale_of(name) for name in self.file.study.experiments]
        by_results = self.file.study.map is not None or any(each.least_blocks for each in scales)
        return self.begun.asked is None and by_results

    def _read(self, stored: StoredTrial) -> None:
        """Compute the trial's figures if results are judged during the run."""
        if self.judges:
            # A trial without readable figures is left out here; the report says so.
            with contextlib.suppress(NotStored):
                self.figures[stored.trial.id] = figures(stored)

    def note(self, **changes: Any) -> None:
        """Change these fields of run.json and write it. Raises StorageFull, NotWritable."""
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
                "restore it, start a new run, or continue with --mixed, which marks the trials that follow",
            )

    def _changed(self, identity: TrialIdentity) -> list[str]:
        now = self._programs_of(identity)
        return run_file.changes(self.stored, identity, now) if now else []

    def _programs_of(self, identity: TrialIdentity) -> ProgramHashes | None:
        """Return the programs of a trial; None if a workload is missing, so that it cannot be tried."""
        experiment, known = self.file.study.experiments[identity.experiment], self._means.workloads
        names = [experiment.workload, *([experiment.canary.workload] if experiment.canary else [])]
        asked = [known[name] for name in names if name in known]
        if len(asked) < len(names):
            return None
        return run_file.programs(self._programs[identity.server], asked, self._means.load)

    def has_begun(self, block: Block) -> bool:
        """Return whether the block was begun, by this session or before."""
        return (block.experiment, block.number) in self._blocks_begun

    def left_in(self, block: Block) -> list[TrialIdentity]:
        """Return the trials of a block that were not tried yet."""
        return [each for each in block.trials if each.id in self._to_do and self.begun.asks(each)]

    def scale_of(self, experiment: str) -> Scale:
        """Return what the run's scale means for that experiment."""
        return self.file.study.experiments[experiment].scales[self.file.scale]

    def _together(self, trials: Sequence[TrialIdentity]) -> None:
        """Execute one trial, or several in slices."""
        jobs = [self._job(each) for each in trials]
        for identity, job in zip(trials, jobs, strict=True):
            if isinstance(job, Failure):
                self._store(trial.refuse(identity, job, self._ready[identity.server].versions))
        can = [job for job in jobs if isinstance(job, trial.Job)]
        if can:
            with alone.turn(self._means.watcher.waiting):
                self._measure(can)

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
        self.stored.append(_without_records(stored))
        self._read(stored)
        means.noted()
        means.watcher.ended(stored)
        for problem in set(stored.host.get("problems", ())) - means.said:
            means.said.add(problem)
            means.watcher.unfit(problem)

    def _job(self, identity: TrialIdentity) -> trial.Job | Failure:
        """Return all that the trial needs, or why it cannot be tried."""
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


def trials_left(begun: Begun) -> tuple[TrialIdentity, ...]:
    """Return the trials that are left to this host.

    They are not stored by now: another crumple may have stored some in the meantime. And no other host has
    begun their block, or one that a claim compares it with.
    """
    kept = begun.store.ids()
    if begun.retry_failed:
        kept -= {stored.trial.id for stored in begun.store.trials() if _is_tried_again(stored)}
    left = tuple(each for each in begun.to_do if each.id not in kept)
    strange = _of_other_hosts(begun, {each.id for each in left})
    return tuple(each for each in left if each.id not in strange)


def _of_other_hosts(begun: Begun, left: Set[str]) -> set[str]:
    """Return those of the trials `left` whose group of blocks another host has begun; it stays there."""
    here, stored, found = facts.host_id(), begun.store.ids(), set[str]()
    for group in run_plan.groups(begun.file.study, begun.file.plan):
        labels = {label for place in group for label in begun.file.plan.blocks[place].labels}
        if labels & left:
            tried = (begun.store.trial(each).host_id for each in sorted(labels & stored))
            if next(filter(None, tried), here) != here:
                found |= labels & left
    return found


def _is_tried_again(stored: StoredTrial) -> bool:
    """Return whether a trial failed, or others took more from it than it had left."""
    return stored.status == "failed" or (stored.disturbance is not None and stored.disturbance.disturbed)


def _without_records(stored: StoredTrial) -> StoredTrial:
    """Return the trial without its records, which are too large to keep in memory."""
    return stored.model_copy(update={"record": None, "canary": None})


def _program(label: str, described: Mapping[str, ServerDescription]) -> str:
    description = described.get(server_toml.server_of(label))
    return servers.program(description) if description else ""


def _makes_room(stored: StoredTrial, begun: Begun) -> bool:
    """Return whether a stored trial is to be tried again."""
    return stored.trial in begun.to_do


def _workload(name: str, means: Means) -> Workload:
    if name not in means.workloads:
        raise NotFound(f"workload {name} no longer exists", "put its file back, or start a new run")
    return means.workloads[name]


def _settings(label: str, description: ServerDescription | None) -> dict[str, Setting]:
    if description is None:
        return {}
    meant = server_toml.parse(label, server_toml.defaults({description.name: description}))
    return servers.settings_with(description, meant.settings)
