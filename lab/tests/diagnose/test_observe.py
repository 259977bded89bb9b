"""What a load's record comes to in a diagnosis: rates and their intervals, light requests that waited."""

from dataclasses import replace

import documents
import pytest
from crumple import contract
from crumple.diagnose import load_sizes, observe, seen_under_load
from crumple.experiment import idle
from crumple.load.load_options import Options
from crumple.observation import parallelism
from crumple.observation.observed import WorkAlone
from crumple.observation.parallelism import Parallelism
from made_observations import MS, Silent, record
from made_observed import LOOP, many
from made_subject import SUBJECT


def busy(others_share: float) -> contract.TrialRecord:
    """A record of two seconds on two cores, of which others used so much."""
    plain = record()
    ours_ns = sum(
        each.window.cpu_ns for each in (plain.probes.engine, plain.probes.server) if each and each.window
    )
    machine = documents.machine(round(ours_ns + others_share * 2 * plain.measured_ns))
    return plain.model_copy(update={"probes": plain.probes.model_copy(update={"machine": machine})})


@pytest.mark.parametrize(("disturbed", "mean_s"), [("", 0.001), ("other programs used 40 % of it", 0.005)])
def test_what_the_work_takes_alone_is_that_of_a_server_that_has_worked(
    monkeypatch: pytest.MonkeyPatch, disturbed: str, mean_s: float
) -> None:
    """A JVM that has just started compiles beside the first requests, which counts as theirs."""
    course = observe.Observation(
        replace(SUBJECT, options=Options(seed=3)), lambda *_: (record(), None), Silent()
    )
    course._note(work=WorkAlone(answers=50, mean_s=0.005, least_s=0.001, cpu_s=0.009))
    warm = WorkAlone(answers=50, mean_s=0.001, least_s=0.001, cpu_s=0.001, disturbed=disturbed)
    monkeypatch.setattr(course, "_alone", lambda *_: warm)
    course._again_alone()
    assert course.seen.work is not None and course.seen.work.mean_s == mean_s


def test_that_the_work_is_answered_at_last_is_noted_also_if_others_used_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    course = observe.Observation(
        replace(SUBJECT, options=Options(seed=3)), lambda *_: (record(), None), Silent()
    )
    answered = WorkAlone(answers=50, mean_s=0.01, least_s=0.01, cpu_s=0.001, disturbed="others used 40 %")
    monkeypatch.setattr(course, "_alone", lambda *_: answered)
    course._again_alone()
    assert course.seen.work == answered and load_sizes.alone_s(course.seen) is None


@pytest.mark.parametrize(("closes", "used"), [(False, "keep-alive"), (True, "per-request")])
def test_where_the_server_closes_connections_unsaid_each_request_has_its_own(
    monkeypatch: pytest.MonkeyPatch, closes: bool, used: str
) -> None:
    """uWSGI does so: the next request on the connection is reset, and counts as a failure of the server."""
    course = observe.Observation(
        replace(SUBJECT, options=Options(seed=3)), lambda *_: (record(), None), Silent()
    )
    monkeypatch.setattr(idle, "closes_unsaid", lambda *_: closes)
    course._see_closing()
    assert course.subject.options.connection == used and course.seen.closes_unsaid == closes
    assert course._spec(SUBJECT.work, 1, contract.DurationStopSpec(duration_s=1.0), None).connection == used


def test_the_interval_of_a_rate_is_that_of_the_mean_of_its_batches() -> None:
    # Five batches of 80, 90, 100, 110 and 120 answers in 100 ms: their standard deviation is 158 per second.
    found = seen_under_load.many(record(tuple(n for n in (80, 90, 100, 110, 120) for _ in range(3))), None)
    assert found.per_s == pytest.approx(1000)
    half = 2.776 * 158.11 / 5**0.5
    assert found.per_s_high - found.per_s == pytest.approx(half, rel=1e-3)


@pytest.mark.parametrize("rows", [1, 3])
def test_of_a_load_too_short_for_batches_the_rate_is_known_to_no_accuracy(rows: int) -> None:
    found = seen_under_load.many(record((100,) * rows), None)
    assert (found.per_s_low, found.per_s_high) == (0.0, pytest.approx(2 * found.per_s))


def test_what_the_engine_uses_on_cores_of_its_own_is_none_of_the_servers() -> None:
    used = seen_under_load.many(record(), None).engine_cores
    assert used > 0.05
    assert seen_under_load.many(record(), None, elsewhere=2).engine_cores == 0.0
    # A lock lets one thread of the server compute on its two cores, and the engine has two others.
    locked = replace(LOOP, computing=many(16, 1, 0.02, cores=1.0, engine_cores=0.0, busy=8.0))
    found = parallelism.computes(locked)
    assert isinstance(found, Parallelism) and (found.kind, found.value) == ("limit", 1.0)


def test_a_load_without_a_measured_row_has_no_rate() -> None:
    found = seen_under_load.many(record(()), None)
    assert (found.per_s, found.per_s_low, found.per_s_high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("unanswered", "growing"), [(381, True), (0, False)])
