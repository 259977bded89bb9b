"""A diagnosis has a bound on its time: what tells least is given up first, and the answer says so."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import documents
import made_results
import pytest
from crumple.diagnose import diagnosis, load_sizes, observe
from crumple.diagnose.time_left import LASTS_S_MAX, NEEDS_S, TimeLeft
from crumple.experiment import idle, idle_memory
from crumple.machine.connection_ends import Opened
from crumple.observation.observed import Many, WorkAlone
from made_observations import MS, Silent, record
from made_observed import alone, many
from made_subject import SUBJECT


class Clock:
    """A clock that stands still until it is told to go on."""

    at_s = 0.0

    def __call__(self) -> float:
        return self.at_s


def late(by_s: float) -> tuple[TimeLeft, Clock]:
    """The time of a diagnosis that began so long ago."""
    clock = Clock()
    left = TimeLeft(clock)
    clock.at_s = by_s
    return left, clock


def test_what_tells_least_is_given_up_first() -> None:
    assert [*NEEDS_S.values()] == sorted(NEEDS_S.values(), reverse=True)
    left, clock = late(0.0)
    gone: list[list[str]] = []
    while left.left_s:
        gone.append([part for part in NEEDS_S if not left.has(part)])
        clock.at_s += 1.0
    assert gone[0] == [] and gone[-1] == list(NEEDS_S) == left.given_up
    assert all(gone[at] == list(NEEDS_S)[: len(gone[at])] for at in range(len(gone)))


def test_the_search_of_the_breaking_point_has_a_time_of_its_own() -> None:
    left, clock = late(60.0)
    clock.at_s += 30.0
    left.without(30.0)
    assert left.left_s == pytest.approx(LASTS_S_MAX - 60.0)


def test_connections_held_for_their_memory_are_no_more_when_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idle, "connections", lambda *_: pytest.fail("more connections"))
    found = idle_memory.held(Opened(1, 1), "127.0.0.1:1", "", SUBJECT.light, lambda: False)
    assert found.why == idle_memory.NO_TIME and not found.steps


def looking(
    monkeypatch: pytest.MonkeyPatch, left_s: float, **plan: object
) -> tuple[diagnosis._DiagnosisCourse, list[float]]:
    """A diagnosis with so much time left, of work that takes 6 s; the list gets how long each look lasts."""
    asked: Any = SimpleNamespace(label="tried", **plan)
    course = diagnosis._DiagnosisCourse(asked, SUBJECT, None, None, Silent(), 0.0)  # type: ignore[arg-type]
    course._observing._note(work=WorkAlone(3, 6.0, 6.0, 0.001))
    course._time = late(LASTS_S_MAX - left_s)[0]
    looked: list[float] = []

    def looked_at(shape: object, look: object, for_s: float, light: object = None) -> object:
        looked.append(for_s)
        return record(), None

    monkeypatch.setattr(course, "_looked_at", looked_at)
    return course, looked


@pytest.mark.parametrize(("left_s", "lasts_s"), [(90.0, 15.0), (12.0, 9.0), (1.0, load_sizes.LOOK_S)])
def test_the_last_load_lasts_no_longer_than_there_is_time(
    monkeypatch: pytest.MonkeyPatch, left_s: float, lasts_s: float
) -> None:
    course, looked = looking(monkeypatch, left_s)
    monkeypatch.setattr(load_sizes, "may_be_too_few", lambda _: False)
    course._beyond(0)
    assert looked == [lasts_s]


class StepsOverError(Exception):
    """The steps that are looked at are over."""


@pytest.mark.parametrize(("left_s", "lasts_s"), [(90.0, 15.0), (21.0, 12.0), (10.0, load_sizes.LOOK_S)])
def test_the_load_below_the_limit_leaves_time_for_that_beyond_it(
    monkeypatch: pytest.MonkeyPatch, left_s: float, lasts_s: float
) -> None:
    course, looked = looking(monkeypatch, left_s, objective=None)

    def beyond(*_: object) -> None:
        raise StepsOverError

    monkeypatch.setattr(diagnosis, "_others", lambda _: None)
    monkeypatch.setattr(course._observing, "observed", lambda: course._observing.seen)
    monkeypatch.setattr(course, "_held", lambda: 100.0)
    monkeypatch.setattr(course, "_beyond", beyond)
    with pytest.raises(StepsOverError):
        course.take()
    # The time of the search, hardly any here, is given back.
    assert looked == [pytest.approx(lasts_s, abs=0.5)]


def test_what_was_given_up_is_said() -> None:
    found = made_results.diagnosis()
    seen = replace(found.seen, given_up=("what a connection takes in memory",))
    said = made_results.screen_of_diagnosis(replace(found, seen=seen), 200)
    assert "what a connection takes in memory: a diagnosis takes no more than 90 s" in said
    assert "no more than" not in made_results.screen_of_diagnosis(found, 200)


def test_no_time_is_waited_for_a_server_that_starts_a_program_for_each_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request that asks whether it has settled comes on a connection of its own, and takes 20 ms."""
    times = documents.histogram({20 * MS: 1})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    took = record(histograms=histograms)
    course = observe.Observation(SUBJECT, lambda *_: (took, None), Silent())
    asked: list[int] = []
    monkeypatch.setattr(course, "_run", lambda *_: (asked.append(1), (took, None))[1])
    course._note(light=alone(0.1), light_new=alone(20))
    course.settle()
    assert len(asked) == 1


