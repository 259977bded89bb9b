"""One load as files for other programs: series and requests as CSV, an HDR log. Nothing is rounded. Pure."""

import csv
import io
from datetime import UTC, datetime

from crumple.contract import OUTCOMES
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_figures import SECOND_NS
from crumple.record import histogram
from crumple.words import answer_sentences as answers

LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
# The quantiles that have a column in the CSV file of requests.
_CSV_QUANTILES = (0.5, 0.99)
# In the CSV these columns of the series say that they are response times.
_COLUMNS = {f"{which}_ns": f"response_time_{which}_ns" for which in ("p50", "p99", "max")}


def series_csv(load: LoadDocument) -> str:
    """A row per interval from the first instant on, warm-up included; an empty cell: nothing to measure."""
    columns = load.record.series.model_dump(exclude={"interval_ms"})
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(_COLUMNS.get(name, name) for name in columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return written.getvalue()


def requests_csv(load: LoadDocument) -> str:
    """A row per request of the load: how they ended, and a column for each status that came."""
    times = [f"response_time_p{q * 100:g}_ns" for q in _CSV_QUANTILES]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(
        ["request", "scheduled", *OUTCOMES, *(f"status_{status}" for status in load.statuses), *times]
    )
    for request in load.requests:
        writer.writerow(
            [
                request.name,
                request.scheduled,
                *request.outcomes.as_dict().values(),
                *(request.statuses.get(status, 0) for status in load.statuses),
                *(request.response_time.quantile_ns.get(q) for q in _CSV_QUANTILES),
            ]
        )
    return written.getvalue()


def hdr_log(load: LoadDocument) -> str:
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


def _max_ns(encoded: str) -> int:
    times = histogram.decode(encoded)
    return times.values_ns[-1] if times.count else 0
