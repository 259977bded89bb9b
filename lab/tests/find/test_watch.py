"""A level while it runs: what the engine's lines show of each share, and when the level may end."""

from typing import Any

import documents
import numpy as np
import pytest
from crumple.find.next_level import NextLevel, durations
from crumple.find.watch import Backlog, ShareWatch, Watch, slower_than_ns
from crumple.load import objective
from crumple.stats.shares import AnswerCount

MS = 1_000_000


class Level:
    """A level that is watched for the objective `asked`, and gets its lines of progress."""

    def __init__(self, asked: str = "p99<250ms", *, least_s: float = 1.0, longest: float = 10_000) -> None:
        self.ends: list[float] = []
        self._at_s = 0.0
        self._objective = objective.parse(asked)
        step = NextLevel(100.0, 10.0, "repeat", least_s=least_s)
        self.watch = Watch(self._objective, step, longest, lambda: self.ends.append(self._at_s))

    def told(self, at_s: float, ok: int, slow: int = 0, *, waiting: int = 0, **failed: int) -> None:
        """A line of progress. `slow`: took or wait longer than the limit; `waiting`: have not ended."""
        self._at_s = at_s
        ended = ok + sum(failed.values())
        self.watch(
            documents.progress(
                seconds=at_s,
                scheduled=ended + waiting,
                outcomes=documents.outcomes(ok=ok, **failed),
                slower=tuple(slow for _ in slower_than_ns(self._objective)),
            )
        )

    def evenly(self, per_s: float, until_s: float, slow_share: float = 0.0) -> None:
        """Ten lines a second with an even rate of answers."""
        for line in range(1, round(10 * until_s) + 1):
            ok = round(per_s * line / 10)
            self.told(line / 10, ok, round(slow_share * ok))

    @property
    def course(self) -> ShareWatch:
        """The course of the first share."""
        return self.watch.courses[0]


def closed(level: Level, times_ns: dict[int, int], *, measured_s: float = 2.0, **changes: Any) -> None:
    """End the level with this record."""
    ok, plain = sum(times_ns.values()), documents.record()
    histograms = {"response_time": documents.histogram(times_ns), **changes.pop("histograms", {})}
    made = {
        "scheduled": ok,
        "outcomes": documents.outcomes(ok=ok),
        "measured_ns": round(measured_s * 1e9),
        "histograms": plain.histograms.model_copy(update=histograms),
    }
    level.watch.close(plain.model_copy(update={**made, **changes}))


def test_it_ends_once_after_enough_answers() -> None:
    level = Level()
    level.evenly(100.0, 6.0)
    # 308 answers were due longer ago than the limit plus the time that a line may be late.
    assert level.ends == [3.5] and level.course.holds == "yes"


def test_a_level_that_holds_lasts_its_minimum_and_one_that_breaks_a_second() -> None:
    fast = Level()
    fast.evenly(10_000.0, 2.0)
    longer = Level(least_s=1.5)
    longer.evenly(10_000.0, 2.0)
    broke = Level(least_s=5.0)
    for line in range(1, 41):
        broke.told(line / 10, 100 * line, 50 * line)
    assert (fast.ends, longer.ends) == ([1.0], [1.5])
    assert broke.course.holds == "no" and 1.0 <= broke.ends[0] < 2.5


def test_it_is_decided_when_all_terms_are() -> None:
    level = Level("p99<250ms, failed<0.1%")
    level.evenly(1_000.0, 4.0)
    assert level.ends == [3.1]
    assert [course.holds for course in level.watch.courses] == ["yes", "yes"]


def test_a_share_that_a_level_cannot_decide_is_not_waited_for() -> None:
    level = Level("p99<250ms, failed<0.1%", longest=3_000)
    level.evenly(1_000.0, 2.0)
    assert level.ends == [1.0]
    assert [str(course.term) for course in level.watch.hopeless] == ["failed<0.1%"]


def test_a_share_with_evidence_against_it_is_waited_for() -> None:
    level = Level("p99<250ms, failed<0.1%", longest=3_000)
    for line in range(1, 21):
        level.told(line / 10, 100 * line, reset=1)
    assert not level.ends and not level.watch.hopeless