def test_a_server_that_adds_a_process_while_connections_wait_still_grows(
    unanswered: int, growing: bool
) -> None:
    plain = record(users_unanswered=unanswered)
    assert plain.probes.server is not None
    seen = plain.probes.server.samples
    times = tuple(plain.warm_up_ns + second * 1_000 * MS for second in range(3))
    changed = {"at_ns": times, "processes": (131, 131, 132), "threads": (131, 131, 132)}
    server = plain.probes.server.model_copy(update={"samples": seen.model_copy(update=changed)})
    added = plain.model_copy(update={"probes": plain.probes.model_copy(update={"server": server})})
    assert seen_under_load.many(added, None).growing == growing


@pytest.mark.parametrize(("processes", "growing"), [((9, 9, 10, 10, 11), True), ((9, 11, 11, 11, 11), False)])
def test_a_pool_that_adds_one_a_second_still_grows(processes: tuple[int, ...], growing: bool) -> None:
    plain = record()
    assert plain.probes.server is not None
    times = tuple(plain.warm_up_ns + 400 * each * MS for each in range(5))
    changed = {"at_ns": times, "processes": processes, "threads": (4,) * 5}
    samples = plain.probes.server.samples.model_copy(update=changed)
    server = plain.probes.server.model_copy(update={"samples": samples})
    added = plain.model_copy(update={"probes": plain.probes.model_copy(update={"server": server})})
    assert seen_under_load.many(added, None).growing == growing


def test_a_light_request_that_is_refused_has_not_waited() -> None:
    times = documents.record().histograms.model_copy(
        update={"response_time": documents.histogram({1 * MS: 60, 30 * MS: 20})}
    )
    seen = record(
        outcomes=documents.outcomes(ok=80, wrong_status=50, refused=10, timeout=3, unfinished=2),
        histograms=times,
    )
    found = seen_under_load.beside(seen, 0.005)
    assert (found.asked, found.waited) == (85, 25)


def test_without_any_answer_nothing_is_said_of_waiting() -> None:
    none = documents.record().histograms.model_copy(update={"response_time": documents.histogram({})})
    seen = record(outcomes=documents.outcomes(wrong_status=50), histograms=none)
    assert seen_under_load.beside(seen, 0.005).asked == 0


@pytest.mark.parametrize(("connection", "measures"), [("keep-alive", True), ("per-request", False)])
def test_light_requests_alone_come_on_new_connections_as_well(connection: str, measures: bool) -> None:
    """Those beside a load do; a server may execute a program for each connection."""
    sent: list[contract.TrialSpec] = []

    def run(spec: contract.TrialSpec, *_: object) -> tuple[contract.TrialRecord, None]:
        sent.append(spec)
        return record(), None

    subject = replace(SUBJECT, options=Options(seed=3, connection=connection))  # type: ignore[arg-type]
    course = observe.Observation(subject, run, Silent())
    course._note(light=WorkAlone(50, 0.0001, 0.0001, None))
    found = course._light_new()
    assert [each.connection for each in sent] == ["per-request"] * measures
    assert (found is not None) == measures


@pytest.mark.parametrize(("takes_s", "measured_s"), [(0.1, 1.5), (1.0, 5.0), (3.0, 6.0)])
def test_slow_requests_are_measured_for_several_times_as_long_as_one_takes(
    takes_s: float, measured_s: float
) -> None:
    """In 1.5 s a pool of four answers no or four requests of a second each: a rate that tells nothing."""
    put_on: list[contract.TrialSpec] = []

    def run(spec: contract.TrialSpec, _: object) -> tuple[contract.TrialRecord, None]:
        put_on.append(spec)
        return record(), None

    slow = SUBJECT.work[0].model_copy(update={"path": "/slow"})
    course = observe.Observation(replace(SUBJECT, slow=slow, options=Options(seed=3)), run, Silent())
    course._note(slow=WorkAlone(answers=5, mean_s=takes_s, least_s=takes_s, cpu_s=0.001))
    course._many(slow, 32)
    assert put_on[-1].stop == contract.DurationStopSpec(duration_s=measured_s)


@pytest.mark.parametrize(
    ("late_s", "slow", "looks"),
    [
        (observe.LATE_S + 1, None, ["look", "memory"]),
        (observe.LATE_S - 1, None, ["memory", "look"]),
        # Their loads show how the server grows, and come before.
        (observe.LATE_S + 1, documents.request(path="/wait"), ["memory", "wait", "look"]),
    ],
)
def test_the_first_look_is_taken_once_and_before_memory_if_it_would_be_late(
    monkeypatch: pytest.MonkeyPatch, late_s: float, slow: contract.RequestSpec | None, looks: list[str]
) -> None:
    done: list[str] = []
    subject = replace(SUBJECT, slow=slow, options=Options(seed=3))
    course = observe.Observation(
        subject, lambda *_: (record(), None), Silent(), _first_look=lambda: done.append("look")
    )
    for name in ("_see_closing", "_light_new", "_rest", "_asks_at_rest", "_again_alone"):
        monkeypatch.setattr(course, name, lambda: None)
    answered = WorkAlone(answers=50, mean_s=0.1, least_s=0.1, cpu_s=0.001)
    monkeypatch.setattr(course, "_alone", lambda *_: answered)
    monkeypatch.setattr(course, "_held", lambda *_: None)
    monkeypatch.setattr(course, "_memory", lambda: done.append("memory"))
    monkeypatch.setattr(course, "_wait", lambda _: done.append("wait"))
    course._began_s -= late_s
    course.observed()
    assert done == looks
