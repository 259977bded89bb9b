"""crumple list: the results and runs that are stored. crumple show: one of them again."""

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from crumple import project
from crumple.commands import ci_platform, output
from crumple.documents import result
from crumple.drawing import fitting, numerals, terminal
from crumple.errors import UsageError
from crumple.load import flag_files
from crumple.parsing import did_you_mean
from crumple.results import listing, restored, result_store, selection, shown_again
from crumple.results.listing import ListDocument, ResultRow, Wanted
from crumple.results.selection import RUN, StoredEntry

VERBS = (*restored.KINDS, RUN)
# The longest headline in a table, in characters: a longer one is cut, and `show` has all of it.
HEADLINE_MAX = 72
# The fewest columns of a table that shows what was asked. On fewer each result has lines of its own.
TABLE_FROM = 100
# About how many lines a headline has at most if each result has lines of its own.
LINES_MAX = 3
IF_REMEDY = "name a result of crumple diagnose"
NOTHING = "nothing is stored yet; measure with: crumple load URL"


def show_list(wanted: Wanted, limit: int, as_json: bool, keep: int | None = None) -> int:
    """Print the latest results and runs. `keep`: first remove older results without name and tag."""
    if wanted.verb is not None and wanted.verb not in VERBS:
        raise UsageError(f"--verb {wanted.verb}: there is no such verb", did_you_mean(wanted.verb, VERBS))
    if keep is not None:
        removed = result_store.prune(keep)
        output.say(f"removed {numerals.count(len(removed), 'result')}")
    found = selection.entries(project.runs(project.root()))
    # One more than are shown, to know whether there are more.
    rows = list(itertools.islice(listing.rows(found, wanted), limit + 1))
    if as_json:
        folder = str(result_store.folder())
        output.models(ListDocument(version=1, folder=folder, results=tuple(rows[:limit])))
        return 0
    _print(rows[:limit])
    if len(rows) > limit:
        output.say(f"the latest {limit} are shown; --limit shows more")
    if not found:
        output.say(NOTHING)
    elif not rows:
        output.say("nothing that is stored is like that")
    return 0


def _print(rows: list[ResultRow]) -> None:
    if not rows:
        return
    if output.facts.width < TABLE_FROM:
        _print_one_by_one(rows)
        return
    cells = [
        (
            str(row.number), row.name, _when(row), row.verb, row.asked,
            _headline(row, HEADLINE_MAX), ", ".join(row.tags),
        )
        for row in rows
    ]  # fmt: skip
    headings = ("#", "name", "when", "verb", "asked", "result", "tags")
    output.as_table(headings, cells, ("tags", "when", "asked", "verb"), ("name", "when"))


def _print_one_by_one(rows: list[ResultRow]) -> None:
    """Print each result on lines of its own: what it is called, what was asked, and what it came to."""
    columns = output.facts.width
    shown = Table.grid(padding=(0, fitting.GAP, 0, 0))
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for row in rows:
        about = filter(None, (row.verb, _when(row), ", ".join(row.tags)))
        shown.add_row(
            str(row.number), terminal.harmless(Text("  ").join([Text(row.name, "bold"), *map(Text, about)]))
        )
        for each in filter(None, (Text(row.asked, "dim"), _headline(row, LINES_MAX * columns))):
            shown.add_row("", terminal.harmless(each))
    output.drawn(terminal.printed(shown, columns))


def _when(row: ResultRow) -> str:
    return f"{datetime.fromisoformat(row.began):%Y-%m-%d %H:%M}" if row.began else ""


def _headline(row: ResultRow, most: int) -> Text:
    if row.damaged:
        return Text(row.damaged, style="yellow")
    said = Text(textwrap.shorten(row.headline, most, placeholder=" …"))
    return said.append(f" ({listing.INTERRUPTED})", style="yellow") if row.ended_early else said


def show(
    what: str,
    *,
    html: bool,
    open_it: bool,
    out: Path | None,
    as_json: bool,
    changed: Sequence[str] = (),
) -> int:
    """Print a result again as its command printed it, or write its page. `changed`: as --if has it."""
    entry = selection.one(what, project.runs(project.root()))
    if changed and entry.is_run:
        raise UsageError("--if is about a diagnosis, and this is a run", IF_REMEDY)
    if entry.is_run:
        # Imported here because what draws runs is not in every installation.
        from crumple.commands import report

        kind = "html" if html or open_it else "json" if as_json else "text"
        return report.show([str(entry.path)], kind, open_it, out)
    with selection.whole(entry):
        document = _with_changes(entry, changed) if changed else entry.document
        if html or open_it:
            return _page(entry, document, out, open_it)
        if as_json:
            return _printed(result.text(document), out, as_json=True)
        return _screen(entry, document, out)


def _screen(entry: StoredEntry, document: Mapping[str, Any], out: Path | None) -> int:
    said = shown_again.text(document, entry.name)
    _printed(said, out, as_json=False)
    if out is None:
        ci_platform.show(shown_again.outcomes(document, entry.name))
    if document.get("ended_early"):
        output.say("interrupted; the result covers the time before")
    return 0


def _with_changes(entry: StoredEntry, changed: Sequence[str]) -> dict[str, Any]:
    """Return the document of a diagnosis with what --if asks for. Raises UsageError."""
    # Imported here because most results are shown without it.
    from crumple.diagnose import what_if_flags
    from crumple.diagnose.report import diagnose_report

    changes = what_if_flags.changes(changed)
    if entry.document["kind"] != "diagnose":
        raise UsageError(f"--if is about a diagnosis, and {entry.name} is none", IF_REMEDY)
    found = restored.read(entry.document, entry.name).diagnosis
    answer = diagnose_report.what_if_of(replace(found, plan=replace(found.plan, changes=changes)))
    return {**entry.document, "what_if": answer and answer.model_dump(mode="json")}


def _printed(text: str, out: Path | None, *, as_json: bool) -> int:
    if out is not None:
        output.save(out, text)
    elif as_json:
        output.document(text)
    else:
        output.drawn(text)
    return 0


def _page(entry: StoredEntry, document: Mapping[str, Any], out: Path | None, open_it: bool) -> int:
    page = shown_again.html(document, entry.name)
    path = out or entry.path.with_suffix(".html")
    flag_files.refuse([("--out", path)], [(entry.name, entry.path)])
    output.save(path, page)
    if open_it:
        output.open_page(path)
    else:
        output.say(f"page: {path}")
    return 0
