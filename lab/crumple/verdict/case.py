"""The input of every rule, a run's figures and facts, and its output, an effect with its trials. Pure.

Here is also which experiments a claim rests on, how many blocks these have, and after which it is judged.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crumple.record.figures import Figures
from crumple.record.metrics import Metric
from crumple.stats.decision import SLACK
from crumple.stats.interval import SEVERAL, Interval
from crumple.stats.sequential import ONCE, Look, Looks
from crumple.study.claim import Claim, GrowthClaim, ModelClaim, OrderClaim, RatioClaim, ScaleName
from crumple.study.study import Study
from crumple.study.study_load import Scale
from crumple.verdict.effect import Effect, Opinion, VerdictWord
from crumple.verdict.evidence import Evidence, OneServer, ServerPlace, block_of, place_of
from crumple.verdict.verdict_sentences import number

# An effect, and the ids of the trials it rests on.
Judged = tuple[Effect, tuple[str, ...]]


@dataclass(frozen=True)
class RunFacts:
    """Facts that no trial record holds."""

    models: Mapping[str, str] = field(default_factory=dict)
    """Server → the I/O model it declares."""
    costs: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Name → readings in ns."""
    cost_hosts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Name → the host of each reading; empty: one host."""
    trial_s: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Experiment and server → the seconds that a trial takes."""
    skipped: Collection[str] = ()
    """The ids of the failed trials that could not be tried on this machine."""
    unused: Collection[str] = ()
    """The ids of planned trials that were left out of their block, because no open claim used them."""


@dataclass(frozen=True)
class ClaimCase:
    """The part of a run that a claim may use at one look."""

    figures: tuple[Figures, ...]
    failed: Mapping[str, str]
    """Id of each trial that failed → why."""
    facts: RunFacts
    look: Look
    memory: dict[str, Any] = field(default_factory=dict)
    """Trial → a value that is slow to compute for this claim; all looks share it."""
    servers: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Experiment → the servers in it whose trials the claim uses."""

    def evidence(self, experiment: str, metric: Metric, against: str | None = None) -> Evidence:
        """Return the run's evidence in one metric; a name without an experiment belongs to `experiment`."""
        facts = self.facts
        return Evidence(experiment, metric, self.figures, self.failed, against, facts.skipped, facts.unused)

    def reason(self, opinion: Opinion, evidence: Evidence, names: Sequence[str], blocks: int) -> str:
        """Return the opinion's reason, with its margin if decided, or the blocks needed if undecided."""
        if opinion.answer is not VerdictWord.UNDECIDED or not blocks:
            return f"{opinion.reason}{how_far(opinion)}"
        if opinion.by_others:
            return f"{opinion.reason}; others took too much of the machine for any number of blocks to tell"
        if opinion.blocks_needed is None:
            return f"{opinion.reason}; how many blocks would decide it is not known, or more than 100"
        most, total = self.look.most, opinion.blocks_needed + max(0, self.look.blocks - blocks)
        if most is not None and total > most:
            return f"{opinion.reason}; it would take about {total} blocks, and this scale has {most} at most"
        places = dict.fromkeys(evidence.place(name).experiment for name in names)
        if evidence.against:
            places[evidence.against] = None
        more = opinion.blocks_needed - blocks
        seconds = sum(map(self._block_s, places)) * more
        clause = f"{opinion.reason}; it would take about {opinion.blocks_needed} blocks, {more} more"
        return f"{clause} ({_time(seconds)})" if seconds else clause

    def _block_s(self, experiment: str) -> float:
        """Return the seconds that one more block of the claim's servers takes; 0 if not known."""
        trial_s = self.facts.trial_s
        return sum(trial_s.get((experiment, server), 0.0) for server in self.servers.get(experiment, ()))


def untestable(what: str, of: str, why: str, bound: str, evidence: OneServer) -> Judged:
    """Return the effect of a server that could not be measured. `evidence`: what was read of it."""
    effect = Effect(
        label=of, of=of, answer=VerdictWord.NOT_TESTABLE, reason=why, what=what, bound=bound,
        refused=evidence.refused, more_may_help=evidence.more_may_help,
    )  # fmt: skip
    return effect, ()


