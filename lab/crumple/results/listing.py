"""Results and runs as `crumple list` shows them: a row each, filtered."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from crumple.contract_base import Lenient
from crumple.errors import CrumpleError
from crumple.results.selection import RUN, StoredEntry

INTERRUPTED = "ended early"


class ResultRow(Lenient):
    """A stored result or run."""

    number: int
    """By which `crumple show` finds it."""
    name: str
    verb: str
    began: str = ""
    asked: str = ""
    headline: str = ""
    tags: tuple[str, ...] = ()
    ended_early: bool = False
    machine: str = ""
    damaged: str = ""
    """Why it cannot be read; empty: it can."""


class ListDocument(Lenient):
    """The results and runs that are stored, the latest first."""

    version: Literal[1]
    folder: str
    """Where results are stored."""
    results: tuple[ResultRow, ...]


@dataclass(frozen=True)
class Wanted:
    """Which rows to show; empty or None: any. `url`: a part of what was asked."""

    tags: tuple[str, ...] = ()
    verb: str | None = None
    url: str | None = None

    def has(self, row: ResultRow) -> bool:
        """Whether the row is wanted."""
        by_tag = not self.tags or any(tag in row.tags for tag in self.tags)
        return by_tag and self.verb in (None, row.verb) and (self.url or "") in row.asked


def rows(entries: Iterable[StoredEntry], wanted: Wanted) -> Iterator[ResultRow]:
    """Yield the rows that are wanted, in the order of the entries. A damaged one is a row, too."""
    for number, entry in enumerate(entries, 1):
        try:
            row = _of_run(number, entry) if entry.is_run else _of_result(number, entry)
        except (CrumpleError, KeyError, TypeError, ValueError, AttributeError) as error:
            lacks = f"{entry.path} lacks a part of a result"
            why = error.message if isinstance(error, CrumpleError) else lacks
            row = ResultRow(number=number, name=entry.name, verb=RUN if entry.is_run else "", damaged=why)
        if wanted.has(row):
            yield row


def _of_result(number: int, entry: StoredEntry) -> ResultRow:
    document = entry.document
    return ResultRow(
        number=number,
        name=entry.name,
        verb=entry.verb,
        began=str(document["began"]),
        asked=str(document["asked"]),
        headline=str(document["headline"]),
        tags=entry.tags,
        ended_early=bool(document["ended_early"]),
        machine=str(document["machine"]["cpu_model"]),
    )


def _of_run(number: int, entry: StoredEntry) -> ResultRow:
    document = entry.document
    stored = {path.stem.replace("__", "/") for path in (entry.path / "trials").glob("*.json")}
    planned = {trial["id"] for block in document["plan"]["blocks"] for trial in block["trials"]}
    # A trial that the plan does not have is counted apart: 25 of 23 trials would be no count.
    others = len(stored - planned)
    more = f", {others:,} of no plan" if others else ""
    return ResultRow(
        number=number,
        name=entry.name,
        verb=RUN,
        began=str(document["began"]),
        asked=f"study {document['study']['name']}, scale {document['scale']}",
        headline=f"{len(stored & planned)} of {len(planned)} trials stored{more}",
        tags=(),
        ended_early=document["ended"] is None and not planned <= stored,
        machine=str(document["machine"].get("cpu_model")),
    )
