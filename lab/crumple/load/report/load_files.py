"""One load as files: an HTML page that needs no network, series as CSV, an HDR log, all of it as JSON.

Pure: Load → str. The page has words and rounded figures for readers; data for other programs have neither.
"""

import csv
import io
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from crumple.contract import OUTCOMES
from crumple.drawing import numerals
from crumple.drawing.terminal import shown
from crumple.load.report import load_sentences as say
from crumple.load.report import server_sentences
from crumple.load.report.load_figures import QUANTILES, SECOND_NS, Kind, Load, Spread, Step
from crumple.record import failures, histogram
from crumple.record.failures import Unexpected
from crumple.words import answer_sentences as answers
from crumple.words import cause_sentences, time_sentences


@dataclass(frozen=True)
class Row:
    """A row of a table of times, as text."""

    name: str
    about: str
    cells: tuple[str, ...]


def html(load: Load) -> str:
    """The whole page. Raises NotStored where a histogram is damaged."""
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.drawing import page
    from crumple.load.report.load_charts import CHARTS

    record = load.record
    template = page.templates().get_template("load.html.j2")
    return template.render(
        load=load,
        record=record,
        say=say,
        server=server_sentences,
        answers=answers,
        style=page.style(),
        drawings=page.drawings(CHARTS, load),
        heads=["mean", *(say.quantile(q) for q in QUANTILES), "max"],
        times=[
            _times(load, name) for name in say.SPREADS if name in load.spreads and load.spreads[name].count
        ],
        kinds=[_kind_row(kind) for kind in load.kinds if len(load.kinds) > 1],
        steps=[_step_row(load, n) for n in range(len(load.steps))],
        outcomes=[
            (name, f"{number:,}", numerals.share(number / record.scheduled))
            for name, number in record.outcomes.as_dict().items()
            if number and name != "ok"
        ],
        facts=say.facts(load),
    )


def _times(load: Load, name: str) -> Row:
    title, about = say.SPREADS[name]
    spread = load.spreads[name]
    return Row(title, about, (f"{spread.count:,}", *_cells(spread)))


def _step_row(load: Load, number: int) -> Row:
    step = load.steps[number]
    spread = step.spread
    counts = (numerals.rate(step.due_per_s), numerals.rate(step.throughput_per_s), f"{step.failed:,}")
    return Row(say.rate(step.rate), f"from {say.seconds(step.from_s)}", (*counts, *_cells(spread)))


def _kind_row(kind: Kind) -> Row:
    name, asked = shown(kind.record.name), f"{kind.asked.method} {kind.asked.path}"
    counts = (numerals.share(kind.share), f"{kind.record.outcomes.ok:,}", say.failed(kind))
    return Row(name, "" if name == shown(asked) else shown(asked), (*counts, *_cells(kind.spread)))


def _cells(spread: Spread) -> tuple[str, ...]:
    return (
        numerals.duration(spread.mean_ns),
        *say.quantiles(spread, QUANTILES),
        numerals.duration(spread.max_ns),
    )


VERSION = 1
LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
_CSV_QUANTILES = (0.5, 0.99)
# In the CSV these columns of the series say that they are response times.
_COLUMNS = {f"{which}_ns": f"response_time_{which}_ns" for which in ("p50", "p99", "max")}


def series_csv(load: Load) -> str:
    """A row per interval from the first instant on, warm-up included; an empty cell: nothing to measure."""
    columns = load.record.series.model_dump(exclude={"interval_ms"})
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(_COLUMNS.get(name, name) for name in columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return written.getvalue()


def requests_csv(load: Load) -> str:
    """A row per request of the load: how they ended, and a column for each status that came."""
    seen = list(failures.answers_by_status(load.record))
    times = [f"response_time_p{q * 100:g}_ns" for q in _CSV_QUANTILES]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["request", "scheduled", *OUTCOMES, *(f"status_{status}" for status in seen), *times])
    for kind in load.kinds:
        writer.writerow(
            [
                kind.record.name,
                kind.record.scheduled,
                *kind.record.outcomes.as_dict().values(),
                *(kind.record.statuses.get(status, 0) for status in seen),
                *(kind.spread.quantile_ns.get(q) for q in _CSV_QUANTILES),
            ]
        )
    return written.getvalue()