def effect_of_server(
    case: ClaimCase,
    evidence: Evidence,
    of: str,
    alone: OneServer,
    value: Interval,
    opinion: Opinion,
    bound: str,
) -> Judged:
    """Return the effect that holds the value of one server and a rule's opinion of it."""
    left_out = f"; left out: {alone.left_out}" if alone.left_out else ""
    effect = Effect(
        label=of, of=of, answer=opinion.answer,
        reason=f"{case.reason(opinion, evidence, [of], value.n)}{left_out}",
        what=evidence.phrase, value=value, unit=evidence.metric.unit, bound=bound, limit=alone.limit,
        bounds=opinion.bounds, margin=opinion.margin, blocks_needed=opinion.blocks_needed,
        blocks_hoped=opinion.blocks_hoped,
    )  # fmt: skip
    return effect, alone.trials


def how_far(opinion: Opinion) -> str:
    """Return a clause that says how far the interval's nearest end lies from the bound.

    It is empty if the only bound is 1, because the interval itself then shows the distance.
    """
    margin = opinion.margin
    if margin is None or margin <= 1 + SLACK or opinion.bounds == (1.0,):
        return ""
    if margin >= 2:
        return f"; its nearest end is a factor of {number(margin)} from the bound"
    return f"; its nearest end is {float(f'{(margin - 1) * 100:.2g}'):g} % from the bound"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / 60)} minutes"


NEVER: Mapping[str, int] = {}


@dataclass(frozen=True)
class ClaimBlocks:
    """The blocks of a claim: `done` in each of its `experiments`, judged at these `looks`."""

    experiments: tuple[str, ...]
    done: int
    looks: Looks

    @property
    def early(self) -> bool:
        """Whether there are fewer blocks than the first look needs."""
        return not self.looks.once and self.done < self.looks.least


@dataclass(frozen=True)
class PlannedLooks(Looks):
    """The looks at an experiment at its `scale`, in which some servers may have fewer blocks."""

    scale: Scale | None = field(default=None, compare=False)

    def with_server(self, server: str) -> Looks:
        """Return the looks at the blocks that the server has."""
        most = self.scale.blocks_for(server) if self.scale else self.most
        return replace(self, least=min(self.least, most), most=most)


def looks_of(study: Study, scale: ScaleName, ended: Mapping[str, int] = NEVER) -> dict[str, Looks]:
    """Return experiment → the looks at it in a run of that scale; it may be a single look at the end.

    `ended`: experiment → how many blocks it had when the time was over.
    """
    scales = {name: each.scales[scale] for name, each in study.experiments.items() if scale in each.scales}
    return {
        name: PlannedLooks(each.least_blocks or each.blocks, each.blocks, ended.get(name), each)
        for name, each in scales.items()
    }


def blocks_of(
    claim: Claim, figures: Sequence[Figures], failed: Mapping[str, str], looks: Mapping[str, Looks]
) -> ClaimBlocks:
    """Return the claim's blocks: those in which each of its servers was tried, even if that failed."""
    servers = servers_of(claim)
    done = min((_done_by(own, name, figures, failed) for name, own in servers.items()), default=0)
    together = ONCE if isinstance(claim, ModelClaim) else _together([*_looks(claim, looks)])
    return ClaimBlocks(tuple(servers), done if together == ONCE else min(done, together.most), together)


def _looks(claim: Claim, looks: Mapping[str, Looks]) -> Iterator[Looks]:
    """Yield the looks at the claim's experiments, and at its servers, which may have fewer blocks."""
    for place in _places(claim):
        of = looks.get(place.experiment, ONCE)
        yield of
        own = of.with_server(place.server) if isinstance(of, PlannedLooks) and not of.once else of
        # One block shows nothing, so a server with one block does not limit the others.
        if own.most >= SEVERAL:
            yield own


