"""A level while it runs: what the engine's lines say of each share, and when it may end."""

from typing import Any

import documents
import pytest
from crumple.find.search import Step
from crumple.find.watch import Course, Watch, slower_than_ns
from crumple.load import objective

MS = 1_000_000


class Level:
    """A level that is watched for `asked`, and told its lines in hundreds of milliseconds."""

    def __init__(self, asked: str = "p99<250ms", *, least_s: float = 1.0, longest: float = 10_000) -> None:
        self.ends: list[float] = []
        self._at_s = 0.0
        self._objective = objective.parse(asked)
        step = Step(100.0, 10.0, "repeat", least_s=least_s)
        self.watch = Watch(self._objective, step, longest, lambda: self.ends.append(self._at_s))

    def told(self, at_s: float, ok: int, slow: int = 0, *, waiting: int = 0, **failed: int) -> None:
        """So many ended until then; `waiting`: were sent and have not ended."""
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
        """Ten lines a second."""
        for line in range(1, round(10 * until_s) + 1):
            ok = round(per_s * line / 10)
            self.told(line / 10, ok, round(slow_share * ok))

    @property
    def course(self) -> Course:
        """Of its first share."""
        return self.watch.courses[0]


def closed(level: Level, times_ns: dict[int, int], *, measured_s: float = 2.0, **changes: Any) -> None:
    """The level is over, with this record."""
    ok, plain = sum(times_ns.values()), documents.record()
    histograms = {"response_time": documents.histogram(times_ns), **changes.pop("histograms", {})}
    made = {
        "scheduled": ok,
        "outcomes": documents.outcomes(ok=ok),
        "measured_ns": round(measured_s * 1e9),
        "histograms": plain.histograms.model_copy(update=histograms),
    }
    level.watch.close(plain.model_copy(update={**made, **changes}))


def test_it_ends_once_enough_answers_held_and_says_so_once() -> None:
    level = Level()
    level.evenly(100.0, 6.0)
    assert level.ends == [3.1] and level.course.verdict == "held"


def test_what_holds_lasts_its_least_time_and_what_breaks_a_second() -> None:
    fast = Level()
    fast.evenly(10_000.0, 2.0)
    longer = Level(least_s=1.5)
    longer.evenly(10_000.0, 2.0)
    broke = Level(least_s=5.0)
    for line in range(1, 41):
        broke.told(line / 10, 100 * line, 50 * line)
    assert (fast.ends, longer.ends) == ([1.0], [1.5])
    assert broke.course.verdict == "broke" and 1.0 <= broke.ends[0] < 2.5


def test_it_is_decided_when_all_parts_are() -> None:
    level = Level("p99<250ms, failed<0.1%")
    level.evenly(1_000.0, 4.0)
    assert level.ends == [3.1]
    assert [course.verdict for course in level.watch.courses] == ["held", "held"]


def test_a_share_that_a_level_cannot_tell_is_not_waited_for() -> None:
    level = Level("p99<250ms, failed<0.1%", longest=3_000)
    level.evenly(1_000.0, 2.0)
    assert level.ends == [1.0]
    assert [str(course.term) for course in level.watch.hopeless] == ["failed<0.1%"]


def test_one_that_something_speaks_against_is_waited_for_all_the_same() -> None:
    level = Level("p99<250ms, failed<0.1%", longest=3_000)
    for line in range(1, 21):
        level.told(line / 10, 100 * line, reset=1)
    assert not level.ends and not level.watch.hopeless


def test_only_hopeless_shares_do_not_end_it() -> None:
    level = Level("failed<0.1%", longest=1_000)
    level.evenly(100.0, 5.0)
    assert not level.ends and level.watch.hopeless


def test_what_is_about_no_share_needs_the_whole_level_unless_a_share_broke() -> None:
    level = Level("p99<250ms, mean<100ms")
    level.evenly(1_000.0, 3.0)
    assert not level.ends and len(level.watch.courses) == 1
    level = Level("p99<250ms, mean<100ms")
    level.evenly(1_000.0, 3.0, slow_share=0.5)
    assert len(level.ends) == 1


