"""Stored results → two sides that `verdict` compares: loads, searches, comparisons of versions, or runs.

Each side is one result or several. Several are compared as a whole: how much loads, or runs, differ from one
to the next with nothing changed is then part of the comparison.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from crumple.contract import RequestSpec, TrialSpec
from crumple.errors import NotStored, UsageError
from crumple.find.report.find_document import FindDocument
from crumple.load.report.load_document import LoadDocument
from crumple.record import engine_limits, figures, histogram
from crumple.record.metrics import METRICS
from crumple.record.undisturbed import Factors
from crumple.results import restored, versus_side
from crumple.results.load_trial import stored_trial
from crumple.results.selection import REPORT, RUN, StoredEntry
from crumple.run import run_file
from crumple.run.report import report_document
from crumple.run.report.view import view
from crumple.run.store import RunStore
from crumple.stats import averages
from crumple.verdict import comparison, machines, points, sides
from crumple.verdict.comparison import JUDGED, Comparison
from crumple.verdict.points import BreakingPoint
from crumple.verdict.sides import Place, Quantiles, Side
from crumple.words import circumstances

# How many points a curve of response times has, at equal ratios of the share beyond them.
CURVE_POINTS = 60
VERSUS = "compare several results of each, or measure both versions in turns: crumple versus URL URL"
# What the user compares, if no metric is named, where CPU time is all that can be judged.
ON_ANOTHER = (*JUDGED, "cpu_per_request")
# Field of a request → what a reader calls it. The path is part of the URL if there is one request.
PARTS = {
    "method": "method",
    "headers": "headers",
    "body": "body",
    "body_file": "body",
    "body_parts": "body",
    "varies": "what varies in them",
    "weight": "weights",
    "expect": "answers expected",
}


@dataclass(frozen=True)
class ResultComparison:
    """A comparison of results of one kind, and what its page draws."""

    kind: str
    comparison: Comparison
    quantiles: Mapping[Place, tuple[tuple[Quantiles, ...], tuple[Quantiles, ...]]] = field(
        default_factory=dict
    )
    """(experiment, server) → response times by quantile of each unit before, and after."""
    searches: tuple[Sequence[BreakingPoint], Sequence[BreakingPoint]] = ((), ())
    """The searches before, and after."""
    measured: Sequence[str] = ()
    """When each side was measured, and on which machine."""


def compare(
    before: Sequence[StoredEntry],
    after: Sequence[StoredEntry],
    metrics: Sequence[str],
    *,
    any_machine: bool = False,
) -> ResultComparison:
    """Compare results of one kind. Raises UsageError for results of two kinds, and NotStored."""
    found = _compare(before, after, metrics, any_machine)
    return replace(found, measured=_measured(before[-1], after[-1]))


def _measured(before: StoredEntry, after: StoredEntry) -> list[str]:
    """Return when the last result of each side was measured, and on which machine."""
    where = [circumstances.where(machine_of(each)) for each in (before, after)]
    when = [f"{each.name}: {circumstances.when(_began(each))}" for each in (before, after)]
    if where[0] == where[1]:
        return [*when, *where[0]]
    return [", ".join([said, *place]) for said, place in zip(when, where, strict=True)]


def _began(entry: StoredEntry) -> float:
    return datetime.fromisoformat(str(entry.document["began"])).timestamp()


def _compare(
    before: Sequence[StoredEntry], after: Sequence[StoredEntry], metrics: Sequence[str], any_machine: bool
) -> ResultComparison:
    kinds = {kind_of(each) for each in (*before, *after)}
    if len(kinds) > 1:
        raise UsageError(f"results of {' and '.join(sorted(kinds))} cannot be compared", "name two of a kind")
    (kind,) = kinds
    if kind == "find":
        if metrics:
            raise UsageError(
                "--metric is for loads and runs", "searches are compared by their breaking point"
            )
        searches = _points(before), _points(after)
        return ResultComparison(kind, points.compare(*searches, any_machine=any_machine), searches=searches)
    if kind == "load":
        return _of_loads(before, after, metrics, any_machine)
    if kind == RUN:
        return _of_runs(before, after, metrics, any_machine)
    if kind == versus_side.VERSUS:
        return _of_versus(before, after, metrics, any_machine)
    raise UsageError(f"a result of {kind} is not compared", "name loads, searches, comparisons or runs")


def kind_of(entry: StoredEntry) -> str:
    """Return the kind of a result: a run's report is a run. Raises NotStored."""
    if entry.is_run:
        return RUN
    document = entry.document
    return RUN if document["kind"] == REPORT else str(document["kind"])


def _of_runs(
    before: Sequence[StoredEntry], after: Sequence[StoredEntry], metrics: Sequence[str], any_machine: bool
) -> ResultComparison:
    was, now = ([_run(each) for each in some] for some in (before, after))
    one_each = len(was) == len(now) == 1
    one, other = sides.in_one_unit(was[0], now[0]) if one_each else (sides.together(was), sides.together(now))
    return ResultComparison(RUN, _compare_sides(one, other, metrics, any_machine), _both(one, other))


