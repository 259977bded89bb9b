"""The tables that every format prints, as rows of worded cells; each format draws them."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crumple.drawing import numerals
from crumple.run.report import run_sentences
from crumple.run.report.view import SPEED, ExperimentView, RunView, ServerView, StartView
from crumple.stats.interval import Interval
from crumple.verdict.effect import Limit
from crumple.verdict.verdict_sentences import enumerate_parts


@dataclass(frozen=True)
class WordedFigure:
    """A worded estimate, and its interval or empty."""

    estimate: str
    interval: str = ""

    def __str__(self) -> str:
        """The estimate, with its interval if it has one."""
        return f"{self.estimate} [{self.interval}]" if self.interval else self.estimate


@dataclass(frozen=True)
class NotAskedRow:
    """A claim that the run does not ask."""

    claim_id: str
    text: str
    why: str
    """The scales that may, "full or published", or --servers. `why` is empty if the study lets this scale ask
    the claim, but the run has no trials for it: a run does not know which other scales have them."""


@dataclass(frozen=True)
class ServerFigures:
    """One server's line in an experiment."""

    server: ServerView
    throughput: WordedFigure
    p50: WordedFigure
    p99: WordedFigure
    p999: WordedFigure
    cpu: WordedFigure
    memory: WordedFigure
    failed: str
    starts: str
    remark: str
    """Which starts failed requests or are bounds, and whose users got no answer; empty: nothing."""


@dataclass(frozen=True)
class TrialRow:
    """One trial's line."""

    id: str
    status: str
    """One of "ok", "skipped", "failed", "not valid" and "lossy"."""
    throughput: str
    p50: str
    p99: str
    failed: str
    others: str
    """The share of CPU time that other programs used during the trial."""
    steal: str
    """The share of CPU time that the hypervisor used during the trial."""
    remark: str
    command: str


def claims_not_asked(view: RunView) -> list[NotAskedRow]:
    """Return the claims of the study that the run does not ask."""
    scales = {claim.id: claim.scales for claim in view.run.study.claims}

    def why(claim: str) -> str:
        if claim in view.unasked_servers:
            return f"--servers leaves out {enumerate_parts(view.unasked_servers[claim])}"
        return "" if view.run.scale in scales[claim] else " or ".join(scales[claim])

    return [NotAskedRow(each.claim_id, each.text, why(each.claim_id)) for each in view.not_asked]


def servers(experiment: ExperimentView) -> list[ServerFigures]:
    """Return every server of an experiment by throughput, and then those that are not ranked by it."""
    return [figures_of(server) for server in experiment.servers]


def trials(view: RunView) -> list[TrialRow]:
    """Return every trial of the run by id."""
    return [_trial(view, start) for start in view.starts_by_id]


def machine(view: RunView) -> list[tuple[str, str]]:
    """Return facts of the machine in words; a fact that could not be read has the reason instead."""
    facts = dict(view.run.machine)
    costs = facts.pop("costs", {})
    unread = {entry["field"]: entry["why"] for entry in facts.pop("unread", [])}
    rows = [
        (_words(name), _fact(name, value)) for name, value in _flatten(facts).items() if name not in unread
    ]
    rows += [(_words(name), f"not read: {why}") for name, why in unread.items()]
    return [
        *rows,
        *((f"cost of a {_words(name).replace('non b', 'non-b')}", _cost(ns)) for name, ns in costs.items()),
    ]


def versions(view: RunView) -> list[tuple[str, str, str]]:
    """Return each server, its runtimes and libraries with versions, and its settings as "name = value"."""
    rows = []
    for name, note in view.run.servers.items():
        runtimes = [f"{runtime} {version}" for runtime, version in view.run.versions.get(name, {}).items()]
        libraries = [f"{library} {version}" for library, version in note.libraries.items()]
        rows.append((name, ", ".join([*runtimes, *libraries]) or numerals.ABSENT, _settings(view, name)))
    return rows


