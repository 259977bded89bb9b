"""A result as OpenMetrics text: response times as histograms, which can be added up, and few labels. Pure.

Quantiles are left out, because nobody can add or average them. URLs are left out of labels, because each
would be a time series of its own.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from crumple.exports.measured import ExportedFigure, Measured, Trial
from crumple.record import histogram

# In seconds: 1, 2 and 5 of each power of ten, the same for every result.
EDGES_S = tuple(float(f"{digit}e{power}") for power in range(-5, 2) for digit in (1, 2, 5))
OUTCOMES, TIME = "crumple_requests", "crumple_response_time_seconds"
THROUGHPUT = "crumple_throughput_requests_per_second"
CPU = "crumple_server_cpu_per_request_seconds"
POINT = "crumple_breaking_point"
RATIO, CONFIDENCE = "crumple_version_ratio", "crumple_version_ratio_confidence"
Labels = Mapping[str, str | int | bool]


def text(found: Measured) -> str:
    """Return the whole exposition, with the instant at which the result ended."""
    lines = [
        *_info(found),
        *_requests(found),
        *_times(found),
        *_throughput(found),
        *_cpu(found),
        *_point(found),
        *_ratios(found),
    ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _info(found: Measured) -> Iterator[str]:
    name = "crumple_result"
    yield from _family(name, "info", "", "A result of crumple: its kind, and whether it is valid.")
    word = found.trials[0].word if found.kind == "load" else "not valid" if found.problems else "valid"
    yield _line(f"{name}_info", {"result": found.name, "kind": found.kind, "validity": word}, 1, found)


def _requests(found: Measured) -> Iterator[str]:
    if not found.trials:
        return
    yield from _family(OUTCOMES, "counter", "", "Requests of the measured phase by how they ended.")
    for each in found.trials:
        ends = each.record.outcomes.as_dict() if each.record else {}
        for outcome, number in ends.items():
            yield _line(f"{OUTCOMES}_total", {**_labels(found, each), "outcome": outcome}, number, found)


def _times(found: Measured) -> Iterator[str]:
    if not found.trials:
        return
    yield from _family(TIME, "histogram", "seconds", "Response times of the ok answers.")
    for each in found.trials:
        if each.record is None:
            continue
        stored, labels = each.record.histograms.response_time, _labels(found, each)
        times = histogram.decoded(stored)
        for edge_s in EDGES_S:
            within = stored.count - times.count_above(edge_s * 1e9)
            yield _line(f"{TIME}_bucket", {**labels, "le": _number(edge_s)}, within, found)
        yield _line(f"{TIME}_bucket", {**labels, "le": "+Inf"}, stored.count, found)
        yield _line(f"{TIME}_count", labels, stored.count, found)
        yield _line(f"{TIME}_sum", labels, stored.count * (stored.mean_ns or 0.0) / 1e9, found)


def _throughput(found: Measured) -> Iterator[str]:
    rows = [(each, each.figures.throughput_per_s) for each in found.trials if each.figures]
    if rows:
        yield from _family(THROUGHPUT, "gauge", "requests_per_second", "Ok answers per second.")
        yield from (_line(THROUGHPUT, _labels(found, each), value, found) for each, value in rows)


def _cpu(found: Measured) -> Iterator[str]:
    rows = [
        (each, each.figures.cpu_per_request_us / 1e6)
        for each in found.trials
        if each.figures and each.figures.cpu_per_request_us is not None
    ]
    if rows:
        yield from _family(CPU, "gauge", "seconds", "CPU time of the watched server for each ok answer.")
        yield from (_line(CPU, _labels(found, each), value, found) for each, value in rows)


def _point(found: Measured) -> Iterator[str]:
    points = [each for each in found.figures if each.metric == "breaking_point"]
    for each in points:
        yield from _family(POINT, "gauge", "", "The highest load that lasts, with its 95 % interval.")
        for bound, value in (("low", each.low), ("estimate", each.value), ("high", each.high)):
            if value is not None:
                yield _line(POINT, {"result": found.name, "unit": each.unit, "bound": bound}, value, found)


def _ratios(found: Measured) -> Iterator[str]:
    ratios = [each for each in found.figures if each.metric.endswith("_ratio")]
    if ratios:
        yield from _family(RATIO, "gauge", "", "A figure of a version divided by that of the first.")
    for each in ratios:
        for bound, value in (("low", each.low), ("estimate", each.value), ("high", each.high)):
            if value is not None:
                yield _line(RATIO, {**_of_ratio(found, each), "bound": bound}, value, found)
    if ratios:
        about = "In which share of comparisons such an interval holds the true ratio."
        yield from _family(CONFIDENCE, "gauge", "", about)
    for each in ratios:
        if each.confidence is not None:
            yield _line(CONFIDENCE, _of_ratio(found, each), each.confidence, found)


def _of_ratio(found: Measured, each: ExportedFigure) -> Labels:
    return {"result": found.name, "version": each.of, "figure": each.metric}


def _labels(found: Measured, trial: Trial) -> dict[str, str | int | bool]:
    return {"result": found.name, **trial.labels}


def _family(name: str, type_: str, unit: str, about: str) -> Iterator[str]:
    yield f"# TYPE {name} {type_}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {about}"


def _line(name: str, labels: Labels, value: float, found: Measured) -> str:
    inner = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {_number(value)} {datetime.fromisoformat(found.began).timestamp():.3f}"


def _number(value: float) -> str:
    """Return a number as the format writes it: counts without a point."""
    return str(value) if isinstance(value, int) else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
