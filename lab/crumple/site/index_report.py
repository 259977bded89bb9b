"""The first page of a site: what has changed, all results with lists to choose from, and all series. Pure."""

from collections.abc import Iterable, Sequence

from crumple.drawing import numerals
from crumple.drawing.chart import BoundChart
from crumple.drawing.report_parts import (
    Answer,
    Charts,
    Choice,
    Column,
    Items,
    Part,
    Report,
    Section,
    Span,
    Table,
    Words,
    join,
    sure,
)
from crumple.results.listing import INTERRUPTED
from crumple.site import series_charts, site_words
from crumple.site.series import Course, FigureShift, Series
from crumple.site.series_report import DEPENDS, FALSE_ALARMS
from crumple.site.site_entry import SiteEntry
from crumple.words import circumstances

# The most shifts that the answer names: with the sentence before them it has three.
SAID_MAX = 2


def report(entries: Sequence[SiteEntry], every: Sequence[Series], made_by: str) -> Report:
    """Return the report of the index. `entries`: the latest first; `every`: all series."""
    readable = [entry for entry in entries if entry.question]
    unreadable = [entry for entry in entries if not entry.question]
    return Report(
        verb="report",
        title="Results",
        head=[],
        answer=Answer(
            asked="What was measured, and has anything changed?",
            found=_found(readable, every),
            sure=_sure(every),
            picture=Charts(_picture(every)) if every else None,
        ),
        circumstances=[*_machines(readable), made_by],
        sections=[
            Section(_unread(unreadable), "What cannot be read", "unread"),
            Section([_series(every)], "Series", "series"),
            Section([_results(readable)], "Results", "results"),
        ],
        has_contents=True,
    )


def _picture(every: Sequence[Series]) -> list[BoundChart]:
    """Return the chart of the figure that shifted last; without a shift, that of the longest series."""
    found = shifts(every)
    if found:
        series, course, _ = found[0]
        return [series_charts.chart(series, course, 0, series.asked)]
    longest = max(every, key=lambda series: len(series.entries))
    return [series_charts.chart(longest, course, 0, longest.asked) for course in longest.courses[:1]]


def shifts(every: Sequence[Series]) -> list[tuple[Series, Course, FigureShift]]:
    """Return all shifts, the latest first."""
    found = [
        (series, course, shift) for series in every for course in series.courses for shift in course.shifts
    ]
    return sorted(found, key=lambda each: each[0].entries[each[2].place].row.began, reverse=True)


def _found(readable: Sequence[SiteEntry], every: Sequence[Series]) -> list[Words]:
    if not readable:
        return ["Nothing is stored yet that can be read."]
    in_time = sorted(readable, key=lambda entry: entry.row.began)
    number = numerals.count(len(readable), "result")
    of = numerals.count(len(every), "question")
    said: list[Words] = [f"{number} of {of}, {site_words.span(in_time[0], in_time[-1])}."]
    found = shifts(every)
    # The latest of each series, since one change may shift several figures.
    latest = {series.question: (series, course, shift) for series, course, shift in reversed(found)}
    for series, course, shift in [*latest.values()][::-1][:SAID_MAX]:
        sentence = f"{site_words.shift(series, course, shift)}: "
        said.append(join(Span(sentence), Span(series.asked, link=series.file), Span(".")))
    if not found:
        said.append("No shift was found.")
    return said


def _sure(every: Sequence[Series]) -> Words:
    tested = [series for series in every if series.is_enough]
    if not tested:
        return sure("open", "open", "each question has too few results to tell a shift from chance.")
    word = "probable" if shifts(every) else "nothing found"
    depends = any(series.depends for series in every)
    few = len(every) - len(tested)
    rest = (
        f" {numerals.count(few, 'question')} of {len(every)} {'has' if few == 1 else 'have'} too few results."
        if few
        else ""
    )
    if depends:
        return sure("open", "open", f"{DEPENDS} {FALSE_ALARMS}{rest}")
    return sure(word, "good" if shifts(every) else "open", f"{FALSE_ALARMS}{rest}")


def _machines(readable: Sequence[SiteEntry]) -> list[str]:
    machines = {", ".join(circumstances.where(entry.machine)) for entry in readable} - {""}
    return sorted(machines) if len(machines) < 3 else [numerals.count(len(machines), "machine")]


def _unread(unreadable: Sequence[SiteEntry]) -> list[Part]:
    rows = [join(Span(entry.row.name, form="code"), f": {entry.row.damaged}") for entry in unreadable]
    return [Items(rows)] if rows else []


def _series(every: Sequence[Series]) -> Table:
    return Table(
        [
            Column("Asked", [_question(series) for series in every]),
            Column("Shifts", [_shifts(series) for series in every]),
        ],
        row_names=[f"series-{series.question}" for series in every],
    )


def _question(series: Series) -> Words:
    last = series.entries[-1]
    number = numerals.count(len(series.entries), "result")
    about = Span(f"{last.row.verb}, {number}, the latest of {site_words.when(last)} UTC", form="below")
    return join(Span(series.asked, link=series.file), about)


def _shifts(series: Series) -> Words:
    found = [(course, shift) for course in series.courses for shift in course.shifts]
    if not found:
        needed = series.results_needed
        too_few = f"too few results: {series.results_most} of {needed}" if needed else "too many figures"
        return "none" if series.is_enough else too_few if series.courses else numerals.ABSENT
    course, shift = max(found, key=lambda each: each[1].place)
    said = f"{site_words.heading(course)} {site_words.short(shift)}"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return join(Span(said, "good" if shift.is_better else "bad"), Span(more))


# Label of a list to choose from → what its classes begin with.
_LISTS = (("Verb", "v"), ("Server", "s"), ("Tag", "t"), ("Day", "d"))


def _of(entry: SiteEntry, prefix: str) -> tuple[str, ...]:
    match prefix:
        case "v":
            return (entry.row.verb,)
        case "s":
            return entry.servers
        case "t":
            return entry.row.tags
        case _:
            return (f"{site_words.at(entry):%Y-%m-%d}",)


def _options(prefix: str, readable: Iterable[SiteEntry]) -> dict[str, str]:
    """Return value → its class: a number, since a name may be anything. Days begin with the latest."""
    values = sorted({value for entry in readable for value in _of(entry, prefix)}, reverse=prefix == "d")
    return {value: f"{prefix}{number}" for number, value in enumerate(values)}


def _results(readable: Sequence[SiteEntry]) -> Table:
    options = {prefix: _options(prefix, readable) for _, prefix in _LISTS}
    return Table(
        [
            Column("Name", [_name(entry) for entry in readable]),
            Column("Asked", [_asked(entry) for entry in readable]),
            Column("Result", [_headline(entry) for entry in readable]),
            Column("Tags", [", ".join(entry.row.tags) for entry in readable]),
        ],
        row_styles=[
            " ".join(options[prefix][value] for prefix in options for value in _of(entry, prefix))
            for entry in readable
        ],
        # A list of one value would choose nothing.
        choices=[Choice(label, options[prefix]) for label, prefix in _LISTS if len(options[prefix]) > 1],
    )


def _name(entry: SiteEntry) -> Words:
    began = f"{entry.row.verb}, {site_words.when(entry)} UTC"
    return join(Span(entry.row.name, link=entry.file), Span(began, form="below"))


def _asked(entry: SiteEntry) -> Words:
    return join(Span(entry.asked, link=entry.series_file))


def _headline(entry: SiteEntry) -> Words:
    early = Span(f" ({INTERRUPTED})", "doubtful") if entry.row.ended_early else Span("")
    return join(Span(entry.row.headline), early)