def figure(summary: Interval | None, scale: float = 1.0, unit: str = "", limit: Limit = "") -> WordedFigure:
    """Return an interval in words. `limit`: it is only a bound."""
    if summary is None:
        return WordedFigure(numerals.ABSENT)
    thin_unit = f"{numerals.NARROW}{unit}" if unit else ""
    if limit:
        known = summary.n > 1 and not summary.is_vague
        said = "" if known else numerals.ends(summary, scale)
        return WordedFigure(f"{numerals.at_least(summary, scale)}{thin_unit}", said)
    return WordedFigure(f"{numerals.estimate(summary, scale)}{thin_unit}", _ends(summary, scale))


def _ends(summary: Interval, scale: float) -> str:
    """Return the ends of an interval; empty if they are one, or if one or two starts do not show any."""
    if not numerals.worth_showing(summary) or summary.low == summary.high:
        return ""
    return numerals.ends(summary, scale)


def figures_of(server: ServerView) -> ServerFigures:
    """Return the line of a server."""
    of = server.summaries
    return ServerFigures(
        server=server,
        throughput=figure(of[SPEED], limit=server.limit(SPEED)),
        p50=_in("ns", of["response_p50"]),
        p99=_in("ns", of["response_p99"]),
        p999=_in("ns", of["response_p999"]),
        cpu=_in("µs", of["cpu_per_request"]),
        memory=_in("bytes", of["memory"]),
        failed=numerals.share(server.failed_share),
        starts=f"{len(server.counting)} of {len(server.starts)}",
        remark="; ".join(_remarks(server)),
    )


def _remarks(server: ServerView) -> Iterator[str]:
    if server.lossy:
        yield f"failed: {', '.join(_losses(start) for start in server.lossy)}"
    if not server.ranked:
        yield run_sentences.NOT_RANKED
    if bounds := len(server.engine_limited):
        more = numerals.count(bounds, "more start")
        yield f"{more} as {'a lower bound' if bounds == 1 else 'lower bounds'}"
    if starved := run_sentences.unanswered(server):
        yield f"{starved}; {run_sentences.OF_THE_OTHERS}"


def _trial(view: RunView, start: StartView) -> TrialRow:
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
        failed=f"{numerals.share(seen.failed_share)}{_users_unanswered(start)}" if seen else numerals.ABSENT,
        others=numerals.share(trial.disturbance.others_share if trial.disturbance else None),
        steal=numerals.share(trial.disturbance.steal_share if trial.disturbance else None),
        remark=run_sentences.remark(start),
        command=run_sentences.command(view, trial.trial.id),
    )


def _users_unanswered(start: StartView) -> str:
    """Return how many users got no answer; they are in no quantile, nor among the failed requests."""
    found = start.unanswered
    return f", {found.connections:,} of {found.of:,} users unanswered" if found else ""


def _losses(start: StartView) -> str:
    return f"{numerals.share(start.figures.failed_share if start.figures else None)} in {start.block_name}"


def _in(unit: str, summary: Interval | None) -> WordedFigure:
    """Return a summary with values in `unit`, worded in the unit that suits its estimate."""
    if summary is None:
        return figure(None)
    if unit == "share":
        scale, name = 0.01, "%"
    elif unit == "bytes":
        scale, name = numerals.size_scale(summary.estimate)
    else:
        scale, name = numerals.unit_scale(summary.estimate, unit)
    return figure(summary, scale, name)


def _settings(view: RunView, server: str) -> str:
    seen = {
        (name, str(value))
        for start in view.starts
        if start.trial.trial.server == server
        for name, value in start.trial.server.settings.items()
    }
    return ", ".join(f"{name} = {value}" for name, value in sorted(seen)) or numerals.ABSENT


def _flatten(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{name} ")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _words(name: str) -> str:
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
        parts = ("+".join(map(str, part)) if isinstance(part, list) else _fact("", part) for part in value)
        return " · ".join(parts)
    return str(value)


def _cost(readings_ns: Sequence[float]) -> str:
    """Return the median of the readings, with the smallest and the largest."""
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
