"""Conducts a diagnosis: observes the server, searches its breaking point, and looks at it at two loads."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from crumple import contract, engine
from crumple.cause import judged
from crumple.cause.experiment_account import ExperimentMade
from crumple.cause.experiments import Permission
from crumple.contract import TrialRecord
from crumple.diagnose import (
    load_sizes,
    looking,
    observe,
    presence,
    remedy_trial,
    running,
    searching,
    seen_under_load,
)
from crumple.diagnose.beside_load import BesideLoad
from crumple.diagnose.diagnose_plan import DiagnosisPlan
from crumple.diagnose.experimenting import Experimenting
from crumple.diagnose.presence import Presence
from crumple.diagnose.searching import CeilingOf
from crumple.diagnose.time_left import LOOK_NEEDS_S, TimeLeft
from crumple.engine import Engine
from crumple.errors import EngineFailed, Interrupted, ServerLost
from crumple.experiment.subject import Subject
from crumple.find import search
from crumple.find.search import SearchResult
from crumple.limit import first_line
from crumple.limit.finding import Finding, Said
from crumple.limit.remedy import Remedy
from crumple.load import canary
from crumple.load.canary import LightRequests
from crumple.load.load_shape import CONNECTIONS_OPEN_MAX
from crumple.machine import at_listener, at_rest, capacity, connection_ends, facts, setting_names
from crumple.machine import ceiling as ceilings
from crumple.machine.setting_names import Setting
from crumple.observation import loaded, peer_names
from crumple.observation.at_load import LIGHT_WAIT_SHARE, Light
from crumple.observation.observed import Observed
from crumple.observation.outcome import IN_FLIGHT_MOST
from crumple.observation.server_facts import ServerFacts
from crumple.record import stages
from crumple.record.stages import Budget, NoBudget

# The load at which it is seen where the time goes, as a share of the breaking point, or of the highest load
# that held.
BELOW_SHARE = 0.85
# The first load: its connections, its warm-up and its length in seconds, and its length in response times of
# a request alone if that is longer. FIRST_ALONE_S_MAX: the longest response time alone, in seconds, with
# which a first load is put on; with a longer one nothing would be known in time for a first answer.
FIRST_CONNECTIONS, FIRST_WARM_S, FIRST_S, FIRST_ANSWERS, FIRST_ALONE_S_MAX = 32, 0.5, 1.5, 4.0, 1.0

# The rate of the light requests beside the load beyond the limit: low, so that they are hardly a load of
# their own.
LIGHT_PER_S = 8.0
# How long a server that hangs is waited for, in seconds. It may answer again when what it waits for times
# out: pools of connections wait for 30 s.
ANSWERS_AGAIN_S = 45.0


class DiagnosisWatcher(running.StepWatcher, search.SearchWatcher, Protocol):
    """Receives the progress of a diagnosis and of its search."""

    def likely(self, said: Sequence[Said]) -> None:
        """What is likely after the first load, before experiments."""


@dataclass(frozen=True)
class Preliminary:
    """What was likely after the first load. `after_s`: when it was known; `line`: as `first_line` has it."""

    after_s: float
    line: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found. `command` repeats it.

    `found` None: nothing was searched, or nothing was answered as expected. `below` and `beyond`: records of
    loads below the breaking point and beyond it. `facts`: what was judged, and `said`: what limits the
    server, and of which causes there is no sign.
    `made`: the experiments, each with the belief before and after it; `would_tell`: what would settle more.
    `settings`: what its programs call what they may have more of. `preliminary`: what was likely at first.
    `interrupted`: the user ended it, and it has what was measured before. `remedy`: a change that was tried.
    """

    plan: DiagnosisPlan
    subject: Subject
    seen: Observed
    found: SearchResult | None
    below: TrialRecord | None
    beyond: TrialRecord | None
    facts: ServerFacts | None
    said: tuple[Said, ...]
    made: tuple[ExperimentMade, ...]
    would_tell: str
    engine_version: str
    command: str
    began_unix_s: float
    took_s: float
    interrupted: bool = False
    settings: tuple[Setting, ...] = ()
    preliminary: Preliminary | None = None
    remedy: Remedy | None = None

    @cached_property
    def time_below(self) -> Budget | NoBudget | None:
        """Where the time goes below the breaking point; None: no such load was put on."""
        return self._time(self.below)

    @cached_property
    def time_beyond(self) -> Budget | NoBudget | None:
        """Where the time goes beyond the breaking point; None: no such load was put on."""
        return self._time(self.beyond)

    def _time(self, record: TrialRecord | None) -> Budget | NoBudget | None:
        return None if record is None else stages.budget(record, at_rest.cores(self.seen.rest))


