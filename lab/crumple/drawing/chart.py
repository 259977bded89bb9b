"""A chart of a report: its title, what explains it, and the picture that is drawn of a subject. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from crumple.drawing import svg
from crumple.drawing.plot import Picture

Subject = TypeVar("Subject")

# The width of a chart's file in px, and of one that is set beside another.
WIDE_PX, HALF_PX = 892, 440


@dataclass(frozen=True)
class BoundChart:
    """A chart of one subject."""

    title: str
    caption: str
    file_stem: str
    """The name of its file, without ending, and its address on a page: no other chart of a report has it."""
    draw: Callable[[], Picture | None]
    """Returns what it shows; None: there is nothing."""
    half: bool = False
    """Whether a wide page sets two of these side by side."""

    def file(self) -> str | None:
        """Return the chart as an SVG document; None: there is nothing to show."""
        picture = self.draw()
        return svg.file(picture, self.title, HALF_PX if self.half else WIDE_PX) if picture else None


@dataclass(frozen=True)
class Chart(Generic[Subject]):
    """A kind of chart."""

    name: str
    title: str
    caption: str
    """How to read it."""
    draw: Callable[[Subject], Picture | None] = field(repr=False)
    """Returns what it shows of a subject; None: there is nothing."""
    half: bool = False
    """Whether a wide page sets two of these side by side."""

    def of(self, subject: Subject, of: str = "") -> BoundChart:
        """Return the chart of one subject. `of`: its name in a report that has the chart of several."""
        stem = f"{of}-{self.name}" if of else self.name
        return BoundChart(self.title, self.caption, stem, lambda: self.draw(subject), self.half)