def _both(before: Side, after: Side) -> dict[Place, tuple[tuple[Quantiles, ...], tuple[Quantiles, ...]]]:
    both = sorted(before.quantiles.keys() & after.quantiles.keys())
    return {place: (before.quantiles[place], after.quantiles[place]) for place in both}


def _compare_sides(before: Side, after: Side, metrics: Sequence[str], any_machine: bool) -> Comparison:
    strange = machines.machine_differences(before.machine, after.machine) and not any_machine
    chosen = metrics or (ON_ANOTHER if strange else JUDGED)
    return comparison.compare(before, after, chosen, any_machine=any_machine)


def _run(entry: StoredEntry) -> Side:
    """Read a run by its folder, or a report's JSON by its file."""
    if not entry.is_run:
        return sides.side(entry.document, str(entry.path))
    store = RunStore(entry.path)
    return sides.side(
        report_document.document(view(run_file.read(store), store.trials())).model_dump(mode="json"),
        entry.name,
    )


def _of_loads(
    before: Sequence[StoredEntry], after: Sequence[StoredEntry], metrics: Sequence[str], any_machine: bool
) -> ResultComparison:
    was, now = ([restored.read(each.document, each.name) for each in some] for some in (before, after))
    cautions = [*_unlike(was, now), *_of_one_start((*was, *now))]
    place = ("load", now[-1].url)
    one, other = _side(was, before, place), _side(now, after, place)
    found = _compare_sides(one, other, metrics, any_machine)
    if shape := _other_load(was[-1].record.spec, now[-1].record.spec):
        found = replace(
            found,
            differences=tuple(
                replace(each, ratio=None, visible=None, change="not known", reason=shape)
                for each in found.differences
            ),
        )
    return ResultComparison("load", replace(found, cautions=(*found.cautions, *cautions)), _both(one, other))


def _of_versus(
    before: Sequence[StoredEntry], after: Sequence[StoredEntry], metrics: Sequence[str], any_machine: bool
) -> ResultComparison:
    was, now = ([restored.read(each.document, each.name) for each in some] for some in (before, after))
    one, other = versus_side.side(was, before), versus_side.side(now, after)
    chosen = metrics or versus_side.metrics(one, other)
    found = comparison.compare(one, other, chosen, any_machine=any_machine)
    return ResultComparison(versus_side.VERSUS, versus_side.check(found, was, now))


def _side(loads: Sequence[LoadDocument], entries: Sequence[StoredEntry], place: tuple[str, str]) -> Side:
    values: dict[str, tuple[float, ...]] = {}
    factors: dict[str, tuple[Factors, ...]] = {}
    counted, failed, certain, taken, limited = [], [], [], [], False
    for each in loads:
        trial = stored_trial(each.record, each.validity, f"load/{each.name}")
        seen = figures.figures(trial)
        assert seen is not None and trial.disturbance is not None
        taken.append(trial.disturbance)
        is_limit = engine_limits.was_the_limit(each.validity.problems)
        counts, limited = not each.validity.problems, limited or is_limit
        if counts:
            counted.append(each)
        if counts or seen.failed_share == 1:
            failed.append(seen.failed_share)
            certain.append(seen.failed_share * METRICS["failed_share"].undisturbed(seen)[0])
        for name, metric in METRICS.items():
            value, speaks = metric.of(seen), counts or (is_limit and name in sides.SPEEDS)
            if value is not None and speaks and not metric.is_disturbed(seen):
                values[name] = (*values.get(name, ()), value)
                factors[name] = (*factors.get(name, ()), metric.undisturbed(seen))
    last = loads[-1]
    return Side(
        run=entries[-1].name if len(entries) == 1 else f"{len(entries)} loads (the last: {entries[-1].name})",
        study="load",
        scale="load",
        machine=last.measured_on,
        versions={},
        answers={},
        values={(*place, False): values},
        failed={place: tuple(failed)} if failed else {},
        # What others took from a load is not a change of the server.
        starts={place: (len(counted), sum(each.validity.word != "disturbed" for each in loads))},
        limited=frozenset({place} if limited else ()),
        unit="load",
        quantiles={place: tuple(curve(each) for each in counted)},
        factors={(*place, False): factors},
        certain={place: tuple(certain)} if certain else {},
        taken=tuple(taken),
    )


def curve(load: LoadDocument) -> Quantiles:
    """Return the response times of a load by quantile, as far as there are answers enough."""
    stored = load.record.histograms.response_time
    if not histogram.printable(0.5, stored.count):
        return {}
    times = histogram.decoded(stored)
    deepest = stored.count / histogram.SAMPLES_BEYOND
    return {
        1 - 1 / x: times.quantile_ns(1 - 1 / x)
        for x in averages.even_on_logarithms(1.05, deepest, CURVE_POINTS)
    }


