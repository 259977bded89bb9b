"""Which results of a series a site compares in advance, since nothing can do so later. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from crumple.site import site_names
from crumple.site.series import Series

# The latest results of a series of which any two are compared: 15 pages. Of all results there would be
# thousands.
LATEST = 6
# The most earlier results that a load is compared with at once: enough to show by how much loads differ.
EARLIER = 5
# What `compare` compares.
COMPARED = ("load", "find", "versus", "run")


@dataclass(frozen=True)
class Pair:
    """A result and what it is compared with, by their places in the series."""

    before: tuple[int, ...]
    after: int
    file: str
    """The page, relative to the site's folder."""

    @property
    def label(self) -> str:
        """What it is compared with, seen from the later result."""
        if len(self.before) > 1:
            return f"the {len(self.before)} before"
        (place,) = self.before
        return "the one before" if place == self.after - 1 else "the first"


def pairs(series: Series) -> list[Pair]:
    """Return each comparison once."""
    if series.entries[0].row.verb not in COMPARED:
        return []
    return list({pair.file: pair for pair in _pairs(series)}.values())


def _pairs(series: Series) -> Iterator[Pair]:
    number = len(series.entries)
    for after in range(1, number):
        yield _pair(series, after - 1, after)
        earlier = _earlier(series, after)
        if len(earlier) > 1:
            file = site_names.page_of_several(len(earlier), series.entries[after].row.name)
            yield Pair(earlier, after, file)
        yield _pair(series, 0, after)
    for after in range(max(0, number - LATEST), number):
        for before in range(max(0, number - LATEST), after):
            yield _pair(series, before, after)


def _pair(series: Series, before: int, after: int) -> Pair:
    names = (series.entries[place].row.name for place in (before, after))
    return Pair((before,), after, site_names.page_of_two(*names))


def _earlier(series: Series, after: int) -> tuple[int, ...]:
    """Return the latest loads before one, on its machine: a single one does not show how much they differ."""
    entry = series.entries[after]
    if entry.row.verb != "load":
        return ()
    return tuple(place for place in range(after) if series.entries[place].machine == entry.machine)[-EARLIER:]
