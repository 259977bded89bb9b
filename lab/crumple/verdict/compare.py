"""Two runs of a study against each other: what became faster or slower, which verdicts changed. Pure.

What changed on the machine between two runs counts as a change of the servers; `cautions` names what is
known of that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from crumple.record.metrics import METRICS
from crumple.stats import stats
from crumple.stats.stats import Interval
from crumple.verdict.side import Place, Side

# Those by which a server is called slower. What it costs is shown, and called by its name only on request.
JUDGED = ("throughput", "response_p50", "response_p99")
STARTS_MIN = 2
# One start that fails may be chance.
FAILING_MIN = 2
ALPHA = 0.05
FAILED_SHARE_MAX = 0.01
# Facts in which two machines, or one on two days, may differ so that times do.
LASTING = ("cpu_model", "cores", "usable_cores", "kernel", "governor", "memory_bytes")

Change = Literal["slower", "faster", "as before", "not known"]


@dataclass(frozen=True)
class Difference:
    """A metric of a server, after ÷ before. `noise_floor`: the larger of both runs', None if neither has one.

    `better`: which way is better. `reason`: a clause, why it is called so.
    """

    experiment: str
    server: str
    metric: str
    ratio: Interval | None
    noise_floor: float | None
    change: Change
    reason: str


@dataclass(frozen=True)
class Comparison:
    """All differences; `verdicts`: claim → what was and what is, of those that changed."""

    before: str
    after: str
    differences: tuple[Difference, ...]
    verdicts: Mapping[str, tuple[str, str]]
    cautions: tuple[str, ...]

    @property
    def slower(self) -> tuple[Difference, ...]:
        """What makes the exit code 1."""
        return tuple(each for each in self.differences if each.change == "slower")


def compare(before: Side, after: Side, metrics: Sequence[str] = JUDGED) -> Comparison:
    """What changed from `before` to `after`, by these metrics.

    Ratios of geometric means over starts, by Welch's t on logarithms. Slower or faster is what Holm's
    procedure tells apart at 5 % over everything that is compared, and lies beyond the noise floor of both
    runs: of runs that are alike, one in twenty at most raises a false alarm.
    """
    found = [
        _difference(before, after, experiment, server, metric)
        for experiment, server in sorted(before.starts.keys() & after.starts.keys())
        for metric in metrics
    ]
    return Comparison(
        before=before.run,
        after=after.run,
        differences=tuple(_judged(found)),
        verdicts={
            claim: (was, after.answers[claim])
            for claim, was in before.answers.items()
            if claim in after.answers and after.answers[claim] != was
        },
        cautions=tuple(_cautions(before, after)),
    )


@dataclass(frozen=True)
class _Found:
    difference: Difference
    p: float


def _difference(before: Side, after: Side, experiment: str, server: str, metric: str) -> _Found:
    key = (experiment, server, False)
    was, now = before.values.get(key, {}).get(metric, ()), after.values.get(key, {}).get(metric, ())
    floors = [floor for each in (before, after) if (floor := _floor(each, experiment, metric)) is not None]
    floor = max(floors, default=None)

    def found(change: Change, reason: str, ratio: Interval | None = None, p: float = 1.0) -> _Found:
        return _Found(Difference(experiment, server, metric, ratio, floor, change, reason), p)

    alarm = _worse(before, after, (experiment, server))
    if alarm:
        return found("slower", alarm, p=0.0)
    marked = [side.run for side in (before, after) if _failing(side, (experiment, server))]
    if marked and not METRICS[metric].despite_failures:
        return found("not known", f"more than 1 % of its requests fail in {' and in '.join(marked)}")
    if min(len(was), len(now)) < STARTS_MIN:
        return found(
            "not known",
            f"{len(was)} and {len(now)} starts, of {STARTS_MIN} each that it takes",
        )
    if not all(value > 0 for value in (*was, *now)):
        return found("not known", "zero has no ratio")
    ratio, p = stats.unpaired_ratio(now, was)
    return found("as before", "", ratio, p)


def _worse(before: Side, after: Side, place: Place) -> str:
    """Why a server is called slower whatever its speed; or empty."""
    failing, known = _failing(after, place), after.failed.get(place, ())
    if len(failing) >= FAILING_MIN and place in before.failed and not _failing(before, place):
        worst = f"up to {max(failing) * 100:.2g} %"
        return (
            f"in {len(failing)} of {len(known)} starts more than 1 % of its requests fail ({worst}), "
            "and in none did before"
        )
    (counted, starts), (counted_before, starts_before) = after.starts[place], before.starts[place]
    if (2 * counted <= starts and 2 * counted_before > starts_before) or counted == 0 < counted_before:
        return f"{counted} of {starts} starts count, and {counted_before} of {starts_before} did before"
    return ""


def _failing(side: Side, place: Place) -> list[float]:
    return [share for share in side.failed.get(place, ()) if share > FAILED_SHARE_MAX]


def _floor(side: Side, experiment: str, metric: str) -> float | None:
    """What the twins differ by. Across runs starts share no block, and so do these."""
    floors = []
    for (where, server, twin), of_twin in side.values.items():
        if where == experiment and twin:
            first = side.values.get((experiment, server, False), {}).get(metric, ())
            second = of_twin.get(metric, ())
            if min(len(first), len(second)) >= STARTS_MIN and all(value > 0 for value in (*first, *second)):
                ratio, _ = stats.unpaired_ratio(first, second)
                floors.append(stats.far_end(ratio))
    return max(floors, default=None)


def _judged(found: Sequence[_Found]) -> list[Difference]:
    """Holm: the clearest first, each held to what is left of the 5 %; the first that fails ends it."""
    clear: set[int] = set()
    tested = sorted((each.p, index) for index, each in enumerate(found) if each.difference.ratio)
    for rank, (p, index) in enumerate(tested):
        if p > ALPHA / (len(tested) - rank):
            break
        clear.add(index)
    return [_called(each.difference, index in clear) for index, each in enumerate(found)]


def _called(difference: Difference, clear: bool) -> Difference:
    ratio, floor = difference.ratio, difference.noise_floor
    if ratio is None:
        return difference
    if not clear:
        return replace(difference, reason="within chance")
    if not stats.distinguishable(ratio, floor or 1.0):
        return replace(difference, reason="within the noise floor")
    beyond = "beyond chance and noise" if floor else "beyond chance; what is noise is not known"
    better = (ratio.estimate > 1) == (METRICS[difference.metric].better == "higher")
    return replace(difference, change="faster" if better else "slower", reason=beyond)


def _cautions(before: Side, after: Side) -> list[str]:
    said = []
    if before.study != after.study:
        said.append(f"these are runs of two studies, {before.study} and {after.study}")
    if before.scale != after.scale:
        said.append(f"one run is of scale {before.scale}, the other of {after.scale}")
    for fact in LASTING:
        was, now = before.machine.get(fact), after.machine.get(fact)
        if was != now and fact in before.machine and fact in after.machine:
            said.append(f"the machine is another: {fact.replace('_', ' ')} was {was}, is {now}")
    for server in sorted(before.versions.keys() & after.versions.keys()):
        if before.versions[server] != after.versions[server]:
            said.append(f"{server} runs on other versions: {_worded(before.versions[server])}, now "
                        f"{_worded(after.versions[server])}")  # fmt: skip
    gone = sorted(before.starts.keys() - after.starts.keys())
    said += [f"{server} in {experiment} is only in the first run" for experiment, server in gone]
    new = sorted(after.starts.keys() - before.starts.keys())
    said += [f"{server} in {experiment} is only in the second run" for experiment, server in new]
    return said


def _worded(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
