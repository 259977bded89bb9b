"""A result for tools that keep a history: Bencher, and github-action-benchmark. Pure.

Their formats have no word for a measurement that is not valid, so such a result is refused.
"""

import json
from collections.abc import Sequence
from typing import Any

from crumple.errors import CrumpleError
from crumple.exports.measured import Better, ExportedFigure, Measured

# What Bencher calls the metrics; it knows latency, in ns, and throughput, per second, from the start.
MEASURES = {
    "throughput": "throughput", "response_p50": "latency", "response_p90": "latency-p90",
    "response_p99": "latency-p99", "failed_share": "failed-share", "cpu_per_request": "cpu-per-request",
    "memory": "memory", "breaking_point": "breaking-point", "throughput_ratio": "throughput-ratio",
    "response_p50_ratio": "latency-ratio", "response_p90_ratio": "latency-p90-ratio",
    "response_p99_ratio": "latency-p99-ratio", "cpu_per_request_ratio": "cpu-per-request-ratio",
}  # fmt: skip
# Bencher's longest name of a benchmark.
NAME_MAX = 1024


def check(found: Measured) -> None:
    """Raise CrumpleError if a result is not valid or has no figures: a history must not record it."""
    if found.problems:
        raise CrumpleError(
            f"{found.name} is not valid ({found.problems[0]}), and a history would take it for a measurement",
            "measure again; as openmetrics, or as a table, it is exported with its validity",
        )
    if not found.figures:
        raise CrumpleError(f"{found.name} has no figure for a history", "export a load, a search or a run")


def bencher(found: Measured, benchmark: str | None) -> str:
    """Return Bencher Metric Format: benchmark → measure → value, with the ends of its interval if known.

    It has no field for the confidence of the interval.
    """
    check(found)
    whole: dict[str, dict[str, dict[str, float]]] = {}
    for each in found.figures:
        values = {"value": each.value}
        if each.low is not None and each.high is not None:
            values |= {"lower_value": each.low, "upper_value": each.high}
        whole.setdefault(_name(found, each, benchmark)[:NAME_MAX], {})[MEASURES[each.metric]] = values
    return _json(whole)


def github_action_benchmark(found: Measured, benchmark: str | None, better: Better) -> str:
    """Return the entries of which less is better, or more: the tool reads each direction from its own file.

    They are for `customSmallerIsBetter` and `customBiggerIsBetter`.
    """
    check(found)
    return _json([_entry(found, each, benchmark) for each in found.figures if each.better == better])


def _entry(found: Measured, each: ExportedFigure, benchmark: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{_name(found, each, benchmark)}: {each.title}",
        "unit": each.unit,
        "value": each.value,
    }
    if each.low is not None and each.high is not None:
        sure = "" if each.confidence is None else f" ({100 * each.confidence:.3g} % interval)"
        entry["range"] = f"{each.low:.6g} to {each.high:.6g}{sure}"
    return {**entry, "extra": f"{found.name}\n{found.command}"}


def _name(found: Measured, each: ExportedFigure, benchmark: str | None) -> str:
    return " ".join(filter(None, (benchmark or found.asked, each.of)))


def _json(whole: dict[str, Any] | Sequence[Any]) -> str:
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
