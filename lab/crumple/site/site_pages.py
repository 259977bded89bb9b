"""All pages of a site: what each is drawn of, by which a page that would be the same is not drawn again.

What draws is imported where it draws: it takes a third of a second, and most pages have not changed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from crumple.drawing.report_parts import Paragraph, Part, Report, Span, Title
from crumple.errors import CrumpleError
from crumple.results.selection import StoredEntry
from crumple.site import index_report, pairs, series_report
from crumple.site.pairs import Pair
from crumple.site.series import Series
from crumple.site.series_report import UP
from crumple.site.site_entry import SiteEntry

INDEX = "index.html"
ALL = Span("All results", link=f"{UP}{INDEX}")


# What a page says, and the document that it holds; None: it is of several results.
Drawn = tuple[Report, Mapping[str, Any] | None]


@dataclass(frozen=True)
class SitePage:
    """A page that a site has."""

    file: str
    """Its address, relative to the site's folder."""
    digest: str
    """Of all that it is drawn of."""
    draw: Callable[[], Drawn]
    is_of_results: bool = True
    """Whether it shows what is in results, which may be anything that somebody put into the store."""

    def html(self) -> str:
        """Return the page. Of a result that cannot be drawn it says why: one must not stop the others."""
        from crumple.drawing import report_page

        if not self.is_of_results:
            return report_page.html(*self.draw())
        try:
            return report_page.html(*self.draw())
        except Exception as error:
            why = error.message if isinstance(error, CrumpleError) else f"{type(error).__name__}: {error}"
            said: list[Part] = [Title([self.file]), Paragraph(f"this page cannot be drawn: {why}", "problem")]
            return report_page.html(Report("report", self.file, said, [], around=[ALL]))


Site = Sequence[tuple[SiteEntry, StoredEntry]]


def pages(site: Site, every: Sequence[Series], made_by: str) -> Iterator[SitePage]:
    """Yield each page of a site. `every`: the series of its entries."""
    stored = {entry.file: found for entry, found in site if entry.file}
    for series in every:
        made = pairs.pairs(series)
        yield SitePage(
            series.file, _digest(series.entries), partial(_series, series, made), is_of_results=False
        )
        for pair in made:
            yield _of_pair(series, pair, stored)
        for place, entry in enumerate(series.entries):
            links = _links(series, made, place)
            addresses = [f"{each.text} {each.link}" for each in links]
            yield SitePage(
                entry.file, _digest([entry], addresses), partial(_result, stored[entry.file], links)
            )
    entries = [entry for entry, _ in site]
    yield SitePage(INDEX, _digest(entries), partial(_index, entries, every, made_by), is_of_results=False)


def _index(entries: Sequence[SiteEntry], every: Sequence[Series], made_by: str) -> Drawn:
    return index_report.report(entries, every, made_by), None


def _series(series: Series, made: Sequence[Pair]) -> Drawn:
    return series_report.report(series, made), None


def _digest(of: Sequence[SiteEntry], besides: Sequence[str] = ()) -> str:
    whole = json.dumps([*(entry.model_dump(mode="json") for entry in of), *besides])
    return hashlib.sha256(whole.encode()).hexdigest()


def _of_pair(series: Series, pair: Pair, stored: Mapping[str, StoredEntry]) -> SitePage:
    before, after = [series.entries[place] for place in pair.before], series.entries[pair.after]
    around = [
        ALL,
        Span("All that asked the same", link=f"{UP}{series.file}"),
        Span(before[-1].row.name, link=f"{UP}{before[-1].file}"),
        Span(after.row.name, link=f"{UP}{after.file}"),
    ]
    draw = partial(_comparison, [stored[each.file] for each in before], stored[after.file], around)
    return SitePage(pair.file, _digest([*before, after], [series.file]), draw)


def _comparison(before: Sequence[StoredEntry], after: StoredEntry, around: Sequence[Span]) -> Drawn:
    from crumple.results import compare_report, comparing

    found = comparing.compare([each.afresh() for each in before], [after.afresh()], ())
    document = compare_report.document(found).model_dump(mode="json")
    return replace(compare_report.report(found), around=around), document


def _result(stored: StoredEntry, links: Sequence[Span]) -> Drawn:
    if stored.is_run:
        report, document = _run(stored)
        return replace(report, around=links), document
    from crumple.results import restored

    document = stored.afresh().document
    drawn, found = restored.of(document, restored.KINDS, stored.name)
    return replace(drawn.report(found), around=links), document


def _run(stored: StoredEntry) -> tuple[Report, dict[str, Any]]:
    from crumple.run import run_file
    from crumple.run.report import report_document, run_report
    from crumple.run.report.view import view
    from crumple.run.store import RunStore

    store = RunStore(stored.path)
    seen = view(run_file.read(store), store.trials())
    return run_report.report(seen), report_document.document(seen).model_dump(mode="json")


def _links(series: Series, made: Sequence[Pair], place: int) -> list[Span]:
    """Return the links of a result's page to those beside it."""
    entries = series.entries
    links = [ALL, Span("All that asked the same", link=f"{UP}{series.file}")]
    if place:
        links.append(Span("The one before", link=f"{UP}{entries[place - 1].file}"))
    if place + 1 < len(entries):
        links.append(Span("The one after", link=f"{UP}{entries[place + 1].file}"))
    compared = series_report.comparisons(made, place)
    return links + [Span(f"Compared with {label}", link=link) for label, link in compared.items()]
