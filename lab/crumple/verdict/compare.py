"""Two runs of a study against each other: what became faster or slower, which verdicts changed. Pure.

Each run is read as its report's JSON, so that one kept from yesterday can stand for the run itself. What
changed on the machine between two runs counts as a change of the servers; `cautions` names what is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from crumple.errors import NotStored
from crumple.record.metrics import METRICS
from crumple.stats import stats
from crumple.stats.stats import Interval

# Those by which a server is called slower. What it costs is shown, and called by its name only on request.
JUDGED = ("throughput", "response_p50", "response_p99")
STARTS_MIN = 2
ALPHA = 0.05
FAILED_SHARE_MAX = 0.01
# Facts in which two machines, or one on two days, may differ so that times do.
LASTING = ("cpu", "cores", "usable_cores", "kernel", "governor", "memory_bytes")

Change = Literal["slower", "faster", "as before", "not known"]


@dataclass(frozen=True)
class Side:
    """One run as its report tells it. `values`: (experiment, server, twin) → metric → value of each start.

    `failed`: (experiment, server) → the worst share of failed requests in a start that counts.
    """

    run: str
    study: str
    scale: str
    machine: Mapping[str, Any]
    versions: Mapping[str, Any]
    answers: Mapping[str, str]
    values: Mapping[tuple[str, str, bool], Mapping[str, tuple[float, ...]]]
    failed: Mapping[tuple[str, str], float]
    starts: Mapping[tuple[str, str], tuple[int, int]]


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


def side(document: Mapping[str, Any], name: str) -> Side:
    """A report's JSON as a run to compare. `name`: for messages. Raises NotStored."""
    try:
        return _side(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotStored(
            f"{name} is not the report of a study: {error!r}",
            "write it with: crumple report RUN --format json --out BASELINE.json",
        ) from None


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


def _side(document: Mapping[str, Any]) -> Side:
    values: dict[tuple[str, str, bool], dict[str, list[float]]] = {}
    failed: dict[tuple[str, str], float] = {}
    starts: dict[tuple[str, str], list[int]] = {}
    for trial in document["trials"]:
        place = (trial["experiment"], trial["server"])
        if not trial["twin"]:
            counted = starts.setdefault(place, [0, 0])
            counted[0] += bool(trial["counts"])
            counted[1] += 1
        if not trial["counts"]:
            continue
        if not trial["twin"]:
            failed[place] = max(failed.get(place, 0.0), trial["figures"]["failed_share"])
        mine = values.setdefault((*place, trial["twin"]), {})
        for metric, value in trial["figures"].items():
            if value is not None:
                mine.setdefault(metric, []).append(value)
    return Side(
        run=document["run"],
        study=document["study"],
        scale=document["scale"],
        machine=document["machine"],
        versions=document["versions"],
        answers={claim["id"]: _answer(claim) for claim in document["claims"]},
        values={key: {name: tuple(each) for name, each in mine.items()} for key, mine in values.items()},
        failed=failed,
        starts={place: (counted, all_) for place, (counted, all_) in starts.items()},
    )


def _answer(claim: Mapping[str, Any]) -> str:
    return f"{claim['answer']}, direction only" if claim["direction_only"] else str(claim["answer"])


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

    grown = after.failed.get((experiment, server), 0.0)
    if grown > FAILED_SHARE_MAX >= before.failed.get((experiment, server), 0.0):
        return found("slower", f"{grown * 100:.2g} % of its requests fail, and did not before", p=0.0)
    counted, starts = after.starts[experiment, server]
    if (
        2 * counted <= starts
        and 2 * before.starts[experiment, server][0] > before.starts[experiment, server][1]
    ):
        return found("slower", f"{counted} of {starts} starts count, and most did before", p=0.0)
    if min(len(was), len(now)) < STARTS_MIN:
        return found(
            "not known",
            f"{len(was)} and {len(now)} starts, of {STARTS_MIN} each that it takes",
        )
    if not all(value > 0 for value in (*was, *now)):
        return found("not known", "zero has no ratio")
    ratio, p = stats.unpaired_ratio(now, was)
    return found("as before", "", ratio, p)


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
    better = (ratio.estimate > 1) == (METRICS[difference.metric].better == "higher")
    return replace(difference, change="faster" if better else "slower", reason="beyond both")


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
