"""What a site knows of each result and run: its row in the index, what it asked, and its figures.

`site.json`, beside the pages, holds these entries, so that a result is read again only if it has changed.
"""

from typing import Any, Literal

from pydantic import Field

from crumple.contract_base import Lenient
from crumple.results.listing import ResultRow
from crumple.site import site_names
from crumple.stats.interval import Interval

Better = Literal["higher", "lower"]


class SiteFigure(Lenient):
    """A figure of a result, as a series follows it."""

    title: str
    """What it is: Throughput, Breaking point."""
    of: str = ""
    """The server or version that it is of, where a result has several; empty: there is one."""
    unit: str
    better: Better
    value: float
    low: float | None = None
    """The ends of its interval; null: the result alone does not tell how far it varies."""
    high: float | None = None
    against: str = ""
    """Why it does not count; empty: it does."""

    @property
    def key(self) -> tuple[str, str]:
        """By which the figures of several results are the same one."""
        return self.title, self.of

    @property
    def counts(self) -> bool:
        """Whether it is judged."""
        return not self.against

    @property
    def interval(self) -> Interval | None:
        """The figure with its interval; None: it has none."""
        if self.low is None or self.high is None:
            return None
        # How many starts it is over is shown by the result's own page.
        return Interval(self.value, self.low, self.high, 0.95, 0)


class SiteEntry(Lenient):
    """A stored result or run."""

    row: ResultRow
    """As `crumple list` shows it; `number` is 0, since it changes with every result."""
    file: str
    """Its page, relative to the site's folder; empty: there is none."""
    digest: str
    """Of what is stored; equal: it has not changed."""
    servers: tuple[str, ...] = ()
    """What was loaded."""
    load: str = ""
    """How it was loaded, where what was asked does not say it."""
    question: str = ""
    """What was asked: equal of two results that asked the same; empty: that is not known."""
    machine: dict[str, Any] = Field(default_factory=dict)
    """The facts of the machine by which two results are of the same one."""
    figures: tuple[SiteFigure, ...] = ()

    @property
    def asked(self) -> str:
        """What was asked, and under which load."""
        return f"{self.row.asked}, {self.load}" if self.load else self.row.asked

    @property
    def series_file(self) -> str:
        """The page of all results that asked the same, relative to the site's folder."""
        return site_names.page_of(f"{self.row.verb}-{self.question}", "series")


class SiteRecord(Lenient):
    """The document `site.json`: what the site was made of, by which what changed is found."""

    version: Literal[1] = 1
    made_by: str
    """The version of crumple that made it, and a digest of the programs that draw."""
    entries: tuple[SiteEntry, ...]
    pages: dict[str, str]
    """Page → a digest of all that it was drawn from."""