def test_a_line_of_the_warm_up_says_nothing() -> None:
    level = Level()
    level.watch(
        documents.progress(
            seconds=2.0, scheduled=900, outcomes=documents.outcomes(ok=900), slower=(0,)
        ).model_copy(update={"measured": None})
    )
    assert not level.ends and not level.course.ticks


def test_requests_that_wait_beyond_the_limit_are_slow_before_they_have_ended() -> None:
    level = Level("p99<200ms")
    for line in range(1, 6):
        level.told(line / 10, 10, waiting=100 * line)
    level.told(0.55, 10, waiting=500)
    # By then those due until 0.25 s had waited for 200 ms and the 100 ms by which a line may be late.
    counted = level.course.counted
    assert (counted.known, counted.against) == (210, 200)
    assert [tick.slow for tick in level.course.ticks][:3] == [0, 0, 0]


def test_as_many_as_ended_do_not_wait() -> None:
    level = Level("p99<200ms")
    for line in range(1, 6):
        level.told(line / 10, 100 * line, waiting=50)
    assert level.course.counted == type(level.course.counted)(500, 0, 0)


def test_failures_count_for_times_too_but_are_not_slow() -> None:
    level = Level("p99<250ms, failed<1%")
    level.told(0.1, 90, 5, reset=10)
    times, failures = level.watch.courses
    assert (times.counted.against, failures.counted.against) == (15, 10)
    assert (times.ticks[0].slow, failures.ticks[0].slow) == (5, 0)


def test_slow_answers_within_twice_the_limit_are_one_occasion_and_failures_within_half_a_second() -> None:
    level = Level("p99<200ms, failed<1%")
    for line in range(1, 11):
        level.told(line / 10, 100 * line, 2 * line, reset=line)
    times, failures = (course.counted for course in level.watch.courses)
    # Of ten ticks: each fourth, and each fifth.
    assert (times.occasions, failures.occasions) == (3, 2)


def test_the_record_has_the_last_word_on_sums_that_fell() -> None:
    level = Level("p99<200ms")
    for line in range(1, 6):
        level.told(line / 10, 10, waiting=100 * line)
    # Of those that seemed to wait some had ended, unreported.
    closed(level, {10 * MS: 100, 300 * MS: 30}, measured_s=0.6)
    counted, ticks = level.course.counted, level.course.ticks
    assert (counted.known, counted.against) == (130, 30)
    assert all(min(tick.ended, tick.known, tick.against, tick.slow) >= 0 for tick in ticks)
    assert all(tick.against <= tick.known for tick in ticks)
    assert sum(tick.slow for tick in ticks) == 30 and ticks[-1].end_s == 0.6


def test_the_record_counts_what_no_line_told_and_what_still_waits() -> None:
    level = Level("p99<200ms")
    waiting = {"unfinished_age": documents.histogram({900 * MS: 7, 10 * MS: 5})}
    outcomes = documents.outcomes(ok=100, unfinished=12)
    closed(level, {10 * MS: 100}, histograms=waiting, outcomes=outcomes, scheduled=112)
    counted = level.course.counted
    assert (counted.known, counted.against) == (107, 7)


def test_a_line_of_the_same_time_takes_the_place_of_the_one_before() -> None:
    level = Level()
    level.told(0.1, 10)
    level.told(0.1, 12)
    assert [(tick.end_s, tick.ended) for tick in level.course.ticks] == [(0.1, 12)]


def test_its_evidence_says_how_long_the_load_was_on_before() -> None:
    level = Level()
    level.evenly(100.0, 2.0)
    evidence = level.course.evidence(1.0)
    assert (evidence.name, evidence.limit, evidence.limit_s) == ("p99<250ms", 0.01, 0.25)
    assert (evidence.settled_s, evidence.watched_s, evidence.known) == (1.0, 2.0, 200)


def test_the_engine_counts_by_the_limits_of_times_only_each_once() -> None:
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
