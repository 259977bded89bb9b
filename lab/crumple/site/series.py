"""Results that asked the same, in the order of time: how each figure went, and where it shifted. Pure.

A machine that changed would explain a shift, so shifts are looked for among the results of one machine only.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from crumple.site.site_entry import Better, SiteEntry, SiteFigure
from crumple.stats import estimate, shifts
from crumple.stats.interval import SEVERAL, Interval
from crumple.verdict import comparison


@dataclass(frozen=True)
class Stretch:
    """Values of one machine between two shifts. `places`: of the results in the series, from 0."""

    places: tuple[int, ...]
    level: Interval
    """Their geometric mean, with its 95 % interval over results."""


@dataclass(frozen=True)
class FigureShift:
    """A shift of a figure."""

    place: int
    """That of the first result after it."""
    ratio: Interval
    """After ÷ before."""
    is_better: bool
    before: Interval
    """The level before it, and after it."""
    after: Interval

    @property
    def factor(self) -> Interval:
        """The ratio from its larger side, since one below 1 is hard to read."""
        if self.ratio.estimate >= 1:
            return self.ratio
        high = 1 / self.ratio.low if self.ratio.low > 0 else math.inf
        return replace(self.ratio, estimate=1 / self.ratio.estimate, low=1 / self.ratio.high, high=high)


@dataclass(frozen=True)
class Course:
    """How one figure went."""

    title: str
    of: str
    unit: str
    better: Better
    figures: Mapping[int, SiteFigure]
    """Place of a result in the series → its figure, whether it counts or not."""
    stretches: tuple[Stretch, ...]
    shifts: tuple[FigureShift, ...]

    @property
    def name(self) -> str:
        """What it is, and of what."""
        return f"{self.title}: {self.of}" if self.of else self.title


@dataclass(frozen=True)
class Series:
    """Results that asked the same, the earliest first."""

    entries: tuple[SiteEntry, ...]

    @property
    def question(self) -> str:
        """By which it is told apart."""
        return self.entries[0].question

    @property
    def asked(self) -> str:
        """What was asked, in the words of the latest."""
        return self.entries[-1].asked

    @property
    def file(self) -> str:
        """Its page, relative to the site's folder."""
        return self.entries[0].series_file

    @cached_property
    def machine_changes(self) -> Mapping[int, str]:
        """Place of the first result on another machine than the one before → what differs."""
        pairs = enumerate(itertools.pairwise(self.entries), 1)
        found = {
            place: comparison.machine_differences(one.machine, other.machine) for place, (one, other) in pairs
        }
        return {place: "; ".join(clauses.values()) for place, clauses in found.items() if clauses}

    @cached_property
    def machines(self) -> Mapping[str, tuple[int, ...]]:
        """Machine → the places of its results."""
        found: dict[str, tuple[int, ...]] = {}
        for place, entry in enumerate(self.entries):
            machine = json.dumps(entry.machine, sort_keys=True, default=str)
            found[machine] = (*found.get(machine, ()), place)
        return found

    @property
    def error(self) -> float:
        """The share of series without change in which a figure is said to shift, for each figure and machine.

        All of them share the error of the series.
        """
        return shifts.ERROR / max(1, len(self._tested))

    @property
    def results_needed(self) -> int | None:
        """How many results of one machine it takes to find a shift; None: too many figures share an error."""
        return shifts.fewest(self.error)

    @property
    def results_most(self) -> int:
        """How many results of one machine have a figure that counts, where these are most."""
        return max((len(places) for _, places in self._counted), default=0)

    @property
    def is_enough(self) -> bool:
        """Whether a shift could be found."""
        return self.results_needed is not None and self.results_most >= self.results_needed

    @cached_property
    def courses(self) -> tuple[Course, ...]:
        """How each figure went."""
        return tuple(self._course(key, figures) for key, figures in self._figures.items())

    @cached_property
    def _figures(self) -> Mapping[tuple[str, str], Mapping[int, SiteFigure]]:
        found: dict[tuple[str, str], dict[int, SiteFigure]] = {}
        for place, entry in enumerate(self.entries):
            for figure in entry.figures:
                found.setdefault(figure.key, {})[place] = figure
        return found

    @cached_property
    def _counted(self) -> Sequence[tuple[tuple[str, str], tuple[int, ...]]]:
        """Each figure and the places of a machine's results in which it counts."""
        return [
            (key, tuple(place for place in places if place in figures and figures[place].counts))
            for key, figures in self._figures.items()
            for places in self.machines.values()
        ]

    @cached_property
    def _tested(self) -> Sequence[tuple[tuple[str, str], tuple[int, ...]]]:
        """Those of them that have several values."""
        return [(key, places) for key, places in self._counted if len(places) >= SEVERAL]

    def _course(self, key: tuple[str, str], figures: Mapping[int, SiteFigure]) -> Course:
        first = next(iter(figures.values()))
        stretches: list[Stretch] = []
        found: list[FigureShift] = []
        for places in (places for tested, places in self._tested if tested == key):
            mine = self._stretches(figures, places)
            for before, after in itertools.pairwise(mine):
                ratio = estimate.of_two_samples(
                    *([figures[place].value for place in each.places] for each in (after, before))
                ).interval()
                is_better = (ratio.estimate > 1) == (first.better == "higher")
                found.append(FigureShift(after.places[0], ratio, is_better, before.level, after.level))
            stretches += mine
        return Course(
            *key, first.unit, first.better, figures, tuple(stretches),
            tuple(sorted(found, key=lambda shift: shift.place)),
        )  # fmt: skip

    def _stretches(self, figures: Mapping[int, SiteFigure], places: Sequence[int]) -> list[Stretch]:
        values = [figures[place].value for place in places]
        ends = [0, *(each.at for each in shifts.shifts(values, self.error)), len(values)]
        return [
            Stretch(tuple(places[begin:end]), estimate.geometric_mean(values[begin:end]))
            for begin, end in itertools.pairwise(ends)
        ]


def series_of(entries: Sequence[SiteEntry]) -> list[Series]:
    """Return the series of all entries that can be read, the one with the latest result first."""
    groups: dict[str, list[SiteEntry]] = {}
    for entry in sorted(entries, key=lambda each: (each.row.began, each.row.name)):
        if entry.question:
            groups.setdefault(entry.question, []).append(entry)
    latest_last = sorted(groups.values(), key=lambda group: group[-1].row.began)
    return [Series(tuple(group)) for group in reversed(latest_last)]
