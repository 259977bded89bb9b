"""Makes experiments on a server until what limits it is known well enough, and returns what came of them.

The next experiment is the one that is expected to settle most per second, of those that are allowed and for
which there is time.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from crumple.asked.all_sources import Source
from crumple.cause import experiment_account, experiments, judged, next_experiment
from crumple.cause.belief import Belief, believed
from crumple.cause.experiment_account import ExperimentMade
from crumple.cause.experiments import CauseExperiment, Permission
from crumple.cause.hypotheses import causes
from crumple.cause.hypothesis import Scene
from crumple.diagnose.running import StepWatcher
from crumple.experiment import (
    asked_alone,
    crowd,
    dependency_stopped,
    key_parts,
    ladder,
    longer,
    one_core,
    one_thread,
    other_key,
    sources_asked,
    spaced,
)
from crumple.experiment.bench import Bench
from crumple.limit.finding import SURE
from crumple.observation import peer_names
from crumple.observation.outcome import ExperimentOutcomes, Refused
from crumple.observation.server_facts import ServerFacts

Act = Callable[[Bench, ServerFacts], object]


def _busiest_stopped(bench: Bench, _: ServerFacts) -> object:
    return one_thread.stop_busiest(bench)


def _dependency_stopped(bench: Bench, facts: ServerFacts) -> object:
    peer = peer_names.most_asked(facts)
    return (
        Refused("it asks nobody that was seen")
        if peer is None
        else dependency_stopped.stop_dependency(bench, peer.address)
    )


def _other_key(bench: Bench, _: ServerFacts) -> object:
    found = key_parts.parts(bench.subject.work)
    return other_key.vary_key(bench, found[0]) if found else None


def _sources(bench: Bench, facts: ServerFacts) -> tuple[Source, ...]:
    return sources_asked.sources(bench, facts.beyond.peers or ())


def _spaced(bench: Bench, facts: ServerFacts) -> object:
    work = facts.seen.work
    if work is not None and work.unacknowledged_s > 0:
        return Refused("on a connection that is kept, answers wait for their first part to be acknowledged")
    return spaced.space_out(bench)


ACTS: Mapping[str, Act] = {
    "half_sent": lambda bench, facts: crowd.half_sent(bench, facts.beyond.per_s),
    "silent": lambda bench, facts: crowd.silent(bench, facts.beyond.per_s),
    "waiting": lambda bench, _: crowd.waiting(bench),
    "falls": lambda bench, _: ladder.climb(bench, experiments.BY_NAME["falls"].takes_s),
    "slower": lambda bench, _: asked_alone.waits_s(bench),
    "spaced": _spaced,
    "longer": lambda bench, _: longer.load_longer(bench),
    "other_key": _other_key,
    "one_core": lambda bench, _: one_core.pin(bench),
    "one_thread": _busiest_stopped,
    "stuck": _dependency_stopped,
    "sources": lambda bench, facts: sources_asked.ask(bench, _sources(bench, facts)),
}


# The flag that allows an experiment, by what the experiment needs.
FLAGS: Mapping[Permission, str] = {
    "own": "without --only-loads: ",
    "intervene": "--intervene, for ",
    "ask": "--ask, for ",
}


def _how(experiment: CauseExperiment, allowed: Collection[Permission]) -> str:
    if experiment.name == "waiting":
        return "--slow PATH, for "
    if experiment.needs not in allowed:
        return FLAGS[experiment.needs]
    return "the same command again, which may have time for "


@dataclass
class Experimenting:
    """Experiments in progress. `facts`: with what came of those that were made.

    `check` raises if the server is lost. While something of it is held, or of its places, it may not answer.
    """

    facts: ServerFacts
    bench: Bench
    allowed: frozenset[Permission]
    left_s: Callable[[], float]
    settle: Callable[[], object]
    check: Callable[[], None]
    watcher: StepWatcher
    made: list[ExperimentMade] = field(default_factory=list)

    def make(self) -> None:
        """Make one after the other. Raises what putting loads on raises."""
        scene, held = self._weighed()
        while (planned := self._next(scene, held)) is not None:
            self.watcher.doing(self._does(planned))
            came = ACTS[planned.name](self.bench, self.facts)
            outcomes = self._with(planned.name, came)
            self.facts = replace(self.facts, seen=replace(self.facts.seen, outcomes=outcomes))
            before, (scene, held) = held, self._weighed()
            why = came.why if isinstance(came, Refused) else ""
            self.made.append(experiment_account.of(planned, scene.readings, before, held, why))
            self.settle()
            self.check()

    def _does(self, planned: CauseExperiment) -> str:
        """Return what is announced; of whom is asked, everything that is run or sent."""
        if planned.needs != "ask":
            return planned.does
        commands = [each.command for each in _sources(self.bench, self.facts) if each.ask]
        return f"{planned.does}: {'; '.join(commands) or 'there is nobody to ask'}"

    def _weighed(self) -> tuple[Scene, tuple[Belief, ...]]:
        """Return what is read so far, and what is believed by that."""
        scene = judged.scene_of(self.facts)
        return scene, believed(causes.ALL, scene)

    def _left(self) -> list[CauseExperiment]:
        """Return the experiments that were not made."""
        names = {each.name for each in self.made}
        return [each for each in experiments.ALL if each.name not in names]

    def _next(self, scene: Scene, held: tuple[Belief, ...]) -> CauseExperiment | None:
        """Return the experiment to be made; None: nothing is to be settled, or nothing settles it."""
        left_s = self.left_s()
        allowed = [each for each in self._left() if each.needs in self.allowed and self._can(each)]
        asks = next((each for each in allowed if each.needs == "ask" and each.takes_s <= left_s), None)
        if asks is not None:
            # The user wants to know what they say, also of a load that shows nothing else.
            return asks
        if not judged.is_open(self.facts):
            return None
        planned = next_experiment.chosen(causes.ALL, held, scene, allowed, left_s)
        if planned is not None:
            return planned.experiment
        if judged.was_tested(held, scene):
            return None
        # What is believed is not tested yet: something that could refute it.
        could = (
            each for each in allowed if any(next_experiment.could_refute(held, name) for name in each.gives)
        )
        return next((each for each in could if each.lasts_s(self.bench.alone_s) <= left_s), None)

    def would_tell(self) -> str:
        """Return what would settle most of what is open, as the user can have it; empty: nothing."""
        scene, held = self._weighed()
        if not judged.is_open(self.facts) or held[0].probability >= SURE:
            return ""
        is_there = any(each.ask for each in _sources(self.bench, self.facts))
        left = [each for each in self._left() if each.needs != "ask" or is_there]
        # Asking only reads: where it settles something, it is named before what stops a process.
        asking = [each for each in left if each.needs == "ask"]
        found = (next_experiment.chosen(causes.ALL, held, scene, each, math.inf) for each in (asking, left))
        planned = next(filter(None, found), None)
        return "" if planned is None else f"{_how(planned.experiment, self.allowed)}{planned.experiment.does}"

    def _can(self, experiment: CauseExperiment) -> bool:
        if experiment.name == "waiting":
            return self.bench.subject.slow is not None
        if experiment.name in ("slower", "stuck") and peer_names.most_asked(self.facts) is None:
            return False
        if experiment.name == "other_key":
            return bool(key_parts.parts(self.bench.subject.work))
        return experiment.needs == "nothing" or self.bench.subject.pid is not None

    def _with(self, name: str, came: object) -> ExperimentOutcomes:
        so_far = self.facts.seen.outcomes
        if isinstance(came, Refused):
            return replace(so_far, refused={**so_far.refused, name: came.why})
        if came is None:
            return so_far
        return replace(so_far, **{name: came})  # type: ignore[arg-type]