def _unlike(before: Sequence[LoadDocument], after: Sequence[LoadDocument]) -> list[str]:
    was, now = before[-1], after[-1]
    cautions = [f"the server is another: {was.url}, now {now.url}"] if was.url != now.url else []
    if parts := _other_parts(was.record.spec.requests, now.record.spec.requests):
        cautions.append(f"the requests are others: {', '.join(parts)}")
    for each in (*before, *after):
        if each.ended_early:
            cautions.append(f"{each.name or each.began} ended early")
        if each.overload:
            cautions.append(
                f"{each.name or each.began} was an overload: how long it lasts lengthens its times"
            )
    return cautions


def _other_parts(before: Sequence[RequestSpec], after: Sequence[RequestSpec]) -> list[str]:
    """Return in what the requests of two loads differ."""
    if len(before) != len(after):
        return [f"{len(before)} different ones, now {len(after)}"]
    parts = [
        name
        for field_, name in PARTS.items()
        if [getattr(each, field_) for each in before] != [getattr(each, field_) for each in after]
    ]
    if len(before) > 1 and [each.path for each in before] != [each.path for each in after]:
        parts.append("paths")
    return list(dict.fromkeys(parts))


def _of_one_start(loads: Sequence[LoadDocument]) -> list[str]:
    """Return a caution if all loads, before and after, met the same process: starts are not compared."""
    pids = {each.record.spec.probe.server_pid for each in loads}
    if len(pids) > 1 or None in pids:
        return []
    return [
        f"all loads, before and after, were of one start of the server (process {next(iter(pids))}): how "
        "much starts differ is not part of the intervals"
    ]


def _other_load(before: TrialSpec, after: TrialSpec) -> str:
    """Return why response times under the two loads say nothing of each other; empty if they do."""
    if before.shape != after.shape and (_plain(before) != _plain(after)):
        return "the load is another: its shape differs"
    if before.connection != after.connection:
        return "the load is another: its connections are kept alive in one of the two only"
    return ""


def _plain(spec: TrialSpec) -> Mapping[str, Any]:
    """Return the shape without what depends on how long the load lasts, if it stays the same."""
    shape: dict[str, Any] = spec.shape.model_dump()
    rates = shape.get("rates", [])
    if len(rates) == 1 and rates[0]["from_per_s"] == rates[0]["to_per_s"]:
        rates[0]["duration_s"] = None
    return shape


def _points(entries: Sequence[StoredEntry]) -> list[BreakingPoint]:
    return [_point(restored.read(each.document, each.name), each.name) for each in entries]


def _point(found: FindDocument, name: str) -> BreakingPoint:
    terms = {"the objective": found.objective, "what was raised": found.by, "arrivals": found.arrivals}
    return BreakingPoint(
        name=name,
        point=found.breaking_point,
        starts=found.starts if found.afresh else 1,
        asked=found.asked,
        terms=terms,
        machine=found.measured_on,
        by_rate=found.by == "rate",
    )


def latest_like(
    entry: StoredEntry, known: Sequence[StoredEntry], number: int
) -> tuple[list[StoredEntry], int]:
    """Return up to `number` results before `entry` that asked the same, the latest last.

    The second is how many others would have been among them, but are of another machine.
    """
    found: list[StoredEntry] = []
    wanted, elsewhere = signature(entry), 0
    older = [each for each in known if each.written_ns < entry.written_ns and each.path != entry.path]
    for each in older:
        if len(found) == number:
            break
        try:
            if signature(each) != wanted:
                continue
            strange = machines.machine_differences(machine_of(each), machine_of(entry))
        except (NotStored, KeyError, TypeError, AttributeError):
            continue
        if strange:
            elsewhere += 1
        else:
            found.append(each)
    return found[::-1], elsewhere


def machine_of(entry: StoredEntry) -> Mapping[str, Any]:
    """Return the facts of the machine that measured it, and which the load came from. Raises NotStored."""
    return machines.with_load_host(entry.document["machine"], entry.document.get("loaded_from"))


def signature(entry: StoredEntry) -> object:
    """Return what was asked: equal of two results if they asked the same, whatever the server answered."""
    document = entry.document
    if entry.is_run:
        return RUN, document["study"]["name"], document["scale"]
    if document["kind"] == "load":
        spec = TrialSpec.model_validate(document["record"]["spec"])
        return "load", spec.target, spec.requests, spec.connection, json.dumps(_plain(spec))
    if document["kind"] == "find":
        return "find", document["asked"], document["objective"], document["by"], document["arrivals"]
    if document["kind"] == versus_side.VERSUS:
        return versus_side.VERSUS, versus_side.question_of(document)
    return document["kind"], document["asked"]
