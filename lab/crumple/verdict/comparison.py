"""Compare two runs, or loads: what became faster or slower, and which verdicts changed. Pure.

On another machine only CPU time per request is judged, and only if the CPU is the same. What happened to one
machine between the two counts as a change of the servers; `cautions` names what is known to have changed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Literal

from crumple.record import failures
from crumple.record.metrics import METRICS
from crumple.stats import question
from crumple.stats.decision import differs, exceeds
from crumple.stats.estimate import Estimate, of_two_samples
from crumple.stats.interval import SEVERAL, Interval
from crumple.stats.question import LookQuestion
from crumple.stats.sequential import Look
from crumple.verdict import machines
from crumple.verdict.effect import Limit
from crumple.verdict.sides import SPEEDS, Place, Side, Unit

# The metrics compared if the user names none. CPU time and memory are compared only on request.
JUDGED = ("throughput", "response_p50", "response_p99")
WITHIN_CHANCE, BEYOND_CHANCE = "within chance", "beyond chance"
# At most one in twenty comparisons of like runs raises an alarm: one in 25 for a figure, one in 100 for
# failures.
FIGURES_ALPHA, FAILURES_ALPHA = 0.04, 0.01
# Added to each share of failures before its logarithm is taken, so that smaller shares differ little from 0.
SHARE_SEEN = 0.001
# The fewest failing starts of a server that are called worse: a single one may be chance.
FAILING_MIN = 2
# What can be judged on another machine with the same CPU.
BY_CPU = ("cpu_per_request", "cpu_user", "cpu_kernel", "database_cpu")
ANOTHER = "the machine is another"
BY_OTHERS = "what others took may be why it differs"

ChangeWord = Literal["slower", "faster", "as before", "not known"]


@dataclass(frozen=True)
class Difference:
    """One metric of one server, after ÷ before."""

    experiment: str
    server: str
    metric: str
    ratio: Interval | None
    """Its interval decides, and the confidence allows for the other figures that are compared."""
    visible: float | None
    """A change above this ratio would have been seen in four cases of five."""
    change: ChangeWord
    reason: str
    """A clause, why the change has its name."""
    limit: Limit = ""
    """The ratio is only a bound if the engine was the limit of some starts after ("at least") or before."""
    was: float | None = None
    """The figure before, as the geometric mean of what counts; None: nothing does, or one is 0."""
    now: float | None = None
    """The figure after."""


@dataclass(frozen=True)
class Comparison:
    """All differences of two sides."""

    before: str
    after: str
    differences: tuple[Difference, ...]
    verdicts: Mapping[str, tuple[str, str]]
    """Claim → its answer before and after, of claims whose answer changed."""
    cautions: tuple[str, ...]
    other_machine: tuple[str, ...] = ()
    """The facts in which the machines differ, a clause each."""

    @property
    def slower(self) -> tuple[Difference, ...]:
        """The differences that make the exit code 1."""
        return tuple(each for each in self.differences if each.change == "slower")


def compare(
    before: Side, after: Side, metrics: Sequence[str] = JUDGED, *, any_machine: bool = False
) -> Comparison:
    """Return what changed from `before` to `after` in `metrics`.

    Each ratio is one of geometric means over starts, tested by Welch's t on logarithms; a single load or run
    is tested against several by how much those differ. Holm's procedure over all figures compared decides
    which are slower or faster. Tests with an error of their own call a server slower that fails more, or of
    which fewer starts count. Of runs that are alike, at most one in twenty raises a false alarm.
    `any_machine`: judge although the machine is another.
    """
    places = sorted(before.starts.keys() & after.starts.keys())
    other = machines.machine_differences(before.machine, after.machine)
    strange = bool(other) and not any_machine
    same_cpu = not any(fact in other for fact in machines.OF_THE_CPU)
    worse = {} if strange else _worse(before, after, places)
    found = [
        _of_another(place, metric)
        if strange and not (same_cpu and metric in BY_CPU)
        else _difference(before, after, place, metric, worse.get(place, ""))
        for place in places
        for metric in metrics
    ]
    return Comparison(
        before=before.run,
        after=after.run,
        differences=tuple(_with_values(each, before, after) for each in _name_changes(found)),
        verdicts={
            claim: (was, after.answers[claim])
            for claim, was in before.answers.items()
            if claim in after.answers and after.answers[claim] != was
        },
        cautions=tuple(_cautions(before, after)),
        other_machine=tuple(other.values()),
    )


def _with_values(each: Difference, before: Side, after: Side) -> Difference:
    key = (each.experiment, each.server, False)
    was, now = (_middle(side.values.get(key, {}).get(each.metric, ())) for side in (before, after))
    return replace(each, was=was, now=now)


def _middle(values: Sequence[float]) -> float | None:
    return geometric_mean(values) if values and min(values) > 0 else None


def _of_another(place: Place, metric: str) -> "_Tested":
    return _Tested(Difference(*place, metric, None, None, "not known", ANOTHER))


@dataclass(frozen=True)
class _Tested:
    """A figure of both runs"""

    difference: Difference
    estimate: Estimate | None = None
    """After ÷ before, None if there is nothing to test.

    Its `off` says how far the ratio of a calm machine may lie from it, so its interval reaches further by
    what others may have caused.
    """

    @property
    def chance(self) -> float:
        """How probable it is that a ratio lies as far from 1 with nothing changed."""
        if self.estimate is None:
            return 1.0
        # A bound shows a change in one direction only.
        is_shown = not self.difference.limit or (self.estimate.centre > 0) == (
            self.difference.limit == "at least"
        )
        return self.estimate.chance_at(1.0) if is_shown else 1.0


def _difference(before: Side, after: Side, place: Place, metric: str, alarm: str) -> _Tested:
    experiment, server = place
    key = (experiment, server, False)
    was, now = before.values.get(key, {}).get(metric, ()), after.values.get(key, {}).get(metric, ())

    def untested(change: ChangeWord, reason: str) -> _Tested:
        return _Tested(Difference(experiment, server, metric, None, None, change, reason))

    if alarm:
        return untested("slower", alarm)
    marked = [when for when, side in (("before", before), ("after", after)) if _failing(side, place)]
    if marked and not METRICS[metric].despite_failures:
        return untested("not known", f"more than 1 % of its requests failed {' and '.join(marked)}")
    if too_few := _too_few(len(was), len(now), before.unit):
        found = untested("not known", too_few)
        if before.unit == "start" or not was or not now or min(*was, *now) <= 0:
            return found
        # A reader of two loads may see their ratio, which is not judged.
        single = of_two_samples(now, was).interval()
        return replace(found, difference=replace(found.difference, ratio=single))
    if not all(value > 0 for value in (*was, *now)):
        return untested("not known", "zero has no ratio")
    limit = _limit(before, after, place) if metric in SPEEDS else ""
    if limit is None:
        return untested("not known", "the engine was the limit in both runs, and only lower bounds are known")
    (was_low, was_high), (now_low, now_high) = before.off(key, metric), after.off(key, metric)
    estimate = replace(of_two_samples(now, was), off=(now_low - was_high, now_high - was_low))
    return _Tested(Difference(experiment, server, metric, None, None, "as before", "", limit), estimate)


def _too_few(was: int, now: int, unit: Unit) -> str:
    """Return why there are too few values to show how much they differ by chance; empty if enough."""
    if unit == "start":
        few = min(was, now) < SEVERAL
        return f"{was} and {now} starts, of {SEVERAL} each that it takes" if few else ""
    if not was or not now:
        return f"no {unit} {'before' if not was else 'after'} that counts has this figure"
    if max(was, now) < SEVERAL:
        return f"a single {unit} each does not tell by how much {unit}s differ with nothing changed"
    return ""


def _limit(before: Side, after: Side, place: Place) -> Limit | None:
    """Return whether a ratio of speeds is only a bound; None: both speeds are, so nothing is known of it."""
    if place in after.limited:
        return None if place in before.limited else "at least"
    return "at most" if place in before.limited else ""


def _worse(before: Side, after: Side, places: Sequence[Place]) -> dict[Place, str]:
    """Return the servers that are called slower whatever their speed, and why.

    A server that sometimes fails in a start does so in either run. So each suspicion is tested, and the error
    is shared out over all of them (Holm).
    """
    suspects = sorted((*found, place) for place in places for found in _suspicions(before, after, place))
    chances = [chance for chance, _, _ in suspects]
    levels = question.holm(chances, FAILURES_ALPHA)
    worse: dict[Place, str] = {}
    for (chance, why, place), level in zip(suspects, levels, strict=True):
        if chance <= level and why:
            worse.setdefault(place, why)
    return worse


def _suspicions(before: Side, after: Side, place: Place) -> Iterator[tuple[float, str]]:
    """Yield p and the message of each suspicion: more failures, and fewer starts that count."""
    was, now = before.failed.get(place, ()), after.certain_failed(place)
    if _failing(before, place) or _failing(after, place):
        yield _failures_rose(was, now), _fails_now(before, after, place)
    (counted, starts), (counted_before, starts_before) = after.starts[place], before.starts[place]
    if counted < starts or counted_before < starts_before:
        p = _lost_by_chance(starts - counted, starts, starts_before - counted_before, starts_before)
        yield p, f"{counted} of {starts} starts count, and {counted_before} of {starts_before} did before"


def _lost_by_chance(lost: int, of: int, lost_before: int, of_before: int) -> float:
    """Return how likely as many or more are lost, if starts are lost as before: Fisher's exact test."""
    both, most = lost + lost_before, min(lost + lost_before, of)
    ways = (math.comb(of, each) * math.comb(of_before, both - each) for each in range(lost, most + 1))
    return sum(ways) / math.comb(of + of_before, both)