def diagnose(
    plan: DiagnosisPlan, loader: Engine, ceiling: CeilingOf, watcher: DiagnosisWatcher, command: str
) -> Diagnosis:
    """Diagnose a server. `command`: what was typed.

    If interrupted, it returns what was measured before. Raises what starting the server raises, EngineFailed,
    CrumpleError if the server ends before, and Interrupted if nothing was measured.
    """
    began_s, began_unix_s = time.monotonic(), time.time()
    course: _DiagnosisCourse | None = None
    try:
        with plan.running() as subject:
            course = _DiagnosisCourse(plan, subject, loader, ceiling, watcher, began_s)
            course.take()
            course.try_change()
    except Interrupted:
        if course is None or course.seen.work is None:
            raise
        course.interrupted = True
    return Diagnosis(
        plan=plan,
        subject=course.subject,
        seen=course.facts.seen if course.facts is not None else course.seen,
        found=course.found,
        below=course.below,
        beyond=course.beyond,
        facts=course.facts,
        said=course.said,
        would_tell=course.experimenting.would_tell() if course.experimenting is not None else "",
        made=tuple(course.experimenting.made) if course.experimenting is not None else (),
        engine_version=loader.version,
        command=command,
        began_unix_s=began_unix_s,
        took_s=time.monotonic() - began_s,
        interrupted=course.interrupted,
        settings=course.settings,
        preliminary=course.preliminary,
        remedy=course.remedy,
    )


class _StandsStillError(Exception):
    """The server answers nothing any more, and why is known: there is nothing more to ask it."""


