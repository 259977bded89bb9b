"""The page of a series: whether anything has changed, each figure result after result, and the results."""

from collections.abc import Sequence

from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    Answer,
    Charts,
    Column,
    Fold,
    Items,
    Paragraph,
    Part,
    Report,
    Section,
    Span,
    Table,
    Words,
    join,
    sure,
)
from crumple.site import series_charts, site_words
from crumple.site.pairs import LATEST, Pair
from crumple.site.series import Course, Series
from crumple.site.site_entry import SiteEntry
from crumple.stats import shifts
from crumple.words import circumstances

# The most figures that have a column each in the table of results.
COLUMNS_MAX = 5
# The most shifts that the answer names: it has three sentences at most.
SAID_MAX = 3
# Page → its address, seen from the folder of a series.
UP = "../"
FALSE_ALARMS = (
    f"If nothing changed, at most {shifts.ERROR:.0%} of sites show a shift at one look, all questions and "
    "figures together, as long as one result does not depend on the one before; repeated looks find more."
).replace("%", " %")

DEPENDS = "Results are like those before them, so a shift may be chance."


def report(series: Series, pairs: Sequence[Pair]) -> Report:
    """Return the report of a series. `pairs`: the comparisons that the site has."""
    entries = series.entries
    return Report(
        verb="series",
        title=series.asked,
        head=[],
        answer=Answer(
            asked="Has anything changed from one result to the next?",
            subjects=[series.asked],
            found=found(series),
            sure=_sure(series),
            picture=Charts(series_charts.charts(series)[:1]) if series.courses else None,
        ),
        circumstances=[
            numerals.count(len(entries), "result"),
            site_words.span(entries[0], entries[-1]),
            *circumstances.where(entries[-1].machine),
        ],
        sections=[
            Section(_others(series), "Other figures", "figures"),
            Section([_table(series, pairs), *_below(series)], "Results", "results"),
            Section(_any_two(series, pairs), f"Any two of the latest {LATEST}", "any-two"),
        ],
        around=[Span("All results", link=f"{UP}index.html")],
    )


def found(series: Series) -> list[str]:
    """Return what was found, a sentence for each shift, the latest first."""
    each = [
        (shift.place, site_words.shift(series, course, shift))
        for course in series.courses
        for shift in course.shifts
    ]
    if each:
        return [f"{said}." for _, said in sorted(each, reverse=True)[:SAID_MAX]]
    if not series.courses:
        return ["No result has a figure that can be followed."]
    return [_latest(series, course) for course in series.courses[:SAID_MAX]]


def _latest(series: Series, course: Course) -> str:
    """Return what a figure is now, on the machine of the latest result in which it counts."""
    name = f"{course.title}, {course.of}," if course.of else course.title
    counted = [place for place, figure in course.figures.items() if figure.counts]
    if not counted:
        return f"{name} never counts."
    held = next((each for each in course.stretches if counted[-1] in each.places), None)
    said = (
        f"{site_words.with_ends(held.level, course.unit)} on average"
        if held
        else f"{site_words.figure(course.figures[counted[-1]])} in one result"
    )
    of = f", on the machine of {series.entries[counted[-1]].row.name}" if len(series.machines) > 1 else ""
    return f"{name} is {said}{of}."


def _sure(series: Series) -> Words:
    if series.depends:
        return sure("open", "open", f"{DEPENDS} {FALSE_ALARMS}")
    if any(course.shifts for course in series.courses):
        return sure("probable", "good", FALSE_ALARMS)
    if series.is_enough:
        return sure("no shift found", "open", FALSE_ALARMS)
    return sure("open", "open", f"{site_words.too_few(series)}.")


def _others(series: Series) -> list[Part]:
    """Return the charts of the other figures; those without a shift are folded where they are many."""
    number, shifted = len(series.courses), sum(bool(course.shifts) for course in series.courses)
    every = series_charts.charts(series)
    if number <= COLUMNS_MAX:
        return [Charts(every[1:])] if number > 1 else []
    first = max(1, shifted)
    title = f"{numerals.count(number - first, 'figure')} without a shift"
    return [Charts(every[1:first]), Fold(title, [Charts(every[first:])])]


def _table(series: Series, pairs: Sequence[Pair]) -> Table:
    places = range(len(series.entries) - 1, -1, -1)
    entries = [series.entries[place] for place in places]
    shown = series.courses if len(series.courses) <= COLUMNS_MAX else ()
    figures = [
        Column(site_words.heading(course), [_cell(course, place) for place in places], right=True)
        for course in shown
    ]
    headline = Column("Result", [entry.row.headline for entry in entries])
    return Table(
        [
            Column("Name", [_name(entry) for entry in entries]),
            *(figures or [headline]),
            Column("Compared with", [_compared(pairs, place) for place in places]),
        ],
        row_names=[f"result-{entry.row.name}" for entry in entries],
    )


def _name(entry: SiteEntry) -> Words:
    began = Span(f"{site_words.when(entry)} UTC", form="below")
    return join(Span(entry.row.name, link=f"{UP}{entry.file}"), began)


def _cell(course: Course, place: int) -> Words:
    figure = course.figures.get(place)
    if figure is None:
        return numerals.ABSENT
    value = site_words.value(figure.value, figure.unit)
    return value if figure.counts else join(Span(value, "dim"), Span("does not count", form="below"))


def _compared(pairs: Sequence[Pair], place: int) -> Words:
    """Return links to the comparisons of a result with those before it."""
    spans = [Span(label, link=link) for label, link in comparisons(pairs, place).items()]
    return join(*_listed(spans)) if spans else numerals.ABSENT


def comparisons(pairs: Sequence[Pair], place: int) -> dict[str, str]:
    """Return what a result is compared with → the address; not what is only compared among the latest."""
    return {
        pair.label: f"{UP}{pair.file}"
        for pair in pairs
        if pair.after == place and (len(pair.before) > 1 or pair.before in ((0,), (place - 1,)))
    }


def _any_two(series: Series, pairs: Sequence[Pair]) -> list[Part]:
    """Return a table of links to the comparisons of the latest results with each other."""
    places = range(len(series.entries) - 1, max(0, len(series.entries) - LATEST), -1)
    of = {(pair.before[0], pair.after): pair.file for pair in pairs if len(pair.before) == 1}
    if len(series.entries) < 3 or not of:
        return []
    names = [entry.row.name for entry in series.entries]
    rows = [
        [
            Span(names[before], link=f"{UP}{of[before, after]}")
            for before in range(after - 1, -1, -1)
            if (before, after) in of
        ]
        for after in places
    ]
    return [
        Table(
            [
                Column("Result", [names[place] for place in places]),
                Column("Compared with", [join(*_listed(row)) for row in rows]),
            ]
        )
    ]


def _listed(spans: Sequence[Span]) -> list[Span]:
    """Return spans with commas between them."""
    return [each for span in spans for each in (Span(", "), span)][1:]


def _below(series: Series) -> list[Part]:
    parts: list[Part] = []
    if len(series.entries) > 2:
        names = [series.entries[place].row.name for place in (1, -1)]
        parts.append(Paragraph(f"Any other two: crumple compare {' '.join(names)}", "note"))
    changes = [
        f"{site_words.when(series.entries[place])}, {series.entries[place].row.name}: {clause}"
        for place, clause in series.machine_changes.items()
    ]
    if changes:
        parts.append(
            Fold(f"{numerals.count(len(changes), 'time')} on another machine than before", [Items(changes)])
        )
    return parts