def test_undecidable_shares_alone_do_not_end_a_level() -> None:
    level = Level("failed<0.1%", longest=1_000)
    level.evenly(100.0, 5.0)
    assert not level.ends and level.watch.hopeless


def test_a_term_without_a_share_needs_the_whole_level_unless_a_share_broke() -> None:
    level = Level("p99<250ms, mean<100ms")
    level.evenly(1_000.0, 3.0)
    assert not level.ends and len(level.watch.courses) == 1
    level = Level("p99<250ms, mean<100ms")
    level.evenly(1_000.0, 3.0, slow_share=0.5)
    assert len(level.ends) == 1


def test_requests_waiting_beyond_the_limit_count_as_slow_before_they_end() -> None:
    level = Level("p99<200ms")
    for line in range(1, 6):
        # A hundred requests are due in each tenth of a second, and none of them ends.
        level.told(line / 10, 0, 100 * max(0, line - 2), waiting=100 * line)
    assert level.course.counted == AnswerCount(300, 300, 2)
    assert [tick.slow for tick in level.course.ticks] == [0, 0, 100, 100, 100]


def test_only_requests_due_longer_ago_than_the_limit_count() -> None:
    level = Level("p99<200ms")
    for line in range(1, 7):
        level.told(line / 10, 100 * line, waiting=50)
    # At 0.6 s the requests due in the first 0.3 s are known, since a line may be 0.1 s late.
    assert level.course.counted == AnswerCount(350, 0, 0)
    level.told(0.65, 600, waiting=50)
    # Between two lines requests are assumed to come evenly.
    assert level.course.counted.known == 400
    closed(level, {MS: 650}, measured_s=0.7)
    # The record is complete, unlike a line that may be late.
    assert level.course.counted == AnswerCount(550, 0, 0)


@pytest.mark.long
@pytest.mark.parametrize("limit_ms", [100, 250, 1_000])
@pytest.mark.parametrize("per_s", [50, 400, 5_000])
def test_if_a_twentieth_takes_twice_the_limit_the_level_never_holds(limit_ms: int, per_s: int) -> None:
    broke = 0
    for seed in range(20):
        noise, limit_s = np.random.default_rng(seed), limit_ms / 1e3
        level = Level(f"p99<{limit_ms}ms")
        due_s = np.sort(noise.uniform(0, 5.0, 5 * per_s))
        slow = noise.uniform(size=len(due_s)) < 0.05
        ends_s = due_s + np.where(slow, 2 * limit_s, limit_s / 10)
        for line in range(1, 51):
            at_s = line / 10
            scheduled, ended = int((due_s <= at_s).sum()), int((ends_s <= at_s).sum())
            level.told(at_s, ended, int((due_s[slow] < at_s - limit_s).sum()), waiting=scheduled - ended)
            assert level.course.holds != "yes"
        broke += level.course.holds == "no"
    # At 50 per second too few answers are known by then.
    assert broke >= 15 or (per_s, limit_ms) == (50, 1_000)


def test_failures_count_against_times_once_the_limit_has_passed_and_are_not_slow() -> None:
    level = Level("p99<250ms, failed<1%")
    level.told(0.1, 90, reset=10)
    times, failures = level.watch.courses
    assert (times.counted.against, failures.counted.against) == (0, 10)
    level.told(0.45, 90, 5, reset=10)
    # Known are the requests that were due in the first tenth of a second.
    assert times.counted == AnswerCount(100, 15, 1) and failures.counted.known == 100
    assert (times.ticks[-1].slow, failures.ticks[-1].slow) == (5, 0)


@pytest.mark.parametrize("how", ["timeout", "connect_timeout", "not_sent"])
def test_a_request_that_took_too_long_and_then_failed_counts_at_once(how: str) -> None:
    level = Level("p99<250ms")
    level.told(0.1, 90, **{how: 10})
    assert level.course.counted.against == 10