def _failures_rose(was: Sequence[float], now: Sequence[float]) -> float:
    """Return p for shares that did not rise: Welch's t on their logarithms, one-sided."""
    if min(len(was), len(now)) < SEVERAL:
        return 1.0
    one, other = ([share + SHARE_SEEN for share in shares] for shares in (now, was))
    estimate = of_two_samples(one, other)
    return estimate.chance_at(1.0) / 2 if estimate.centre > 0 else 1.0


def _fails_now(before: Side, after: Side, place: Place) -> str:
    """Return what an alarm would say; empty if the server failed before too, or fails in one start only."""
    known = after.certain_failed(place)
    failing = [share for share in known if share > failures.SHARE_MAX]
    if len(failing) < FAILING_MIN or place not in before.failed or _failing(before, place):
        return ""
    return (
        f"in {len(failing)} of {len(known)} starts more than {failures.SHARE_MAX * 100:g} % of its requests "
        f"fail (up to {max(failing) * 100:.2g} %), and in none did before"
    )


def _failing(side: Side, place: Place) -> list[float]:
    return [share for share in side.failed.get(place, ()) if share > failures.SHARE_MAX]


def _name_changes(found: Sequence[_Tested]) -> list[Difference]:
    levels = iter(question.holm([each.chance for each in found if each.estimate], FIGURES_ALPHA))
    return [
        each.difference
        if each.estimate is None
        else _name_change(each.difference, each.estimate, next(levels))
        for each in found
    ]


