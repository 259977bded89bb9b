"""One search for its reports: what was asked, the result, and the figures of its levels, each computed once.

All that summary, page and export show is computed here; they only put it into words and places.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from crumple.cause import in_short, limiter_rule
from crumple.find import breaking_point, conduct, limited
from crumple.find.level import Level, PartResult
from crumple.find.report.find_document import FindDocument
from crumple.find.report.used_up import Sign, signs
from crumple.find.search import SearchQuestion, SearchResult
from crumple.limit.finding import Said
from crumple.observation.observed import FailuresAlone, WorkAlone
from crumple.record.stages import Budget
from crumple.stats.interval import Interval

# How far outside the interval a level may lie, as a factor, to show how the server breaks.
EDGE_FACTOR = 1.25
# How many of the lowest levels of the edge show what broke first, which is what broke in most of them: a
# single level may break by chance.
FIRST_BROKEN_OF = 5
# The largest load, as a share of the interval's low end, at which requests that miss the objective miss it
# for another reason than the load.
FAR_BELOW = 0.9
# The quantiles that the chart may show.
QUANTILES = {"p99": 0.99, "p95": 0.95, "p90": 0.9, "p50": 0.5}
# The least share of the levels with answers that must have a quantile for the chart to show it.
TOLD_BY = 0.75
# The ratio of the ends of a chart's axis of loads above which it is logarithmic.
LOGARITHMIC_FROM = 5.0
# The share of failures that is reported where the objective limits none.
FAILING_SHARE = 0.001
# Sentences that differ only in their figures are of one kind.
_FIGURES = re.compile(r"[\d.,]+ ?(?:ns|µs|ms|s|%)?")


class ChartPoint(NamedTuple):
    """A point of the chart: the time the objective is about, and the median beside it, in ns."""

    level: Level
    time_ns: float | None
    p50_ns: float | None


class Moments(NamedTuple):
    """Requests that missed a part of the objective though the load was low, and in how many bunches."""

    name: str
    known: int
    missed: int
    bunches: int


@dataclass(frozen=True)
class SearchFigures:
    """What reports show of a search, computed of its document."""

    document: FindDocument

    @cached_property
    def question(self) -> SearchQuestion:
        """What was searched."""
        return self.document.question

    @cached_property
    def found(self) -> SearchResult:
        """What the levels came to."""
        return self.document.found

    @property
    def asked(self) -> str:
        """What was asked of which server."""
        return self.document.asked

    @property
    def afresh(self) -> bool:
        """Whether each start was a new process."""
        return self.document.afresh

    @property
    def server_cores(self) -> int | None:
        """How many cores the server may use; None: it was not watched."""
        return self.document.server_cores

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine."""
        return self.document.is_local

    @property
    def by_rate(self) -> bool:
        """Whether loads are requests per second; connections otherwise."""
        return self.question.by == "rate"

    @property
    def starts(self) -> int:
        """The number of starts that have a level."""
        return len({each.start for each in self.found.levels})

    @cached_property
    def rows(self) -> tuple[Level, ...]:
        """The levels by their load."""
        return tuple(sorted(self.found.levels, key=lambda each: (each.load, each.start)))

    @cached_property
    def edge(self) -> tuple[Level, ...]:
        """The levels that broke near the breaking point; without a breaking point the lowest that broke."""
        broke = [each for each in self.rows if each.outcome == "broke"]
        point = self.found.point
        if point is None:
            return tuple(broke[:FIRST_BROKEN_OF])
        return tuple(
            each for each in broke if point.low / EDGE_FACTOR <= each.load <= point.high * EDGE_FACTOR
        )

    @cached_property
    def first_broken(self) -> PartResult | None:
        """The part that broke in most of the lowest levels of the edge, from the lowest level with it."""
        lowest = self.edge[:FIRST_BROKEN_OF]
        names = Counter(part.name for each in lowest for part in each.broken)
        if not names:
            return None
        (name, _), *_ = names.most_common(1)
        return next(part for each in lowest for part in each.broken if part.name == name)

    @cached_property
    def first_broken_level(self) -> Level | None:
        """The level that `first_broken` is from."""
        part = self.first_broken
        return next((each for each in self.edge if part in each.broken), None)

    @cached_property
    def signs(self) -> tuple[Sign, ...]:
        """What was used up at the edge.

        Empty for a remote server, where it answered nothing, and where as many fail whatever the load.
        """
        if self.fails_everywhere:
            return ()
        answering = [each for each in self.edge if each.ok]
        return signs(answering, self.server_cores) if self.is_local else ()

    @cached_property
    def divided(self) -> tuple[tuple[Level, Budget], ...]:
        """The levels of which it is known where the time went, by their load."""
        return tuple((each, each.time) for each in self.rows if isinstance(each.time, Budget))

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """What limits the server: by the level that broke nearest to the breaking point and was watched.

        If none broke, by the highest that held. A limiter shows in all levels at which it limits, watched or
        not. Empty: the server was not watched, or no level broke before it was lost.
        """
        by_limiter = limiter_rule.finding(limited.limiters(self.rows))
        said = self._said_of_level if by_limiter is None or by_limiter.sure != "tested" else ()
        return said if by_limiter is None or limiter_rule.is_explained(said) else (by_limiter,)

    @property
    def _said_of_level(self) -> tuple[Said, ...]:
        """What limits the server by the level that shows it best, whatever a limiter may have done."""
        held = [each for each in self.rows if each.outcome == "held"] if self.found.lost is None else []
        for each in (*self.edge, *reversed(held)):
            if each.ok and each.seen is not None and each.seen.stage is not None:
                return in_short.of_load(each.seen, self.alone, tried=_tried(held, each))
        return ()

    @property
    def alone(self) -> WorkAlone | None:
        """Requests that were sent one by one; None: in a search by connections none were."""
        calm = self.found.calm
        if calm is None:
            return None
        # A mean under load is compared with a mean: of times that differ much, the median is far below it.
        mean_s = calm.median_s if calm.mean_s is None else calm.mean_s
        return WorkAlone(0, mean_s, calm.median_s, None)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What may have affected the held levels nearest to the breaking point; one of each kind."""
        held = [each for each in self.rows if each.outcome == "held"][-FIRST_BROKEN_OF:]
        return _one_of_each_kind([warning for each in reversed(held) for warning in each.warnings])

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """Why levels are not valid; one of each kind."""
        limited = [each for each in self.rows if each.outcome == "limited"]
        return _one_of_each_kind([problem for each in limited for problem in each.problems[:1]])

    @cached_property
    def is_by_limiter(self) -> bool:
        """Whether the breaking point is the rate of a limiter, above which levels held by its burst."""
        point = self.found.point
        return point is not None and point == limited.at(self.found.levels, self.question.objective.terms)

    @property
    def broke_everywhere(self) -> bool:
        """Whether no level held, and some broke."""
        return any(each.outcome == "broke" for each in self.rows) and all(
            each.judged.leans_against for each in self.rows if each.outcome != "limited"
        )

    @property
    def is_decided(self) -> bool:
        """Whether any level held or broke within its time."""
        return any(each.outcome in ("held", "broke") for each in self.found.levels)

    @property
    def decided_nothing(self) -> bool:
        """Whether the search came to its answer by levels of which none held or broke within its time."""
        came = self.found.point is not None or self.found.ending in ("found", "never")
        return came and not self.is_decided

    @cached_property
    def halves(self) -> tuple[Interval, Interval] | None:
        """The breaking point by each half of the levels, if their intervals exclude each other; else None."""
        found = self.found
        if found.point is None or self.afresh:
            return None
        levels = [each.judged for each in found.levels if each.outcome != "limited"]
        arrivals = conduct.VARIATION[self.question.arrivals] if self.by_rate else None
        middle = len(levels) // 2
        points = [
            found_there.posterior.interval
            for half in (levels[:middle], levels[middle:])
            if {each.leans_against for each in half} == {True, False}
            if (found_there := breaking_point.binding(half, arrivals, found.calm)) is not None
        ]
        if len(points) < 2:
            return None
        first, second = points
        return (first, second) if first.high < second.low or second.high < first.low else None

    @cached_property
    def moments_below(self) -> Moments | None:
        """Requests that missed the part that breaks at loads far below; None if they are within the limit."""
        point, name = self.found.point, self.found.breaks_by
        if point is None or name is None:
            return None
        seen = [
            evidence
            for each in self.found.levels
            if each.outcome != "limited" and each.load < FAR_BELOW * point.low
            if (evidence := each.judged.of(name)) is not None
        ]
        known, missed = sum(each.known for each in seen), sum(each.against for each in seen)
        bunches = sum(each.bunches for each in seen)
        if bunches < 2 or missed <= seen[0].limit * known:
            return None
        return Moments(name, known, missed, bunches)

    @cached_property
    def fails_everywhere(self) -> bool:
        """Whether requests failed at every level, for other reasons than time or lack of connections.

        The server causes such failures, whatever the engine did.
        """
        tried = [each for each in self.found.levels if each.scheduled]
        return len(tried) > 1 and all(_wrong(each) > self._failed_limit * each.scheduled for each in tried)

    @property
    def _failed_limit(self) -> float:
        """The share of failures that the objective allows, but at least FAILING_SHARE."""
        limits = [term.limit for term in self.question.objective.terms if term.quantity == "failed"]
        return max([*limits, FAILING_SHARE])

    @property
    def time_limit_ns(self) -> float | None:
        """The limit of the first part that is a response time."""
        terms = [term for term in self.question.objective.terms if term.is_time]
        return terms[0].limit if terms else None

    @property
    def time_heads(self) -> tuple[str, ...]:
        """The parts of the objective that are response times, as they were written."""
        return tuple(str(term) for term in self.question.objective.terms if term.is_time)

    @cached_property
    def time_name(self) -> str:
        """The quantity that the chart shows over the load: the highest quantile that most levels have."""
        terms = [term for term in self.question.objective.terms if term.is_time]
        if terms and terms[0].quantile is None:
            return terms[0].quantity
        q = terms[0].quantile if terms and terms[0].quantile else 1.0
        told = [name for name, of in QUANTILES.items() if of <= q and self._most_tell(name)]
        return told[0] if told else "p50"

    def _most_tell(self, name: str) -> bool:
        answered = [each for each in self.found.levels if each.ok]
        told = [each for each in answered if getattr(each, f"{name}_ns") is not None]
        return bool(told) and len(told) >= TOLD_BY * len(answered)

    @cached_property
    def marks(self) -> tuple[ChartPoint, ...]:
        """A point of the chart for each level that has one."""
        return tuple(ChartPoint(each, self.time_of(each), each.p50_ns) for each in self.rows)

    def time_of(self, level: Level) -> float | None:
        """The time of a level that `time_name` names, in ns; None without enough requests for it."""
        if self.time_name in QUANTILES:
            told: float | None = getattr(level, f"{self.time_name}_ns")
            return told
        part = next((part for part in level.parts if part.quantity == self.time_name), None)
        return part.value if part and part.holds is not None else None


def _tried(held: Sequence[Level], level: Level) -> FailuresAlone | None:
    """Return how often requests failed at the lowest load that held, if that is below the level's."""
    lowest = min(held, key=lambda each: each.load, default=None)
    if lowest is None or lowest.load >= level.load:
        return None
    failed = sum(number for name, number in lowest.failures.items() if name != "not-sent")
    return FailuresAlone(lowest.ok, failed, "under a lower load")


def _wrong(level: Level) -> int:
    """Requests that failed for other reasons than taking too long or not being sent."""
    apart = ("not-sent", "timeout", "connect-timeout")
    return sum(number for name, number in level.failures.items() if name not in apart)


def _one_of_each_kind(sentences: Sequence[str]) -> tuple[str, ...]:
    kinds: dict[str, str] = {}
    for sentence in sentences:
        kinds.setdefault(_FIGURES.sub("", sentence), sentence)
    return tuple(kinds.values())
