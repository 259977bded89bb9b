"""A level while it runs: the engine's lines of progress → what is seen of each share, and when it is decided.

Nothing is started or ended here: `Watch` calls `decided` once when a level may end.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import median

from crumple.contract import MeasuredSoFar, Outcomes, ProgressLine, TrialRecord
from crumple.find import seen
from crumple.find.next_level import NextLevel
from crumple.find.seen import EVERY_S, LEAST_S, SLOW_TOGETHER_LIMITS, PartEvidence, Tick
from crumple.load.objective import Objective, Term
from crumple.stats import shares
from crumple.stats.decision import Answer

# The time within which failures count as one occasion, in seconds: what stalls one request stalls those
# behind it.
FAILED_TOGETHER_S = 0.5
# The fewest lines that show whether the backlog grows.
BACKLOG_LINES_MIN = 6


@dataclass(frozen=True)
class _Sum:
    """Numbers of requests since measuring began.

    `known`: those of which it is known whether they are against the limit; `against`: those that are; `slow`:
    those that are for their time; `refused`: those that failed for another reason than their time.
    """

    at_s: float
    scheduled: int
    refused: int
    ended: int
    known: int
    against: int
    slow: int


class ShareWatch:
    """What is seen of one share of the objective while a level runs.

    A fast answer is known at once, and a slow one only when it has taken longer than the limit. So for a
    response time all requests count that were due longer ago than the limit, answered or not: otherwise a
    level could hold before any slow answer can be known.
    """

    def __init__(self, term: Term, slower_at: int | None) -> None:
        """`slower_at`: index of its limit among those that the engine counts by; None: failures count."""
        assert term.share_limit is not None
        self.term = term
        self.limit: float = term.share_limit
        self._slower_at = slower_at
        self.settled: Answer = "open"
        self._sums = [_Sum(0.0, 0, 0, 0, 0, 0, 0)]

    @property
    def limit_s(self) -> float | None:
        """The longest time that an answer may take; None where failures count."""
        return self.term.limit / 1e9 if self._slower_at is not None else None

    def add(self, now: MeasuredSoFar) -> None:
        """Add a line of progress."""
        slow = 0 if self._slower_at is None else now.slower[self._slower_at]
        # The engine's threads report up to a tenth of a second late, each at its own time.
        self._count(now.seconds, now.scheduled, now.outcomes, slow, late_s=EVERY_S)

    def close(self, record: TrialRecord) -> None:
        """Add the totals of the record, which are exact where the lines were late, or too few."""
        slow = 0 if self.limit_s is None else self.term.slower(record)
        self._count(record.measured_ns / 1e9, record.scheduled, record.outcomes, slow, late_s=0.0)

    def _count(self, at_s: float, scheduled: int, outcomes: Outcomes, slow: int, late_s: float) -> None:
        ended, lost = outcomes.total - outcomes.unfinished, outcomes.failed + outcomes.not_sent
        late = outcomes.timeout + outcomes.connect_timeout + outcomes.not_sent
        refused = lost - late
        if self.limit_s is None:
            self._append(_Sum(at_s, scheduled, refused, ended, ended, lost, 0))
            return
        now = _Sum(at_s, scheduled, refused, ended, 0, 0, slow)
        due, refused_then = self._so_far(at_s - self.limit_s - late_s, now)
        against = slow + late + refused_then
        self._append(replace(now, known=max(due, against), against=against))

    @property
    def holds(self) -> Answer:
        """Whether it holds. The answer that ended the level stands unless the whole level contradicts it."""
        answer = shares.stays_below(self.limit, self.counted)
        return self.settled if answer == "open" else answer

    def evidence(self, settled_s: float) -> PartEvidence:
        """What the breaking point is computed from; `settled_s`: how long the load ran before measuring."""
        return seen.evidence(
            str(self.term), self.limit, self.ticks, limit_s=self.limit_s, settled_s=settled_s
        )

    @cached_property
    def counted(self) -> shares.AnswerCount:
        """The totals; computed once for each line."""
        together_s = FAILED_TOGETHER_S if self.limit_s is None else SLOW_TOGETHER_LIMITS * self.limit_s
        return seen.counted(self.ticks, together_s)

    @property
    def ticks(self) -> list[Tick]:
        """The counts between one line and the next."""
        sums = [(one.ended, one.known, one.against, one.slow) for one in self._sums]
        # Waiting requests count as far as their result is certain, so a sum may fall; the last is right.
        rising = [
            [min(most, column[-1]) for most in accumulate(column, max)] for column in zip(*sums, strict=True)
        ]
        ended, known, against, slow = rising
        columns = zip(ended, known, map(min, known, against), slow, strict=True)
        counts = [[now - before for before, now in zip(*two, strict=True)] for two in pairwise(columns)]
        return [Tick(one.at_s, *count) for one, count in zip(self._sums[1:], counts, strict=True)]

    def _append(self, now: _Sum) -> None:
        if now.at_s <= self._sums[-1].at_s and len(self._sums) > 1:
            self._sums.pop()
        self._sums.append(now)
        self.__dict__.pop("counted", None)

    def _so_far(self, at_s: float, now: _Sum) -> tuple[int, int]:
        """How many had been scheduled, and refused, by then, interpolated between two lines."""
        if at_s <= 0:
            return 0, 0
        place = bisect_right(self._sums, at_s, key=lambda each: each.at_s)
        before = self._sums[place - 1]
        after = self._sums[place] if place < len(self._sums) else now
        if after.at_s <= before.at_s:
            return after.scheduled, after.refused
        share = (at_s - before.at_s) / (after.at_s - before.at_s)
        return (
            before.scheduled + round(share * (after.scheduled - before.scheduled)),
            before.refused + round(share * (after.refused - before.refused)),
        )


class Backlog:
    """Requests that wait, from line to line of a level.

    Requests left from the warm-up wait too: without them the backlog would seem to grow for as long as an
    answer takes, at any load. Their number at the beginning is not known, and does not matter here.
    """

    def __init__(self) -> None:
        self._waiting: list[int] = []

    def add(self, progress: ProgressLine, now: MeasuredSoFar) -> None:
        """Add a line of progress, and its measured phase."""
        self._waiting.append(now.scheduled - now.outcomes.not_sent - progress.ok - progress.failed)

    def grew(self) -> int:
        """By how many it grew over the level: from the medians of its halves, so that no one line decides."""
        if len(self._waiting) < BACKLOG_LINES_MIN:
            return 0
        middle = len(self._waiting) // 2
        first, second = (median(half) for half in (self._waiting[:middle], self._waiting[middle:]))
        return round(2 * (second - first))


class Watch:
    """All shares of an objective. Called with each line of progress; `decided` is called once."""

    def __init__(
        self, objective: Objective, step: NextLevel, longest_answers: float, decided: Callable[[], None]
    ) -> None:
        """`longest_answers`: the most answers of the level; a share that needs more is not waited for."""
        times_ns = slower_than_ns(objective)
        self.courses = [
            ShareWatch(term, times_ns.index(round(term.limit)) if term.is_time else None)
            for term in objective.terms
            if term.share_limit is not None
        ]
        self.backlog = Backlog()
        # Other terms are known only when the level is over.
        self._all_are_shares = len(self.courses) == len(objective.terms)
        self._least_s = step.least_s
        self._longest_answers = longest_answers
        self._decided = decided
        self._said = False

    def __call__(self, progress: ProgressLine) -> None:
        """Take a line of the engine's progress."""
        if progress.phase == "measured":
            # In the warm-up answers are counted and no request is: the backlog would seem to fall.
            self.backlog.add(progress, progress.measured)
        for course in self.courses:
            course.add(progress.measured)
        if not self._said and self._may_end(progress.measured.seconds):
            self._said = True
            for course in self.courses:
                course.settled = course.holds
            self._decided()

    def close(self, record: TrialRecord) -> None:
        """Add the record when the level is over."""
        for course in self.courses:
            course.close(record)

    @property
    def hopeless(self) -> list[ShareWatch]:
        """Shares that no answer is against, and that need more answers than the level can have."""
        return [
            course
            for course in self.courses
            if not course.counted.against
            and course.holds != "yes"
            and shares.answers_needed(course.limit) > self._longest_answers
        ]

    def _may_end(self, at_s: float) -> bool:
        answers = [course.holds for course in self.courses]
        if "no" in answers:
            return at_s >= LEAST_S
        open_ends = answers.count("open") - len(self.hopeless)
        return at_s >= self._least_s and self._all_are_shares and "yes" in answers and not open_ends


def slower_than_ns(objective: Objective) -> tuple[int, ...]:
    """The times, in ns, beyond which the engine is to count answers."""
    times_ns = {
        round(term.limit) for term in objective.terms if term.is_time and term.share_limit is not None
    }
    return tuple(sorted(times_ns))