class _DiagnosisCourse:
    """A diagnosis in progress: what was found so far."""

    def __init__(
        self,
        plan: DiagnosisPlan,
        subject: Subject,
        loader: Engine,
        ceiling: CeilingOf,
        watcher: DiagnosisWatcher,
        began_s: float,
    ) -> None:
        self.subject = subject
        self.found: SearchResult | None = None
        self.below: TrialRecord | None = None
        self.beyond: TrialRecord | None = None
        self.facts: ServerFacts | None = None
        self.said: tuple[Said, ...] = ()
        self.remedy: Remedy | None = None
        self.interrupted = False
        # What the diagnosis ends with if the server answers nothing since it was looked at last.
        self._hangs: ServerLost | None = None
        self.settings = setting_names.of(subject.pid) if subject.pid is not None else ()
        self.preliminary: Preliminary | None = None
        self._began_s = began_s
        self._plan, self._loader, self._ceiling, self._watcher = plan, loader, ceiling, watcher
        self.experimenting: Experimenting | None = None
        self._presence = Presence(subject, loader)
        self._time = TimeLeft()
        run = running.runner(loader, self._presence.check)
        unchecked = running.runner(loader, lambda _: None)
        self._observing = observe.Observation(subject, run, watcher, self._time, unchecked, self._first_look)

    @property
    def seen(self) -> Observed:
        """What the first loads showed."""
        return replace(self._observing.seen, given_up=tuple(self._time.given_up))

    def take(self) -> None:
        """Take all steps. Raises as `diagnose` does."""
        with suppress(_StandsStillError):
            self._take()

    def _take(self) -> None:
        seen = self._observing.observed()
        self.subject = self._observing.subject
        searched_s = time.monotonic()
        self._search()
        self._time.without(time.monotonic() - searched_s)
        if load := self._held():
            self._watcher.doing("where the time goes, below the limit")
            shape = _open(BELOW_SHARE * load)
            for_s = self._in_time_s(
                load_sizes.look_s(seen), looking.WARM_S + load_sizes.LOOK_S + LOOK_NEEDS_S
            )
            self.below, _ = self._looked_at(shape, lambda _: None, for_s)
        self._watcher.doing("where the time goes, beyond the limit")
        found = _with_processes(self._beyond(_others(self.subject)), self.subject.pid)
        self._watcher.doing("what a context switch costs here")
        found = replace(found, seen=self.seen, switch_s=_switch_s(self._loader))
        # Nothing can be tried on a server that answers nothing.
        self._concluded(self._tried(found) if self._hangs is None else found)

    def _concluded(self, facts: ServerFacts) -> None:
        """Say what limits the server. Raises ServerLost if it answers nothing, and it is not known why."""
        self.facts, self.said = facts, tuple(judged.judged(facts))
        if self._hangs is not None and not any(_is_standstill(each) for each in self.said):
            raise self._hangs

    def _answers_again(self) -> bool:
        """Wait until a server that hangs answers again; return whether it does."""
        self._watcher.doing("waiting until it answers again")
        if not self._presence.answers_within(ANSWERS_AGAIN_S):
            return False
        self._hangs = None
        return True

    def _first_look(self) -> None:
        """Load the server for a moment, and say what is likely to limit it: the rest takes longer."""
        work = self.seen.work
        if work is None or work.mean_s > FIRST_ALONE_S_MAX:
            return
        self.subject = self._observing.subject
        self._watcher.doing(f"a first load of {FIRST_CONNECTIONS} connections")
        shape = contract.ClosedShapeSpec(connections=FIRST_CONNECTIONS)
        beside = BesideLoad(self.subject, self.seen)
        record, _ = self._looked_at(
            shape, beside.look, max(FIRST_S, FIRST_ANSWERS * work.mean_s), warm_s=FIRST_WARM_S
        )
        at_load = loaded.from_record(
            record, self.subject.cores, beside.seen(loaded.sharing(record)), self.subject.elsewhere
        )
        seen = ServerFacts(self.seen, at_load, load_sizes.alone_s(self.seen), _others(self.subject))
        said = judged.judged(seen)
        if self._hangs is not None and not self._answers_again():
            self.beyond = record
            self._concluded(seen)
            raise _StandsStillError
        self.preliminary = Preliminary(time.monotonic() - self._began_s, first_line.line(seen, said))
        self._watcher.likely(said)
        self._observing.settle(FIRST_CONNECTIONS / at_load.per_s if at_load.per_s else 0.0)

    def try_change(self) -> None:
        """Try the change of the plan on a second server, if there is one. Raises Interrupted."""
        if self._plan.change is None or self.facts is None or self.beyond is None:
            return
        of_beyond = capacity.connections_of(self.beyond.spec.shape)
        diagnosed = remedy_trial.Diagnosed(self.facts, self.said, self._observing.bench(), of_beyond)
        self.remedy = remedy_trial.try_change(self._plan, diagnosed, self._loader, self._watcher)

    def _tried(self, facts: ServerFacts) -> ServerFacts:
        """Make experiments, as far as there is time; return the facts with what came of them."""
        # Where none wait in front of it, all are inside, whatever their number.
        inside = facts.stage.inside if facts.stage is not None and facts.is_queued_outside else 0.0
        loads = self._observing.bench(inside)
        if loads is None:
            return facts
        allowed: tuple[Permission, ...] = ("nothing", *(("own",) if self._plan.acts else ()))
        if self._plan.intervenes:
            allowed = (*allowed, "intervene")
        if self._plan.asks:
            allowed = (*allowed, "ask")
        self.experimenting = Experimenting(
            facts,
            loads,
            frozenset(allowed),
            lambda: self._time.left_s,
            self._observing.settle,
            self._presence.look,
            self._watcher,
        )
        self.experimenting.make()
        return self.experimenting.facts

    def _search(self) -> None:
        self.found = searching.search_point(
            self._plan, self.subject, self._loader, self._ceiling, self._watcher, self._presence.process
        )
        if self.found is not None and self.found.ending == "interrupted":
            raise Interrupted(signal.SIGINT.name)
        if self.found is not None and self.found.lost is not None:
            lost = self.found.lost
            if not lost.hangs or not self._answers_again():
                raise presence.error(lost, "while its breaking point was searched")

    def _beyond(self, others: int | None) -> ServerFacts:
        """Load the server beyond its limit; with more connections if it does not come to its limit.

        `others`: connections of other clients that it holds before it.
        """
        number = load_sizes.beyond_connections(self.seen, self.below)
        while True:
            beside = BesideLoad(self.subject, self.seen)
            for_s = load_sizes.beyond_s(load_sizes.look_s(self.seen), number, self._held())
            for_s = self._in_time_s(for_s, LOOK_NEEDS_S)
            shape = contract.ClosedShapeSpec(connections=number)
            self.beyond, light = self._looked_at(shape, beside.look, for_s, self._light())
            threads = loaded.sharing(self.beyond)
            at_load = loaded.from_record(
                self.beyond, self.subject.cores, beside.seen(threads), self.subject.elsewhere, light
            )
            at_load = replace(at_load, light=self._waited(light, at_load.mean_s))
            # They may have been closed during the load.
            left = [each for each in (others, _others(self.subject)) if each is not None]
            others = min(left, default=None)
            found = ServerFacts(self.seen, at_load, load_sizes.alone_s(self.seen), others)
            if self._hangs is not None:
                return found
            if not load_sizes.may_be_too_few(found) or number >= IN_FLIGHT_MOST:
                return found
            if not self._time.has("512 connections beyond the limit"):
                return found
            number = IN_FLIGHT_MOST

    def _in_time_s(self, for_s: float, needed_s: float) -> float:
        """Return how long the server is looked at, if what else there is to do takes `needed_s`."""
        return max(load_sizes.LOOK_S, min(for_s, self._time.left_s - needed_s))

    def _held(self) -> float | None:
        """The load that the server held; None: not known."""
        return searching.held(self.found) if self.found is not None else None

    def _light(self) -> LightRequests | None:
        """Light requests to be sent beside a load of others; None: they show nothing, or fail."""
        is_all = self.subject.work == (self.subject.light,)
        if is_all or self.seen.light_alone is None or not load_sizes.light_tells(self.seen):
            return None
        return LightRequests(self.subject.light, LIGHT_PER_S, connection="per-request")

    def _waited(self, light: TrialRecord | None, mean_s: float) -> Light | None:
        """Return how many of the light requests waited as those of the load did; None: it is not known."""
        alone, of_work = self.seen.light_alone, load_sizes.alone_s(self.seen)
        if light is None or alone is None or alone.disturbed or of_work is None or mean_s <= of_work:
            return None
        limit_s = alone.served_s + LIGHT_WAIT_SHARE * (mean_s - of_work)
        return seen_under_load.beside(light, limit_s)

    def _looked_at(
        self,
        shape: contract.ShapeSpec,
        look: engine.OnProgress,
        for_s: float,
        light: LightRequests | None = None,
        warm_s: float | None = None,
    ) -> tuple[TrialRecord, TrialRecord | None]:
        """Load the server, and read where its requests are. `light`: what is sent beside the load."""
        spec = looking.spec(self.subject, shape, for_s, warm_s)
        record, beside = canary.beside(self._loader, spec, light, look)
        lost = self._presence.lost_in(record)
        self._hangs = presence.error(lost, presence.in_load(shape)) if lost is not None else None
        if self._hangs is not None and not (lost and lost.hangs and shape.kind == "closed"):
            raise self._hangs
        return record, beside


