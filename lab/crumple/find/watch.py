"""A level while it runs: the engine's lines of progress → what is seen of each share, and when it is decided.

Nothing is started or ended here: `Watch` says once that a level may end.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crumple.contract import Measured, Outcomes, Progress, TrialRecord
from crumple.find import proportion, seen
from crumple.find.judged import LEAST_S
from crumple.find.proportion import Verdict
from crumple.find.search import Step
from crumple.find.seen import Evidence, Tick
from crumple.load.objective import Objective, Term

EVERY_MS = 100
# Failures within this time are one occasion; slow answers within twice their limit, for what stalls one
# stalls those behind it.
FAILED_TOGETHER_S = 0.5
SLOW_TOGETHER_LIMITS = 2.0


@dataclass(frozen=True)
class _Sum:
    """Requests since measuring began."""

    at_s: float
    scheduled: int
    ended: int
    known: int
    against: int
    slow: int


class Course:
    """What is seen of one share of the objective while a level runs."""

    def __init__(self, term: Term, slower_at: int | None) -> None:
        """`slower_at`: place of its limit among those the engine counts by; None: failures count."""
        assert term.share_limit is not None
        self.term = term
        self.limit: float = term.share_limit
        self._slower_at = slower_at
        self._sums = [_Sum(0.0, 0, 0, 0, 0, 0)]

    @property
    def limit_s(self) -> float | None:
        """The time that answers are to take at most; None where failures are what counts."""
        return self.term.limit / 1e9 if self._slower_at is not None else None

    def add(self, now: Measured) -> None:
        """A line of progress."""
        ended, lost = _ended(now.outcomes), _lost(now.outcomes)
        if self._slower_at is None or self.limit_s is None:
            self._append(_Sum(now.seconds, now.scheduled, ended, ended, lost, 0))
            return
        # Of those that were due before so many at least have not ended: they are slow whenever they end. (The
        # engine's threads report a tenth of a second late, each at its own time.)
        due = self._scheduled_at(now.seconds - self.limit_s - EVERY_MS / 1e3)
        waiting = max(0, due - ended)
        slow = now.slower[self._slower_at] + waiting
        self._append(_Sum(now.seconds, now.scheduled, ended, ended + waiting, slow + lost, slow))

    def close(self, record: TrialRecord) -> None:
        """What the record has in sum; it is exact where the lines were late, or too few."""
        known, against = self.term.shares(record)
        ended, at_s = _ended(record.outcomes), record.measured_ns / 1e9
        slow = 0 if self.limit_s is None else against - _lost(record.outcomes)
        self._append(_Sum(at_s, record.scheduled, ended, known, against, slow))

    @property
    def verdict(self) -> Verdict:
        """As far as it is known."""
        return proportion.verdict(self.limit, self.counted)

    def evidence(self, settled_s: float) -> Evidence:
        """What the breaking point is read from; the load was on for `settled_s` before it was measured."""
        return seen.evidence(
            str(self.term), self.limit, self.ticks, limit_s=self.limit_s, settled_s=settled_s
        )

    @property
    def counted(self) -> proportion.Counted:
        """In sum."""
        together_s = FAILED_TOGETHER_S if self.limit_s is None else SLOW_TOGETHER_LIMITS * self.limit_s
        return seen.counted(self.ticks, together_s)

    @property
    def ticks(self) -> list[Tick]:
        """What came between one line and the next."""
        # Those that wait are counted as far as they are sure, so a sum may fall: the last one is right.
        ended, known, against, slow = (
            np.minimum(np.maximum.accumulate(each), each[-1])
            for each in np.array([(one.ended, one.known, one.against, one.slow) for one in self._sums]).T
        )
        counts = np.diff(np.array((ended, known, np.minimum(known, against), slow)), axis=1).T.tolist()
        return [Tick(one.at_s, *count) for one, count in zip(self._sums[1:], counts, strict=True)]

    def _append(self, now: _Sum) -> None:
        if now.at_s <= self._sums[-1].at_s and len(self._sums) > 1:
            self._sums.pop()
        self._sums.append(now)

    def _scheduled_at(self, at_s: float) -> int:
        place = bisect_right(self._sums, at_s, key=lambda each: each.at_s)
        return self._sums[place - 1].scheduled if place else 0


class Watch:
    """All shares of an objective. Called with each line of progress; `decided` is called once."""

    def __init__(
        self, objective: Objective, step: Step, longest_answers: float, decided: Callable[[], None]
    ) -> None:
        """`longest_answers`: of the level at most; a share that takes more is not waited for."""
        times_ns = slower_than_ns(objective)
        self.courses = [
            Course(term, times_ns.index(round(term.limit)) if term.is_time else None)
            for term in objective.terms
            if term.share_limit is not None
        ]
        # The others are known when the level is over.
        self._all_are_shares = len(self.courses) == len(objective.terms)
        self._least_s = step.least_s
        self._longest_answers = longest_answers
        self._decided = decided
        self._said = False

    def __call__(self, progress: Progress) -> None:
        """A line of the engine."""
        if progress.measured is None:
            return
        for course in self.courses:
            course.add(progress.measured)
        if not self._said and self._may_end(progress.measured.seconds):
            self._said = True
            self._decided()

    def close(self, record: TrialRecord) -> None:
        """The level is over."""
        for course in self.courses:
            course.close(record)

    @property
    def hopeless(self) -> list[Course]:
        """Shares against which nothing speaks, and which take more answers than the level can have."""
        return [
            course
            for course in self.courses
            if not course.counted.against
            and course.verdict != "held"
            and proportion.answers_needed(course.limit) > self._longest_answers
        ]

    def _may_end(self, at_s: float) -> bool:
        verdicts = [course.verdict for course in self.courses]
        if "broke" in verdicts:
            return at_s >= LEAST_S
        open_ends = verdicts.count("undecided") - len(self.hopeless)
        return at_s >= self._least_s and self._all_are_shares and "held" in verdicts and not open_ends


def slower_than_ns(objective: Objective) -> tuple[int, ...]:
    """The times that the engine is to count by."""
    times_ns = {
        round(term.limit) for term in objective.terms if term.is_time and term.share_limit is not None
    }
    return tuple(sorted(times_ns))


def _ended(outcomes: Outcomes) -> int:
    return outcomes.total - outcomes.unfinished


def _lost(outcomes: Outcomes) -> int:
    return outcomes.failed + outcomes.not_sent