def _name_change(difference: Difference, estimate: Estimate, level: float) -> Difference:
    decision = LookQuestion(estimate, Look(1 - level)).exceeds(1.0)
    visible = estimate.visible(1 - level) * math.exp(max(-estimate.off[0], estimate.off[1]))
    if difference.limit:
        return _name_bound(difference, decision.interval)
    difference = replace(difference, ratio=decision.interval, visible=visible)
    if decision.answer == "open":
        calm = replace(estimate, off=(0.0, 0.0))
        if differs(calm.interval(1 - level)):
            return replace(difference, change="not known", reason=BY_OTHERS)
        return replace(difference, reason=WITHIN_CHANCE)
    better = (decision.answer == "yes") == (METRICS[difference.metric].better == "higher")
    return replace(difference, change="faster" if better else "slower", reason=BEYOND_CHANCE)


def _name_bound(difference: Difference, ratio: Interval) -> Difference:
    """Judge by one end of the interval, because the engine's limit leaves the other end unknown."""
    of = "second" if difference.limit == "at least" else "first"
    reason = f"the engine was the limit of starts in the {of} run"
    change: ChangeWord
    if difference.limit == "at least":
        shown, change = replace(ratio, high=math.inf), "faster" if exceeds(ratio) == "yes" else "not known"
    else:
        shown, change = replace(ratio, low=0.0), "slower" if exceeds(ratio) == "no" else "not known"
    # A change in the other direction cannot be seen at all.
    return replace(difference, ratio=shown, visible=math.inf, change=change, reason=reason)


def _cautions(before: Side, after: Side) -> list[str]:
    cautions = []
    if before.study != after.study:
        cautions.append(f"these are runs of two studies, {before.study} and {after.study}")
    if before.scale != after.scale:
        cautions.append(f"one run is of scale {before.scale}, the other of {after.scale}")
    differences = machines.machine_differences(before.machine, after.machine)
    cautions += [f"{ANOTHER}: {how}" for how in differences.values()]
    cautions += [*machines.other_way(before.machine, after.machine), *_slowed(before), *_slowed(after)]
    for server in sorted(before.versions.keys() & after.versions.keys()):
        if before.versions[server] != after.versions[server]:
            was, now = (_versions_in_words(side.versions[server]) for side in (before, after))
            cautions.append(f"{server} runs on other versions: {was}, now {now}")
    gone = sorted(before.starts.keys() - after.starts.keys())
    cautions += [f"{server} in {experiment} is only in the first run" for experiment, server in gone]
    new = sorted(after.starts.keys() - before.starts.keys())
    cautions += [f"{server} in {experiment} is only in the second run" for experiment, server in new]
    return cautions


def _slowed(side: Side) -> Iterator[str]:
    """Yield what others took, at most, from a trial of this side, if that is worth mentioning."""
    most = max(side.taken, key=lambda each: each.slowdown, default=None)
    if most is not None and most.is_mentioned:
        slowed, of = sum(each.is_mentioned for each in side.taken), len(side.taken)
        where = f"{side.run}, {slowed} of {of} trials" if of > 1 else side.run
        yield f"{where}: {most.sentence}"


def _versions_in_words(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
