"""A chart of a page: its name and words, and how it is drawn of what the page is about.

Which charts a page has is the page's own module to know.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import altair as alt

from crumple.drawing import page, theme
from crumple.drawing.page import HALF_PX, NARROW_PX, WIDE_PX, Drawing

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Chart(Generic[Subject]):
    """`draw`: a subject and a width in pixels → the chart, None for none. `half`: two stand abreast."""

    name: str
    title: str
    caption: str
    draw: Callable[[Subject, int], alt.TopLevelMixin | None]
    half: bool = False

    def drawn(self, subject: Subject, width_px: int) -> alt.TopLevelMixin | None:
        """The chart at a width; None where there is nothing to show."""
        return theme.unchecked(lambda: self.draw(subject, width_px))

    def file_stem(self, subject: Subject) -> str:
        """What tells it from all others of the page."""
        return self.name

    def on_page(self, subject: Subject) -> Drawing | None:
        """The chart as an element of the page; a half one fits small screens as it is."""
        wide = self.drawn(subject, HALF_PX if self.half else WIDE_PX)
        if wide is None:
            return None
        narrow = None if self.half else self.drawn(subject, NARROW_PX)
        return page.drawing(self.file_stem(subject), self.title, self.caption, wide, narrow, half=self.half)


def drawings(charts: Iterable[Chart[Subject]], subject: Subject) -> list[Drawing]:
    """Those that have something to show, as elements of the page."""
    return [drawn for chart in charts if (drawn := chart.on_page(subject))]
