"""crumple compare: compares stored loads, searches or runs, or reports; 1 if a figure became slower."""

import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.drawing import numerals, report_text
from crumple.drawing.terminal import shown_json
from crumple.errors import NotFound, NotStored, UsageError
from crumple.load import flag_files
from crumple.parsing import did_you_mean
from crumple.record.metrics import METRICS
from crumple.results import compare_answer, compare_report, comparing, result_store, selection
from crumple.results.comparing import ResultComparison
from crumple.results.selection import StoredEntry

FORMATS = ("text", "html", "md", "json")


@dataclass(frozen=True)
class Shown:
    """How the comparison is shown: in which format, in which file, and in a browser."""

    format_: str = "text"
    out: Path | None = None
    open_it: bool = False

    @property
    def is_printed(self) -> bool:
        """Whether the terminal shows it, with its answer."""
        return self.format_ == "text" and self.out is None


def runs(
    before: str | None,
    after: str | None,
    metrics: list[str],
    as_json: bool,
    must_see: str | None = None,
    *,
    last: int | None = None,
    any_machine: bool = False,
    shown: Shown = Shown(),
) -> int:
    """Print what changed and return the exit code: 1 if a figure became slower beyond chance.

    3 if nothing could be judged, or if a change of `must_see` ("10%") could have been missed in a figure.
    `last`: compare with so many earlier results like it. Raises UsageError if one of them cannot be read.
    """
    shown = replace(shown, format_="json" if as_json else "html" if shown.open_it else shown.format_)
    if shown.format_ not in FORMATS:
        raise UsageError(f'no format is called "{shown.format_}"', did_you_mean(shown.format_, FORMATS))
    if shown.format_ == "html" and shown.out is None and not shown.open_it:
        raise UsageError("a page is written to a file", "name it: --out compare.html")
    named = [name for side in (before, after) if side is not None for name in side.split(",")]
    flag_files.refuse([("--out", shown.out)], [(name.strip(), Path(name.strip())) for name in named])
    change_to_see = _meant(must_see)
    for metric in metrics:
        if metric not in METRICS:
            raise NotFound(f'no metric is called "{metric}"', did_you_mean(metric, METRICS))
    try:
        sides = _sides(before, after, last)
        with selection.whole(*sides[0], *sides[1]):
            compared = comparing.compare(*sides, metrics, any_machine=any_machine)
            _show(compared, shown)
    except NotStored as error:
        raise UsageError(error.message, error.remedy) from None
    if (why := compare_answer.why_undecided(compared)) and not shown.is_printed:
        output.say(why)
    return 3 if why else _code(compared, must_see, change_to_see)


def _code(compared: ResultComparison, must_see: str | None, change_to_see: float) -> int:
    if compared.comparison.slower:
        return 1
    differences = compared.comparison.differences
    blind = [each for each in differences if each.visible and each.visible > change_to_see]
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


def _sides(
    before: str | None, after: str | None, last: int | None
) -> tuple[list[StoredEntry], list[StoredEntry]]:
    """Return the results to compare. With one name or none, it is compared with earlier ones like it."""
    here = Project.here().runs
    if before is not None and after is not None:
        if last is not None:
            raise UsageError("--last finds the earlier results itself", "name only the later one")
        return selection.several(before, here), selection.several(after, here)
    found = selection.one(before or result_store.LAST, here)
    earlier, elsewhere = comparing.latest_like(found, selection.entries(here), last or 1)
    if elsewhere:
        output.say(f"caution: {numerals.count(elsewhere, 'result')} of another machine left out")
    if not earlier:
        raise UsageError(
            f"no earlier result on this machine asked what {found.name} asked", "name the two to compare"
        )
    if last is not None and len(earlier) < last:
        output.say(f"caution: there are only {len(earlier)} earlier results like it, of {last} asked for")
    return earlier, [found]


def _show(compared: ResultComparison, shown: Shown) -> None:
    if shown.is_printed:
        _print(compared)
        return
    if shown.format_ == "html":
        _page(compared, shown)
        return
    if shown.format_ == "json":
        found = compare_report.document(compared).model_dump(mode="json")
        text = shown_json(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        written = output.document
    else:
        # Imported here because the parser of Markdown is needed only here.
        from crumple.drawing import report_markdown

        text, written = report_markdown.markdown(compare_report.report(compared)), output.plain
    if shown.out is not None:
        output.save(shown.out, text)
    else:
        written(text)


def _page(compared: ResultComparison, shown: Shown) -> None:
    path = shown.out or Path("compare.html")
    document = compare_report.document(compared).model_dump(mode="json")
    output.save_page(path, compare_report.report(compared), document)
    if shown.open_it:
        output.open_page(path)
    else:
        output.say(f"page: {path}")


def _print(compared: ResultComparison) -> None:
    for caution in compared.comparison.cautions:
        output.say(f"caution: {caution}")
    output.drawn(report_text.text(compare_report.report(compared)))