def test_for_failures_every_ended_request_counts() -> None:
    level = Level("failed<1%")
    level.told(0.1, 90, waiting=50, reset=3, timeout=2)
    assert level.course.counted == AnswerCount(95, 5, 1)


def test_slow_answers_within_twice_the_limit_are_one_occasion_and_failures_within_half_a_second() -> None:
    level = Level("p99<200ms, failed<1%")
    for line in range(1, 31):
        # There are slow answers in six of thirty ticks.
        level.told(line / 10, 100 * line, 3 * min(6, max(0, line - 9)))
    for line in range(31, 61):
        level.told(line / 10, 100 * line, 18, reset=3 * min(6, line - 30))
    times, failures = (course.counted for course in level.watch.courses)
    # Every fourth tick of slow answers is an occasion. Failures count against times as well; every fifth tick
    # of them is an occasion of failures.
    assert failures == AnswerCount(6_018, 18, 2)
    assert (times.against, times.occasions) == (36, 4)


def test_the_record_decides_if_counts_fell() -> None:
    level = Level("p99<200ms")
    for line in range(1, 6):
        level.told(line / 10, 10, 20 * max(0, line - 2), waiting=100 * line - 10)
    # Some requests that waited beyond the limit had ended by the line of another thread.
    closed(level, {10 * MS: 570, 300 * MS: 30}, measured_s=0.6)
    counted, ticks = level.course.counted, level.course.ticks
    assert (counted.known, counted.against) == (400, 30)
    assert all(min(tick.ended, tick.known, tick.against, tick.slow) >= 0 for tick in ticks)
    assert all(tick.against <= tick.known for tick in ticks)
    assert sum(tick.slow for tick in ticks) == 30 and ticks[-1].end_s == 0.6


def test_the_record_adds_unreported_and_waiting_requests() -> None:
    level = Level("p99<200ms")
    waiting = {"unfinished_age": documents.histogram({900 * MS: 7, 10 * MS: 5})}
    outcomes = documents.outcomes(ok=100, unfinished=12)
    closed(level, {10 * MS: 100}, histograms=waiting, outcomes=outcomes, scheduled=112)
    counted = level.course.counted
    # Of 112 requests in two seconds those due in the first 1.8 s are known.
    assert (counted.known, counted.against) == (101, 7)


def test_progress_at_the_same_time_replaces_the_one_before() -> None:
    level = Level()
    level.told(0.1, 10)
    level.told(0.1, 12)
    assert [(tick.end_s, tick.ended) for tick in level.course.ticks] == [(0.1, 12)]


def test_its_evidence_includes_the_time_under_load_before() -> None:
    level = Level()
    level.evenly(100.0, 2.0)
    evidence = level.course.evidence(1.0)
    assert (evidence.name, evidence.limit, evidence.limit_s) == ("p99<250ms", 0.01, 0.25)
    assert (evidence.settled_s, evidence.watched_s, evidence.known) == (1.0, 2.0, 165)


def test_the_engine_gets_each_limit_on_a_time_once() -> None:
    asked = objective.parse("p99<250ms, p50<100ms, p90<250ms, failed<1%, mean<1s")
    assert slower_than_ns(asked) == (100 * MS, 250 * MS)


@pytest.mark.parametrize(("asked", "place"), [("p99<250ms, p50<100ms", 1), ("p50<100ms, p99<250ms", 0)])
def test_each_share_reads_its_own_limit(asked: str, place: int) -> None:
    level = Level(asked)
    level.watch(
        documents.progress(seconds=0.1, scheduled=100, outcomes=documents.outcomes(ok=100), slower=(40, 3))
    )
    assert level.watch.courses[place].counted.against == 40
    assert level.watch.courses[1 - place].counted.against == 3


def crowded(asked: str, level_s: float, first_s: float) -> bool:
    """Whether a level breaks within `level_s` if every answer is too slow and lines begin at `first_s`."""
    level = Level(asked)
    limit_s = level.course.limit_s
    assert limit_s is not None
    lines = int((level_s - first_s) / 0.1 + 1e-9) + 1
    for at_s in (first_s + 0.1 * line for line in range(lines)):
        # A thousand requests a second are due, and each is found slow when its limit has passed.
        due, slow = round(1_000 * at_s), round(1_000 * max(0.0, at_s - limit_s))
        level.told(at_s, 0, slow, waiting=due)
    return level.course.holds == "no"


