"""The tables every format prints, as rows of worded cells. How a table is drawn is the format's."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crumple.drawing import numerals
from crumple.run.report import run_sentences, server_names
from crumple.run.report.view import ExperimentView, RunView, ServerView, Start
from crumple.stats.stats import Interval
from crumple.verdict.effect import Answer, Effect
from crumple.verdict.verdict import Verdict

# Before a figure that the study expects and no article gives.
EXPECTED = "expected "


@dataclass(frozen=True)
class Figure:
    """A worded estimate and, where it has one, its interval."""

    estimate: str
    interval: str = ""

    def __str__(self) -> str:
        """Both, as they travel."""
        return f"{self.estimate} [{self.interval}]" if self.interval else self.estimate


@dataclass(frozen=True)
class EffectRow:
    """One comparison behind a verdict. `claimed`: `published` is a bound that the claim names, no ratio."""

    label: str
    published: str
    claimed: bool
    measured: Figure
    answer: str
    reason: str


@dataclass(frozen=True)
class ClaimRow:
    """One claim: `shown` are the effects its line carries, `effects` all of them.

    `closest`: of several comparisons only the one nearest to 1 is shown. `circumstances`: what it was found
    under, a sentence, or empty.
    """

    verdict: Verdict
    answer: str
    shown: tuple[EffectRow, ...]
    effects: tuple[EffectRow, ...]
    closest: bool = False
    circumstances: str = ""


@dataclass(frozen=True)
class ServerRow:
    """One server's line in an experiment."""

    server: ServerView
    throughput: Figure
    p50: Figure
    p99: Figure
    p999: Figure
    cpu: Figure
    memory: Figure
    failed: str
    starts: str


@dataclass(frozen=True)
class TrialRow:
    """One trial's line. `status`: "ok", "skipped", "failed", "not valid" or "lossy".

    `others`, `steal`: shares of the CPU time that others and the hypervisor had meanwhile.
    """

    id: str
    status: str
    throughput: str
    p50: str
    p99: str
    failed: str
    others: str
    steal: str
    remark: str
    command: str


def claims(view: RunView) -> list[ClaimRow]:
    """Every claim with its effects. A claim of order shows the closest of its comparisons."""
    return [_claim(view, verdict) for verdict in view.verdicts]


def asked(view: RunView) -> list[ClaimRow]:
    """Those that the run's scale asks."""
    return [_claim(view, verdict) for verdict in view.asked]


def servers(experiment: ExperimentView) -> list[ServerRow]:
    """Every server of an experiment, by throughput."""
    return [_server(server) for server in experiment.servers]


def trials(view: RunView) -> list[TrialRow]:
    """Every trial of the run by id, and behind it what it was repeated as."""
    every = sorted((*view.starts, *view.replaced), key=lambda start: start.trial.trial.id)
    return [_trial(view, start) for start in every]


def machine(view: RunView) -> list[tuple[str, str]]:
    """Facts of the machine, worded; what could not be read says why."""
    facts = dict(view.run.machine)
    costs = facts.pop("costs", {})
    unread = {entry["field"]: entry["why"] for entry in facts.pop("unread", [])}
    rows = [(_worded(name), _fact(name, value)) for name, value in _flat(facts).items() if name not in unread]
    rows += [(_worded(name), f"not read: {why}") for name, why in unread.items()]
    return [
        *rows,
        *((f"cost of a {_worded(name).replace('non b', 'non-b')}", _cost(ns)) for name, ns in costs.items()),
    ]


def versions(view: RunView) -> list[tuple[str, str, str]]:
    """Server, runtimes and libraries with versions, settings as "name = value"."""
    rows = []
    for name, note in view.run.servers.items():
        runtimes = [f"{runtime} {version}" for runtime, version in view.run.versions.get(name, {}).items()]
        libraries = [f"{library} {version}" for library, version in note.libraries.items()]
        rows.append((name, ", ".join([*runtimes, *libraries]) or numerals.ABSENT, _settings(view, name)))
    return rows


def closest(verdict: Verdict) -> Effect | None:
    """Of several comparisons with the verdict's answer the one nearest to 1: the weakest evidence for it."""
    alike = [effect for effect in verdict.effects if effect.answer == verdict.answer and effect.measured]
    return min(alike, key=_distance, default=None)


def figure(summary: Interval | None, scale: float = 1.0, unit: str = "") -> Figure:
    """An interval, worded."""
    if summary is None:
        return Figure(numerals.ABSENT)
    thin_unit = f"{numerals.NARROW}{unit}" if unit else ""
    return Figure(f"{numerals.estimate(summary, scale)}{thin_unit}", numerals.ends(summary, scale))


def _claim(view: RunView, verdict: Verdict) -> ClaimRow:
    rows = {id(effect): _effect(effect) for effect in verdict.effects}
    every = tuple(rows.values())
    if verdict.kind == "order":
        one = closest(verdict)
        shown = (rows[id(one)],) if one is not None else ()
    else:
        shown = every
    nothing = all(effect.answer is Answer.NOT_TESTABLE and not effect.measured for effect in verdict.effects)
    if nothing and len(shown) > 1 and len({row.published for row in shown}) == 1:
        # The same was claimed of all, and nothing measured of any: once is enough.
        shown = (replace(shown[0], label=""),)
    of_several = verdict.kind == "order" and len(every) > 1
    found = server_names.circumstances(view, verdict)
    return ClaimRow(verdict, run_sentences.answer(verdict), shown, every, of_several and bool(shown), found)