@pytest.mark.parametrize(("later_s", "asked", "given_up"), [(30.0, [32, 512], 0), (60.0, [32], 1)])
def test_a_load_that_was_put_on_is_not_said_to_be_given_up(
    monkeypatch: pytest.MonkeyPatch, later_s: float, asked: list[int], given_up: int
) -> None:
    """All of 512 waited at a time, and then no time is left for as many once more."""
    left, clock = late(0.0)
    course = observe.Observation(SUBJECT, lambda *_: (record(), None), Silent(), left)
    put_on: list[int] = []

    def loaded(_: object, number: int) -> Many:
        put_on.append(number)
        clock.at_s += later_s
        return many(number, number, 0.1)

    monkeypatch.setattr(course, "_many", loaded)
    monkeypatch.setattr(course, "settle", lambda *_: True)
    course._note(slow=alone(100))
    course._wait(SUBJECT.light)
    assert put_on == asked and len(left.given_up) == given_up


@pytest.mark.parametrize(("left_s", "longer"), [(60.0, [False, True]), (25.0, [False])])
def test_a_server_that_adds_threads_is_loaded_for_longer_if_there_is_time(
    monkeypatch: pytest.MonkeyPatch, left_s: float, longer: list[bool]
) -> None:
    left, _ = late(LASTS_S_MAX - left_s)
    course = observe.Observation(SUBJECT, lambda *_: (record(), None), Silent(), left)
    put_on: list[bool] = []

    def loaded(_: object, number: int, *, longer: bool = False) -> Many:
        put_on.append(longer)
        return many(number, 4, 0.1, growing=True)

    monkeypatch.setattr(course, "_many", loaded)
    monkeypatch.setattr(course, "settle", lambda *_: True)
    course._note(slow=alone(100))
    course._wait(SUBJECT.light)
    assert put_on == longer and len(left.given_up) == 2 - len(longer)


def again(monkeypatch: pytest.MonkeyPatch, left_s: float, took: WorkAlone) -> WorkAlone | None:
    """The figure of the work alone, of 5 ms at first, after it took so long once more."""
    left, _ = late(LASTS_S_MAX - left_s)
    times = documents.histogram({1 * MS: 1})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    settled = record(histograms=histograms)
    course = observe.Observation(SUBJECT, lambda *_: (settled, None), Silent(), left)
    course._note(work=alone(5, 5), light=alone(1))
    monkeypatch.setattr(course, "_alone", lambda *_: took)
    course._again_alone()
    return course.seen.work


@pytest.mark.parametrize(
    ("left_s", "took", "noted"),
    [
        (25.0, alone(22, 44), alone(5, 5)),
        (25.0, alone(3, 3), alone(3, 3)),
        (60.0, alone(22, 44), alone(22, 44)),
    ],
)
def test_what_the_work_takes_once_more_counts_if_the_server_has_settled_or_is_faster(
    monkeypatch: pytest.MonkeyPatch, left_s: float, took: WorkAlone, noted: WorkAlone
) -> None:
    """With less than 30 s left it is not waited until the server has done what it was asked before."""
    assert again(monkeypatch, left_s, took) == noted


@pytest.mark.parametrize("ends", [{"unfinished": 1}, {"wrong_status": 20}])
def test_work_that_was_answered_at_first_is_not_said_to_fail(ends: dict[str, int]) -> None:
    """A single loop may still compute for the loads before, and refuse or delay what comes."""
    none = documents.record().histograms.model_copy(update={"response_time": documents.histogram({})})
    failed = record(outcomes=documents.outcomes(**{"ok": 0, **ends}), histograms=none)
    left, _ = late(LASTS_S_MAX - 25.0)
    course = observe.Observation(SUBJECT, lambda *_: (failed, None), Silent(), left)
    course._note(work=alone(5, 5))
    course._again_alone()
    assert course.seen.work == alone(5, 5) and not course.seen.failed