@pytest.mark.parametrize("asked", ["p99<250ms", "p99<1s", "p50<100ms", "p99.9<40ms"])
def test_a_level_is_long_enough_to_break_whenever_its_lines_come(asked: str) -> None:
    level_s = durations(objective.parse(asked), 30.0).level_s
    for first_s in np.arange(0.01, 0.11, 0.01):
        assert crowded(asked, level_s, float(first_s))


def test_a_level_that_is_a_quarter_shorter_may_break_or_not_as_its_lines_come() -> None:
    level_s = durations(objective.parse("p99<250ms"), 30.0).level_s
    assert level_s == pytest.approx(1.5, abs=0.01)
    assert not all(crowded("p99<250ms", 0.75 * level_s, first_s) for first_s in (0.01, 0.05, 0.09))


def backlog(*waiting: int, carried: int = 0) -> Backlog:
    """The backlog with these numbers waiting at its lines; `carried`: from the warm-up, over at the first."""
    seen = Backlog()
    for line, number in enumerate(waiting, 1):
        ok = 1_000 * line
        now = documents.progress(
            seconds=line / 10, scheduled=ok + number, outcomes=documents.outcomes(ok=ok), slower=()
        )
        seen.add(now.model_copy(update={"ok": ok + carried}), now.measured)
    return seen


def test_growth_of_a_backlog_is_computed_from_the_two_halves_of_a_level() -> None:
    assert backlog(*range(10, 210, 10)).grew() == 200
    assert backlog(*range(200, 0, -10)).grew() == -200
    assert backlog(*[70] * 20).grew() == 0
    assert backlog(*[70] * 20, carried=500).grew() == 0


@pytest.mark.parametrize("stalls_at", [0, 8, 16])
def test_a_stall_is_no_growth_at_any_time(stalls_at: int) -> None:
    waiting = [50] * 20
    waiting[stalls_at : stalls_at + 4] = [200, 400, 600, 800]
    assert backlog(*waiting).grew() == 0


def test_few_readings_do_not_decide_growth() -> None:
    assert backlog(*range(0, 500, 100)).grew() == 0
    assert backlog(*range(0, 600, 100)).grew() == 600


def test_slow_answers_are_no_growth_because_the_warm_up_left_as_many() -> None:
    level = Level("p99<1s")
    for line in range(1, 21):
        # A thousand requests a second take 0.9 s each, after two seconds of warm-up.
        due, ended = 100 * line, 100 * max(0, line - 9)
        now = documents.progress(
            seconds=line / 10, scheduled=due, outcomes=documents.outcomes(ok=ended), slower=(0,)
        )
        level.watch(now.model_copy(update={"ok": 1_100 + due}))
    assert level.watch.backlog.grew() == 0


def test_lines_of_the_warm_up_do_not_hide_that_the_backlog_grows() -> None:
    level = Level("p99<1s")
    nothing = documents.progress(seconds=0.0, scheduled=0, outcomes=documents.outcomes(), slower=(0,))
    for line in range(1, 11):
        level.watch(nothing.model_copy(update={"phase": "warm-up", "ok": 100 * line}))
    for line in range(1, 11):
        # Of a hundred requests that are due, eighty are answered.
        now = documents.progress(
            seconds=line / 10, scheduled=100 * line, outcomes=documents.outcomes(ok=80 * line), slower=(0,)
        )
        level.watch(now.model_copy(update={"ok": 1_000 + 80 * line}))
    assert level.watch.backlog.grew() == 200


def test_unsent_and_failed_requests_do_not_wait() -> None:
    level = Level("failed<1%")
    for line in range(1, 21):
        level.told(line / 10, 100 * line, waiting=5, not_sent=10 * line, reset=10 * line)
    assert level.watch.backlog.grew() == 0
