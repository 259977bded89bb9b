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
from crumple.verdict import machines

# In which share of series with independent results they are said to depend on each other: larger than usual,
# because missing it calls a shift probable that is not.
DEPENDENCE_ERROR = 0.1


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
    ratio: float
    """After ÷ before. Without an interval, since the place was chosen because the values differ there."""
    is_better: bool
    before: Interval
    """The level before it, and after it."""
    after: Interval

    @property
    def factor(self) -> float:
        """The ratio from its larger side, since one below 1 is hard to read."""
        return max(self.ratio, 1 / self.ratio)


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
    questions: int = 1
    """How many series of the site are tested: they share the error."""

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
            place: machines.machine_differences(one.machine, other.machine) for place, (one, other) in pairs
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
        """How probable it is that a figure of a machine is said to shift though nothing changed.

        All figures, machines and questions share the error of the site.
        """
        return shifts.ERROR / max(1, len(self._tested)) / self.questions

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
    def depends(self) -> bool:
        """Whether a figure that shifts depends on the result before: then shifts by chance are many."""
        shifted = [course for course in self.courses if course.shifts]
        return any(_dependence(course) <= DEPENDENCE_ERROR / len(shifted) for course in shifted)

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
                ratio = after.level.estimate / before.level.estimate
                is_better = (ratio > 1) == (first.better == "higher")
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


def _dependence(course: Course) -> float:
    return shifts.dependence(
        [[math.log(course.figures[place].value) for place in each.places] for each in course.stretches]
    )


def series_of(entries: Sequence[SiteEntry]) -> list[Series]:
    """Return the series of all entries that can be read, the one with the latest result first."""
    groups: dict[str, list[SiteEntry]] = {}
    for entry in sorted(entries, key=lambda each: (each.row.began, each.row.name)):
        if entry.question:
            groups.setdefault(entry.question, []).append(entry)
    latest_last = sorted(groups.values(), key=lambda group: group[-1].row.began)
    found = [Series(tuple(group)) for group in reversed(latest_last)]
    # With fewer results than this no shift is looked for.
    questions = sum(series.results_most >= 2 * SEVERAL for series in found)
    return [replace(series, questions=max(1, questions)) for series in found]