def experiments_of(claim: Claim) -> tuple[str, ...]:
    """Return the experiments that a claim rests on; a cost of the machine rests on none."""
    return tuple(servers_of(claim))


def servers_of(claim: Claim) -> dict[str, frozenset[str]]:
    """Return experiment → the servers in it whose trials the claim uses. Experiments are sorted by name."""
    found: dict[str, set[str]] = {}
    for place in _places(claim):
        found.setdefault(place.experiment, set()).add(place.server)
    return {name: frozenset(found[name]) for name in sorted(found)}


def missing(claim: Claim, study: Study) -> tuple[str, ...]:
    """Return the servers that the claim uses and the study does not have, for instance by --servers."""
    places = (
        (study.experiments.get(name), server) for name, own in servers_of(claim).items() for server in own
    )
    gone = {server for experiment, server in places if not experiment or server not in experiment.servers}
    return tuple(sorted(gone))


def within(
    blocks: int | None, experiments: Iterable[str], figures: Sequence[Figures], failed: Mapping[str, str]
) -> tuple[tuple[Figures, ...], Mapping[str, str]]:
    """Return figures and failures of the first `blocks` blocks of these experiments; None: of all blocks."""
    names = set(experiments)
    seen = tuple(each for each in figures if each.experiment in names)
    if blocks is None:
        return seen, failed
    first = tuple(each for each in seen if each.block <= blocks)
    return first, {key: why for key, why in failed.items() if block_of(key) <= blocks}


def last_look(
    figures: Sequence[Figures], experiment: str, looks: Mapping[str, Looks], overall: float
) -> Look:
    """Return the last look at an experiment, at which its noise is judged."""
    return Look(overall, _done(experiment, figures, {}), looks.get(experiment, ONCE))


def _done_by(
    servers: Collection[str], experiment: str, figures: Sequence[Figures], failed: Mapping[str, str]
) -> int:
    """Return the last block in which each of the servers was tried.

    One block shows nothing, so a server that was tried in fewer than two does not limit the others.
    """
    tried = (_done(experiment, figures, failed, server) for server in servers)
    several = [last for last in tried if last >= SEVERAL]
    return min(several, default=_done(experiment, figures, failed))


def _done(
    experiment: str, figures: Sequence[Figures], failed: Mapping[str, str], server: str | None = None
) -> int:
    """Return the last block of an experiment in which the server was tried; None: in which any was."""
    measured = (
        each.block for each in figures if each.experiment == experiment and server in (None, each.server)
    )
    ended = (
        block_of(key)
        for key in failed
        if key.startswith(f"{experiment}/") and (server is None or key.endswith(f"/{server}"))
    )
    return max([0, *measured, *ended])


def _together(looks: Sequence[Looks]) -> Looks:
    """Return the looks at the blocks that several experiments have in common.

    An experiment with a fixed number of blocks limits the blocks of the others, and adds no look.
    """
    several = [each for each in looks if not each.once]
    if not several:
        return ONCE
    most = min(each.most for each in looks if each is not ONCE)
    ended = min((each.ended for each in looks if each.ended is not None), default=None)
    return Looks(min(most, max(each.least for each in several)), most, ended)


def _places(claim: Claim) -> Iterator[ServerPlace]:
    """Yield each server in each experiment whose trials the claim uses."""
    own = getattr(claim, "experiment", None) or ""
    besides = [getattr(claim, name, None) for name in ("against", "alone")]
    for server in _servers(claim):
        place = place_of(server, own)
        several = claim.experiments if isinstance(claim, GrowthClaim) else ()
        for name in (*(several or (place.experiment,)), *besides):
            if name:
                yield ServerPlace(name, place.server)


def _servers(claim: Claim) -> Iterator[str]:
    if isinstance(claim, OrderClaim):
        yield from (name for tier in claim.tiers for name in tier)
    elif isinstance(claim, RatioClaim):
        yield from (name for pair in claim.pairs for name in (pair.of, pair.to))
    else:
        yield from claim.servers or ()
