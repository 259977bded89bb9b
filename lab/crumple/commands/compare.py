"""crumple compare: compares two runs, each named or given as a report's JSON; 1 if a figure became slower."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.drawing import numerals
from crumple.errors import NotFound, NotStored, UsageError
from crumple.parsing import did_you_mean
from crumple.record.metrics import METRICS
from crumple.run import run_file, store
from crumple.run.report.run_json import data, finite, interval
from crumple.run.report.run_sentences import difference as change
from crumple.run.report.view import view
from crumple.verdict import comparison, verdict_sentences
from crumple.verdict.comparison import Comparison, Difference, Side, side

STYLES = {"slower": "bold red", "faster": "green", "as before": "dim", "not known": "yellow"}


def runs(before: str, after: str, metrics: list[str], as_json: bool, must_see: str | None = None) -> int:
    """Print what changed and return the exit code: 1 if a figure became slower beyond chance.

    3 if nothing could be compared, or if a change of `must_see` ("10%") could have been missed in a figure.
    Raises NotFound, and UsageError if one of the two cannot be read.
    """
    change_to_see = _meant(must_see)
    for metric in metrics:
        if metric not in METRICS:
            raise NotFound(f'no metric is called "{metric}"', did_you_mean(metric, METRICS))
    try:
        compared = comparison.compare(_side(before), _side(after), metrics or comparison.JUDGED)
    except NotStored as error:
        raise UsageError(error.message, error.remedy) from None
    if as_json:
        output.as_json(_document(compared))
    else:
        _print(compared)
    if compared.slower:
        return 1
    if not any(each.ratio for each in compared.differences):
        output.say("nothing could be compared: no server has figures of the same experiment in both runs")
        return 3
    blind = [each for each in compared.differences if each.visible and each.visible > change_to_see]
    if blind:
        output.say(
            f"a change of {must_see} could have been missed in {numerals.count(len(blind), 'figure')} "
            f"({blind[0].metric} of {blind[0].server}, for instance): compare runs of more blocks"
        )
        return 3
    return 0


def _meant(must_see: str | None) -> float:
    """Return the change as a factor, 1.1 for "10%"; infinite if none is asked for. Raises UsageError."""
    if must_see is None:
        return math.inf
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", must_see.strip())
    if found is None or float(found[1]) <= 0:
        raise UsageError(f"--must-see {must_see} is not a change", "write a percentage: --must-see 10%")
    return 1 + float(found[1]) / 100


def _side(name: str) -> Side:
    """Read a run by its name or folder, or a report's JSON by its file."""
    path = Path(name)
    if path.is_file():
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise NotStored(
                f"{name} is not JSON: {error}", "write it with: crumple report --format json"
            ) from None
        return side(document, name)
    run = store.find(Project.here().runs, name)
    return side(json.loads(data(view(run_file.read(run), run.trials()))), name)


def _print(compared: Comparison) -> None:
    for caution in compared.cautions:
        output.say(f"caution: {caution}")
    rows = [
        (each.experiment, each.server, each.metric, _ratio(each), _visible(each),
         Text(each.change, style=STYLES[each.change]))
        for each in compared.differences
    ]  # fmt: skip
    headings = ("experiment", "server", "metric", "after ÷ before", "seen above", "change")
    output.as_table(headings, rows, ("seen above",), ("after ÷ before", "change"))
    for reason in _reasons(compared.differences):
        output.facts.print(Text(reason))
    for claim, (was, now) in compared.verdicts.items():
        output.facts.print(Text(f"{claim}: {was} → {now}"))
    if not compared.verdicts:
        output.facts.print(Text("No verdict changed."))
    output.facts.print(Text(_summary(compared)))


def _reasons(differences: Sequence[Difference]) -> list[str]:
    """Return a line for each reason other than chance, with all metrics of a server that it applies to."""
    metrics: dict[tuple[str, str, str], list[str]] = {}
    for each in differences:
        if each.reason not in (comparison.WITHIN_CHANCE, comparison.BEYOND_CHANCE):
            metrics.setdefault((each.experiment, each.server, each.reason), []).append(each.metric)
    return [
        f"{server} in {experiment}, {', '.join(names)}: {reason}"
        for (experiment, server, reason), names in metrics.items()
    ]


def _summary(compared: Comparison) -> str:
    faster = sum(each.change == "faster" for each in compared.differences)
    unknown = sum(each.change == "not known" for each in compared.differences)
    parts = [f"{len(compared.slower)} slower", f"{faster} faster"]
    if unknown:
        parts.append(f"{unknown} not known")
    said = f"Of {len(compared.differences)} figures: {', '.join(parts)}."
    known = [each.visible for each in compared.differences if each.visible is not None]
    seen = [ratio for ratio in known if math.isfinite(ratio)]
    if not seen:
        return said
    span = f"{change(min(seen))} to {change(max(seen))}"
    return f"{said} Changes above {span}, by figure, would have been seen in four runs of five."


def _ratio(difference: Difference) -> str:
    if difference.ratio is None:
        return "–"
    low, middle, high = verdict_sentences.ends(difference.ratio)
    if difference.limit:
        return f"{difference.limit} {low if difference.limit == 'at least' else high}"
    return f"{middle} [{low}–{high}]"


def _visible(difference: Difference) -> str:
    visible = difference.visible
    return change(visible) if visible is not None and math.isfinite(visible) else "–"


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
    return {
        "experiment": each.experiment,
        "server": each.server,
        "metric": each.metric,
        "ratio": interval(each.ratio),
        "visible": finite(each.visible),
        "limit": each.limit or None,
        "change": each.change,
        "reason": each.reason,
    }
