"""crumple compare: two runs, or a kept report and a run; 1 if something became slower beyond chance."""

import json
import math
from pathlib import Path
from typing import Any

from rich.text import Text

from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.errors import NotFound, NotStored, UsageError
from crumple.record.metrics import METRICS
from crumple.report.data import data
from crumple.report.sentences import difference as change
from crumple.report.view import view
from crumple.run import run_file, store
from crumple.toml_file import did_you_mean
from crumple.verdict import compare, sentences
from crumple.verdict.compare import Comparison, Difference
from crumple.verdict.side import Side, side

STYLES = {"slower": "bold red", "faster": "green", "as before": "dim", "not known": "yellow"}


def runs(before: str, after: str, metrics: list[str], as_json: bool) -> int:
    """Print what changed. Raises NotFound, and UsageError where one of the two cannot be read.

    That is no 1, which says that something became slower; nor is 3, where nothing at all could be compared.
    """
    for metric in metrics:
        if metric not in METRICS:
            raise NotFound(f'no metric is called "{metric}"', did_you_mean(metric, METRICS))
    try:
        compared = compare.compare(_side(before), _side(after), metrics or compare.JUDGED)
    except NotStored as error:
        raise UsageError(error.message, error.remedy) from None
    if as_json:
        output.as_json(_document(compared))
    else:
        _print(compared)
    if compared.slower:
        return 1
    if not any(each.ratio for each in compared.differences):
        output.say("nothing could be compared: no server has figures of one experiment in both runs")
        return 3
    return 0


def _side(name: str) -> Side:
    """A run by its name or folder, or a report's JSON by its file."""
    path = Path(name)
    if path.is_file():
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise NotStored(
                f"{name} is no JSON: {error}", "write it with: crumple report --format json"
            ) from None
        return side(document, name)
    run = store.find(Project.here().runs, name)
    return side(json.loads(data(view(run_file.read(run), run.trials()))), name)


def _print(compared: Comparison) -> None:
    rows = [
        (each.experiment, each.server, each.metric, _ratio(each), _visible(each),
         Text(each.change, style=STYLES[each.change]), each.reason)
        for each in compared.differences
    ]  # fmt: skip
    output.as_table(("experiment", "server", "metric", "after ÷ before", "seen above", "", ""), rows)
    for claim, (was, now) in compared.verdicts.items():
        output.facts.print(Text(f"{claim}: {was} → {now}"))
    if not compared.verdicts:
        output.facts.print(Text("No verdict changed."))
    for caution in compared.cautions:
        output.say(f"caution: {caution}")
    output.facts.print(Text(_summary(compared)))


def _summary(compared: Comparison) -> str:
    faster = sum(each.change == "faster" for each in compared.differences)
    unknown = sum(each.change == "not known" for each in compared.differences)
    parts = [f"{len(compared.slower)} slower", f"{faster} faster"]
    if unknown:
        parts.append(f"{unknown} not known")
    said = f"Of {len(compared.differences)} figures: {', '.join(parts)}."
    seen = [each.visible for each in compared.differences if each.visible is not None]
    if not seen:
        return said
    span = f"{change(min(seen))} to {change(max(seen))}"
    return f"{said} Changes above {span}, by figure, would have been seen in four runs of five."


def _ratio(difference: Difference) -> str:
    if difference.ratio is None:
        return "–"
    low, middle, high = sentences.ends(difference.ratio)
    return f"{middle} [{low} – {high}]"


def _visible(difference: Difference) -> str:
    return "–" if difference.visible is None else change(difference.visible)


def _document(compared: Comparison) -> dict[str, Any]:
    return {
        "version": 2,
        "before": compared.before,
        "after": compared.after,
        "slower": len(compared.slower),
        "differences": [_entry(each) for each in compared.differences],
        "verdicts_changed": {
            claim: {"before": was, "after": now} for claim, (was, now) in compared.verdicts.items()
        },
        "cautions": compared.cautions,
    }


def _entry(each: Difference) -> dict[str, Any]:
    ratio = each.ratio
    return {
        "experiment": each.experiment,
        "server": each.server,
        "metric": each.metric,
        "ratio": None if ratio is None else {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high,
                                             "confidence": ratio.confidence, "n": ratio.n},
        "visible": each.visible if each.visible is None or math.isfinite(each.visible) else None,
        "change": each.change,
        "reason": each.reason,
    }  # fmt: skip