def hdr_log(load: Load) -> str:
    """Response times in the log format of HdrHistogram, version 1.3: values in ns, a line per interval.

    Lines begin in seconds since measuring began, which `BaseTime` puts on the wall clock.
    """
    # The hdrhistogram package writes such logs too, but cuts the maxima to whole milliseconds.
    record, log = load.record, load.record.log
    began_s = (record.began_unix_ns + record.warm_up_ns) / SECOND_NS
    intervals = zip(log.at_ns, log.duration_ns, log.response_time, strict=True)
    lines = [
        f"#[Logged with crumple {record.engine_version}: {load.url}]",
        "#[Values are response times of ok answers in nanoseconds, from due to the last byte; "
        "Interval_Max in milliseconds]",
        f"#[Answers by status: {answers.statuses(record) or 'none'}]",
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {began_s:.3f} (seconds since epoch), {datetime.fromtimestamp(began_s, UTC):%c} UTC]",
        f"#[BaseTime: {began_s:.3f} (seconds since epoch)]",
        LEGEND,
        *(
            f"{at_ns / SECOND_NS:.3f},{long_ns / SECOND_NS:.3f},{_max_ns(encoded) / 1e6:.3f},{encoded}"
            for at_ns, long_ns, encoded in intervals
        ),
    ]
    return "\n".join(lines) + "\n"


def document(load: Load) -> dict[str, Any]:
    """The figures of the summary, and the whole record behind them. Times in ns, CPU in µs, shares 0..1."""
    record = load.record
    has_rates = load.lost is None or load.counted_s > 0
    return {
        "version": VERSION,
        "url": load.url,
        "command": load.command,
        "validity": {
            "word": load.validity.word,
            "problems": list(load.validity.problems),
            "warnings": list(load.validity.warnings),
        },
        "overload": load.overload and asdict(load.overload),
        "fail_if": [asdict(each) for each in load.fail_if],
        "scheduled": record.scheduled,
        "outcomes": record.outcomes.as_dict(),
        "failed_share": failures.share(record.outcomes) if load.lost is None else None,
        "statuses": {str(status): count for status, count in failures.answers_by_status(record).items()},
        "unexpected": [_unexpected(each) for each in load.unexpected],
        "requests": [_kind(kind) for kind in load.kinds],
        "users": record.users,
        "users_unanswered": record.users_unanswered,
        "connections_opened": record.connections_opened,
        "connections_closed_by_server": record.connections_closed_by_server,
        "slow_connects": load.slow_connects,
        "throughput_per_s": load.throughput_per_s if has_rates else None,
        "received_bytes_per_s": load.per_s(record.received_bytes) if has_rates else None,
        "sent_bytes_per_s": load.per_s(record.sent_bytes) if has_rates else None,
        "times": {name: _spread(spread) for name, spread in load.spreads.items()},
        "steps": [_step(step) for step in load.steps],
        "engine": load.engine and asdict(load.engine),
        "engine_share": load.engine_share,
        "ceiling_per_s": load.ceiling_per_s,
        "ceiling_at_least": load.ceiling_at_least,
        "held_mean_ns": load.held_mean_ns,
        "server": load.server and asdict(load.server),
        "stages": time_sentences.as_data(load.budget),
        "kept_back_ns": load.kept_back_ns,
        "program": load.program and asdict(load.program),
        "unwatched": load.unwatched or None,
        "idle_cores": load.idle_cores,
        "alone": load.alone and asdict(load.alone),
        "compressible": load.compressible and asdict(load.compressible),
        "findings": cause_sentences.as_data(load.said),
        "lost": load.lost and asdict(load.lost),
        "record": record.model_dump(mode="json"),
    }


def _unexpected(each: Unexpected) -> dict[str, Any]:
    return {
        "outcome": each.outcome,
        "status": each.status,
        "count": each.count,
        "reason": each.reason,
        "since_ns": each.since_ns,
        "tls_fault": each.tls_fault,
        "bodies_compared": each.compared and each.compared[0],
        "first": each.first and each.first.model_dump(mode="json"),
    }


def _kind(kind: Kind) -> dict[str, Any]:
    return {
        "name": kind.record.name,
        "share": kind.share,
        "scheduled": kind.record.scheduled,
        "outcomes": kind.record.outcomes.as_dict(),
        "statuses": {str(status): count for status, count in kind.record.statuses.items()},
        "response_time": _spread(kind.spread),
    }


def _max_ns(encoded: str) -> int:
    times = histogram.decode(encoded)
    return times.values_ns[-1] if times.count else 0


def _spread(spread: Spread) -> dict[str, Any]:
    quantile_ns = {f"{q:g}": ns for q, ns in spread.quantile_ns.items()}
    return {**asdict(spread), "quantile_ns": quantile_ns, "at_most": [f"{q:g}" for q in spread.at_most]}


def _step(step: Step) -> dict[str, Any]:
    return {
        "rate": step.rate.model_dump(),
        "from_s": step.from_s,
        "to_s": step.to_s,
        "scheduled": step.requests,
        "ok": step.ok,
        "failed": step.failed,
        "throughput_per_s": step.throughput_per_s,
        "response_time": _spread(step.spread),
    }