def _distance(effect: Effect) -> float:
    return abs(math.log(effect.ratio.estimate)) if effect.ratio else math.inf


def _effect(effect: Effect) -> EffectRow:
    answer = effect.answer.value + (f" {run_sentences.IN_SIZE_ONLY}" if effect.in_size_only else "")
    published = effect.bound or numerals.published(effect.published)
    if effect.expected is not None:
        published = f"{EXPECTED}{numerals.published(effect.expected)}"
    measured = _in_its_unit(effect.value, effect.unit) if effect.value else figure(effect.ratio)
    if effect.limit:
        measured = Figure(f"{effect.limit} {_end(effect)}")
    return EffectRow(effect.label, published, bool(effect.bound), measured, answer, effect.reason)


def _end(effect: Effect) -> str:
    """The end of the interval that is known, where the engine was the limit."""
    measured = effect.measured
    assert measured is not None
    end = measured.low if effect.limit == "at least" else measured.high
    return numerals.significant(end) + (f"{numerals.NARROW}{effect.unit}" if effect.value else "")


def _server(server: ServerView) -> ServerRow:
    of = server.summaries
    failed = numerals.share(server.failed_share)
    if server.lossy:
        failed += f" ({', '.join(_lost(start) for start in server.lossy)})"
    if starved := run_sentences.unanswered(server):
        failed += f"; {starved}"
    return ServerRow(
        server=server,
        throughput=figure(of["throughput"]),
        p50=_time(of["response_p50"]),
        p99=_time(of["response_p99"]),
        p999=_time(of["response_p999"]),
        cpu=figure(of["cpu_per_request"], 1.0, "µs"),
        memory=_size(of["memory"]),
        failed=failed,
        starts=f"{len(server.counting)} of {len(server.starts)}",
    )


def _trial(view: RunView, start: Start) -> TrialRow:
    trial, seen = start.trial, start.figures
    status = "ok"
    if seen is None:
        status = "skipped" if trial.skipped else "failed"
    elif not start.counts:
        status = "not valid"
    elif start.lossy:
        status = "lossy"
    return TrialRow(
        id=trial.trial.id,
        status=status,
        throughput=numerals.significant(seen.throughput_per_s) if seen else numerals.ABSENT,
        p50=numerals.duration(seen.response_ns.get(0.5)) if seen else numerals.ABSENT,
        p99=numerals.duration(seen.response_ns.get(0.99)) if seen else numerals.ABSENT,
        failed=f"{numerals.share(seen.failed_share)}{_starved(start)}" if seen else numerals.ABSENT,
        others=numerals.share(trial.disturbance.others_share if trial.disturbance else None),
        steal=numerals.share(trial.disturbance.steal_share if trial.disturbance else None),
        remark=run_sentences.remark(start),
        command=run_sentences.command(view, trial.trial.label),
    )


def _starved(start: Start) -> str:
    """Who got no answer is in no quantile, nor among the failed."""
    found = start.unanswered
    return f", {found.connections:,} of {found.of:,} users unanswered" if found else ""


def _lost(start: Start) -> str:
    return f"{numerals.share(start.figures.failed_share if start.figures else None)} in {start.block_name}"


def _time(summary: Interval | None) -> Figure:
    return figure(summary, *numerals.time_scale(summary.estimate)) if summary else figure(None)


def _in_its_unit(value: Interval, unit: str) -> Figure:
    if unit == "ns":
        return _time(value)
    if unit == "bytes":
        return _size(value)
    return figure(value, 0.01, "%") if unit == "share" else figure(value, 1.0, unit)


def _size(summary: Interval | None) -> Figure:
    return figure(summary, *numerals.size_scale(summary.estimate)) if summary else figure(None)


def _settings(view: RunView, server: str) -> str:
    seen = {
        (name, str(value))
        for start in view.starts
        if start.trial.trial.server == server
        for name, value in start.trial.server.settings.items()
    }
    return ", ".join(f"{name} = {value}" for name, value in sorted(seen)) or numerals.ABSENT


def _flat(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name} ")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _worded(name: str) -> str:
    return name.removesuffix("_bytes").replace("_", " ")


def _fact(name: str, value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if name.endswith("_bytes"):
            return numerals.size(value)
        if "share" in name:
            return numerals.share(value)
        return f"{value:,}" if isinstance(value, int) else numerals.significant(value)
    if isinstance(value, list | tuple):
        return " · ".join(_fact("", part) if not isinstance(part, list) else _joined(part) for part in value)
    return str(value)


def _cost(readings_ns: Sequence[float]) -> str:
    """The middle one of the readings, and between which ends all of them lie."""
    if not readings_ns:
        return "not known"
    least, middle, most = min(readings_ns), statistics.median(readings_ns), max(readings_ns)
    if len(readings_ns) == 1:
        return f"{numerals.duration(middle)}, one reading"
    scale, unit = numerals.time_scale(middle)
    low, high = (numerals.significant(end / scale) for end in (least, most))
    thin = numerals.NARROW
    return (
        f"{numerals.duration(middle)} [{low}{thin}–{thin}{high}{thin}{unit} in {len(readings_ns)} readings]"
    )


def _joined(part: list[Any]) -> str:
    return "+".join(str(each) for each in part)