def _with_processes(found: ServerFacts, server: int | None) -> ServerFacts:
    """Count the processes of what the server asks most: all processes of the machine are looked through."""
    asked = peer_names.most_asked(found)
    if asked is None or not asked.listener or server is None:
        return found
    number = at_listener.processes(asked.address, server)
    peers = tuple(
        replace(each, processes=number) if each.address == asked.address else each
        for each in found.beyond.peers or ()
    )
    return replace(found, beyond=replace(found.beyond, peers=peers))


def _is_standstill(said: Said) -> bool:
    return isinstance(said, Finding) and said.cause == "standstill"


def _others(subject: Subject) -> int | None:
    """Return how many connections of other clients the server holds; None if that is not known."""
    port = subject.server_port
    if subject.pid is None or port is None:
        return None
    return connection_ends.held_by_others(subject.pid, port)


def _switch_s(loader: Engine) -> float | None:
    """Return what a context switch costs on this machine, in seconds: the 10th percentile, on one core.

    None: it could not be measured, as where others use the core.

    Between threads on two cores it would be the time that a sleeping core takes to wake, and no CPU time. The
    server may still work on what was asked of it, which makes some switches longer.
    """
    try:
        costs = ceilings.costs(loader, facts.usable_cores()[0])
    except EngineFailed:
        return None
    return next((each.low_ns for each in costs if each.name == "thread_switch"), 0.0) / 1e9 or None


def _open(per_s: float) -> contract.OpenShapeSpec:
    rate = contract.RateSpec(from_per_s=per_s, to_per_s=per_s, duration_s=load_sizes.LOOK_S)
    return contract.OpenShapeSpec(connections=CONNECTIONS_OPEN_MAX, arrivals="poisson", rates=(rate,))
