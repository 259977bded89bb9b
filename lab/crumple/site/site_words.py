"""Figures, shifts and instants in words, as the pages of a site have them. Pure."""

from datetime import UTC, datetime

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.record.metrics import METRICS
from crumple.site.series import Course, FigureShift, Series
from crumple.site.site_entry import SiteEntry, SiteFigure
from crumple.stats.interval import Interval
from crumple.words import circumstances

# Titles of metrics that head a column of a table.
_SHORT = {
    METRICS["response_p50"].title: "p50",
    METRICS["response_p90"].title: "p90",
    METRICS["response_p99"].title: "p99",
    METRICS["cpu_per_request"].title: "CPU a request",
}


def at(entry: SiteEntry) -> datetime:
    """Return when a result began, UTC."""
    return datetime.fromisoformat(entry.row.began).astimezone(UTC)


def when(entry: SiteEntry) -> str:
    """Return when a result began: "2026-11-28 14:05"; empty if that is not known."""
    return f"{at(entry):%Y-%m-%d %H:%M}" if entry.question else ""


def day(entry: SiteEntry) -> str:
    """Return the day on which a result began: "28 November 2026"."""
    return f"{at(entry).day} {at(entry):%B %Y}"


def span(first: SiteEntry, last: SiteEntry) -> str:
    """Return from when to when results are: "on 3 May 2026", "from 3 to 9 May 2026" with both dates whole."""
    return f"on {day(last)}" if day(first) == day(last) else f"from {day(first)} to {day(last)}"


def heading(course: Course) -> str:
    """Return a figure's name for the head of a column."""
    return _SHORT.get(course.title, course.title)


def value(amount: float, unit: str) -> str:
    """Return an amount in the unit that suits it."""
    worded = numerals.IN_WORDS.get(unit)
    return worded(amount) if worded else f"{numerals.significant(amount)}{NARROW}{unit}".strip()


def figure(found: SiteFigure) -> str:
    """Return a figure with its interval, if it has one."""
    return with_ends(found.interval, found.unit) if found.interval else value(found.value, found.unit)


def with_ends(found: Interval, unit: str) -> str:
    """Return an amount with its interval: "44.1 ms (43.8 ms – 44.5 ms)"."""
    if not numerals.worth_showing(found):
        return value(found.estimate, unit)
    return f"{value(found.estimate, unit)} ({value(found.low, unit)} – {value(found.high, unit)})"


def shift(series: Series, course: Course, found: FigureShift) -> str:
    """Return a shift as a sentence: what changed when, by how much, and between which values."""
    was, now = (value(level.estimate, course.unit) for level in (found.before, found.after))
    name = f"{course.title}, {course.of}," if course.of else course.title
    began = circumstances.when(at(series.entries[found.place]).timestamp())
    factor = numerals.significant(found.factor)
    return f"{name} {rose_or_fell(found)} by a factor of about {factor} on {began}: from {was} to {now}"


def rose_or_fell(found: FigureShift) -> str:
    """Return in which direction a figure shifted."""
    return "rose" if found.ratio > 1 else "fell"


def short(found: FigureShift) -> str:
    """Return a shift in three words."""
    return f"{rose_or_fell(found)} {numerals.significant(found.factor)} times"


def too_few(series: Series) -> str:
    """Return why no shift can be told from chance."""
    if series.results_needed is None:
        return "too many figures are followed to tell a shift of one from chance"
    return (
        f"to tell a shift from chance takes {series.results_needed} results of one machine that count, and "
        f"there are {series.results_most}"
    )
