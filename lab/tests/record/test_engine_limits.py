"""The engine's limits: each rule on a record that breaks it alone, and on both sides of its limit."""

from typing import Any

import documents
import pytest
from crumple import contract
from crumple.machine.ceiling import Ceiling
from crumple.record import engine_limits, validity
from judged import FINE, OPEN, open_load, probed, the_problem, the_warning


@pytest.mark.parametrize(("share", "limited"), [(0.84, False), (0.86, True)])
@pytest.mark.parametrize("placement", ["separate", None])
def test_an_engine_that_used_up_its_cores_is_engine_limited(
    share: float, limited: bool, placement: Any
) -> None:
    record = probed(engine=documents.probe(share))
    judged = validity.assess(record, placement=placement)
    assert judged.word == ("engine-limited" if limited else "valid")
    assert not limited or judged.problems[0].startswith("the engine used 86% of its cores (limit 85%)")
    assert engine_limits.was_the_limit(judged.problems) == limited
    assert validity.assess(record, placement="shared") == FINE


@pytest.mark.parametrize(("share", "limited"), [(0.84, False), (0.86, True)])
def test_an_engine_with_a_thread_that_used_up_its_core_is_engine_limited(share: float, limited: bool) -> None:
    threads = (documents.thread(0.2), documents.thread(share))
    spec = documents.spec(threads=2, cores=(1, 2))
    record = probed(threads=threads, engine=documents.probe(1.06)).model_copy(update={"spec": spec})
    judged = validity.assess(record, placement="separate")
    assert judged.word == ("engine-limited" if limited else "valid")
    assert not limited or "a thread of the engine used a core 86% of the time" in judged.problems[0]
    assert engine_limits.was_the_limit(judged.problems) == limited
    assert not engine_limits.was_the_limit((*judged.problems, "another"))


def test_on_shared_cores_the_engines_share_is_known() -> None:
    machine = documents.machine(1)
    own = probed(engine=documents.probe(0.5), machine=machine)
    shared = own.model_copy(update={"spec": documents.spec(cores=())})
    assert engine_limits.cpu_share_on_shared_cores(own) is None
    assert engine_limits.cpu_share_on_shared_cores(shared) == pytest.approx(0.25)
    unread = machine.model_copy(update={"window": None})
    probes = shared.probes.model_copy(update={"machine": unread})
    assert engine_limits.cpu_share_on_shared_cores(shared.model_copy(update={"probes": probes})) is None


def test_an_engine_on_any_core_is_judged_by_its_threads() -> None:
    unbound = documents.spec(cores=())
    idle = probed(engine=documents.probe(0.95)).model_copy(update={"spec": unbound})
    assert validity.assess(idle) == FINE, "its threads were at 45 %"
    busy = probed(threads=(documents.thread(0.9),)).model_copy(update={"spec": unbound})
    assert validity.assess(busy).word == "engine-limited"
    unseen = probed(threads=(), engine=documents.probe(0.95)).model_copy(update={"spec": unbound})
    assert validity.assess(unseen).word == "engine-limited"


def test_waiting_for_its_own_core_counts_as_using_it() -> None:
    record = probed(threads=(documents.thread(0.6, waited_share=0.3),))
    problem = the_problem(record, "engine-limited")
    assert problem == (
        "a thread of the engine used its core 60% of the time and waited for it 30%, together 90% "
        "(limit 85%): keep other programs off the engine's cores"
    )
    assert not engine_limits.was_the_limit([problem])
    unbound = record.model_copy(update={"spec": documents.spec(cores=())})
    judged = validity.assess(unbound)
    assert judged.word == "valid" and "waited for a core 30% of the time" in judged.warnings[0]
    assert validity.assess(unbound, placement="shared") == FINE


def test_a_very_short_trial_is_not_judged_by_the_engines_share_of_its_cores() -> None:
    busy = probed(threads=(documents.thread(0.95),), engine=documents.probe(0.95))
    assert validity.assess(busy).word == "engine-limited"
    moment = busy.model_copy(update={"measured_ns": 1_000_000})
    assert engine_limits.used_up_problem(moment, own=True) is None
    assert engine_limits.starved_problem(moment, own=True) is None


def test_waiting_for_a_core_is_a_warning() -> None:
    assert validity.assess(probed(threads=(documents.thread(0.5, waited_share=0.04),))) == FINE
    warning = the_warning(probed(threads=(documents.thread(0.5, waited_share=0.06),)))
    assert warning.startswith("a thread of the engine waited for a core 6% of the time (limit 5%)")
    assert not engine_limits.may_have_been_the_limit([warning])


def test_a_thread_at_its_limit_on_shared_cores_is_a_warning() -> None:
    record = probed(threads=(documents.thread(0.9),))
    warning = the_warning(record, placement="shared")
    assert "used 90% of a core (limit 85%)" in warning and engine_limits.may_have_been_the_limit([warning])


def test_a_spinning_engine_is_judged_by_its_lateness_alone() -> None:
    probes = documents.record().probes
    busy = probes.model_copy(update={"engine": documents.probe(1.0), "threads": (documents.thread(1.0),)})
    record = open_load({1_000: 20_000})
    spinning = record.model_copy(
        update={"probes": busy, "spec": record.spec.model_copy(update={"pacing": "spin"})}
    )
    assert validity.assess(spinning, placement="separate") == FINE


def test_a_spinning_engine_cannot_be_judged_in_a_closed_shape() -> None:
    record = documents.record(spec=documents.spec(pacing="spin"))
    assert the_warning(record).startswith("how busy the engine was is not known")


def test_one_thread_cannot_use_more_than_one_of_its_cores() -> None:
    record = probed(engine=documents.probe(0.95))
    several = record.model_copy(update={"spec": documents.spec(cores=(1, 2, 3), threads=3)})
    assert engine_limits.engine_share(several) == pytest.approx(0.95), "only one of its threads came to send"


def test_a_record_without_readings_of_the_engine_is_not_valid() -> None:
    engine = documents.probe(0.5).model_copy(update={"window": None})
    assert "could not be read" in the_problem(probed(engine=engine), "engine-limited")
    unseen = probed(engine=engine, threads=()).model_copy(update={"spec": documents.spec(cores=())})
    assert validity.assess(unseen).word == "engine-limited"


@pytest.mark.parametrize(("late", "missed"), [(99, False), (101, True)])
def test_an_engine_that_sends_late_missed_its_schedule(late: int, missed: bool) -> None:
    judged = validity.assess(open_load({20_000: 20_000 - late, 2_000_000: late}), placement="separate")
    assert judged.word == ("schedule-missed" if missed else "valid")
    assert not missed or judged.problems[0].endswith("or let it spin")


def test_with_an_objective_lateness_is_compared_with_its_limits() -> None:
    busy = open_load({20_000: 19_000, 8_000_000: 1_000}, response_ns=10_000_000)
    assert validity.assess(busy, placement="separate").word == "schedule-missed"
    warning = the_warning(busy, asked={0.99: 250_000_000})
    assert warning.startswith("the engine was late at times: 5% of the requests")


def test_lateness_only_in_the_tail_is_a_warning() -> None:
    warning = the_warning(open_load({20_000: 19_950, 5_000_000: 50}))
    assert "so p99.9 of the response times is not the server's alone" in warning


def test_late_wake_ups_after_a_pause_are_judged_in_a_closed_shape_too() -> None:
    record = open_load({20_000: 19_000, 5_000_000: 1_000}, response_ns=1_200_000)
    paused = documents.spec(shape=contract.ClosedShapeSpec(connections=32, pause_ms=2.0))
    late = record.model_copy(update={"spec": paused})
    assert "the engine was late: 5%" in the_problem(late, "engine-limited")


def test_a_closed_shape_without_known_due_times_cannot_miss_a_schedule() -> None:
    assert documents.record().histograms.engine_lateness.count == 0
    assert validity.assess(documents.record()) == FINE


def test_lateness_caused_by_a_missing_core_says_so() -> None:
    late = open_load({20_000: 19_000, 5_000_000: 1_000})
    probes = documents.record().probes.model_copy(update={"threads": (documents.thread(0.2, 0.3),)})
    problem = the_problem(late.model_copy(update={"probes": probes}), "schedule-missed")
    assert problem.endswith(
        "its thread waited for a core 30% of the time: keep other programs off the engine's cores"
    )


def test_waiting_for_a_core_is_judged_by_lateness_in_an_open_shape() -> None:
    probes = documents.record().probes.model_copy(update={"threads": (documents.thread(0.1, 0.8),)})
    in_time = open_load({20_000: 20_000}).model_copy(update={"probes": probes})
    assert "waited for a core 80% of the time (limit 5%)" in the_warning(in_time)


def _starved(ran: float, waited: float, held_share: float, **changes: Any) -> contract.TrialRecord:
    """A closed trial with an engine bound to no core; answers lay unread for `held_share` of the time."""
    times = documents.histogram({round(3_200_000 * (1 - held_share)): 20_000})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    held = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=round(20_000 * 3_200_000 * held_share))
    made = {"histograms": histograms, "arrivals": held, "spec": documents.spec(cores=())}
    return probed(threads=(documents.thread(ran, waited),)).model_copy(update=made | changes)


@pytest.mark.parametrize(
    ("waited", "held", "starved"), [(0.66, 0.4, True), (0.49, 0.4, False), (0.66, 0.19, False)]
)
def test_an_engine_kept_from_its_core_by_others_is_named_so(
    waited: float, held: float, starved: bool
) -> None:
    record = _starved(0.2, waited, held)
    judged = validity.assess(record)
    assert judged.word == ("engine-limited" if starved else "valid")
    if starved:
        assert judged.problems == (
            "a thread of the engine waited for a core 66% of the time (limit 50%), and connections for the "
            "engine 40% (limit 20%): keep other programs off the engine's cores",
        )
        assert judged.warnings == (), "it is said already"
    assert validity.assess(record, placement="shared").word == "valid"


@pytest.mark.parametrize(
    ("waited", "held", "starved"), [(0.21, 0.21, True), (0.19, 0.3, False), (0.3, 0.19, False)]
)
def test_on_separate_cores_an_engine_should_not_wait_for_a_core(
    waited: float, held: float, starved: bool
) -> None:
    record = _starved(0.2, waited, held, spec=documents.spec())
    judged = validity.assess(record, placement="separate", server_cores=(0,))
    assert judged.word == ("engine-limited" if starved else "valid")
    assert not starved or "waited for a core 21% of the time (limit 20%)" in judged.problems[0]


def test_without_readings_of_unread_answers_waiting_for_a_core_is_enough() -> None:
    by_itself = contract.ArrivalRecord(clock="engine", unstamped=0, held_ns=0)
    spec = documents.spec(cores=(), kernel_timestamps=False)
    judged = validity.assess(_starved(0.2, 0.66, 0.0, arrivals=by_itself, spec=spec))
    assert judged.word == "engine-limited" and "and response times hold that" in judged.problems[0]


def test_a_starved_engine_is_not_called_faulty() -> None:
    record = _starved(0.2, 0.66, 0.4)
    short = record.histograms.model_copy(update={"response_time": documents.histogram({1_700_000: 20_000})})
    judged = validity.assess(record.model_copy(update={"histograms": short}))
    assert judged.word == "engine-limited" and len(judged.problems) == 1
    less = _starved(0.2, 0.3, 0.1)
    short = less.histograms.model_copy(update={"response_time": documents.histogram({2_700_000: 20_000})})
    judged = validity.assess(less.model_copy(update={"histograms": short}))
    assert judged.word == "not-valid"
    assert "30.2 of 32 connections (limit 2% off); its thread waited for a core 30%" in judged.problems[0]


def test_a_throughput_near_the_engines_ceiling_is_a_warning() -> None:
    near, far = Ceiling(throughput_per_s=14_000), Ceiling(throughput_per_s=14_500)
    assert validity.assess(documents.record(), ceiling=far) == FINE
    warning = the_warning(documents.record(), ceiling=near)
    assert "71.4% (limit 70%) of the 14,000 /s" in warning
    assert engine_limits.may_have_been_the_limit(["another", warning])


def test_a_ceiling_that_is_only_a_lower_bound() -> None:
    bound = {"at_least": True, "why": "other programs used 34% of the CPU during the measurement"}
    assert validity.assess(documents.record(), ceiling=Ceiling(throughput_per_s=14_500, **bound)) == FINE
    warning = the_warning(documents.record(), ceiling=Ceiling(throughput_per_s=5_000, **bound))
    assert warning == (
        "how near the engine came to its ceiling is not known, which is 5,000 /s or more: other programs "
        "used 34% of the CPU during the measurement; measure again on a calm machine"
    )
    assert not engine_limits.may_have_been_the_limit([warning])


def test_no_throughput_is_reported_as_more_than_the_ceiling() -> None:
    warning = the_warning(documents.record(), ceiling=Ceiling(throughput_per_s=9_500))
    assert warning.startswith("the throughput is 100% (limit 70%) of the 9,500 /s")


def test_a_ceiling_that_could_not_be_measured_is_reported() -> None:
    unknown = Ceiling(throughput_per_s=None, why="the null server does not start")
    assert "not known: the null server does not start" in the_warning(documents.record(), ceiling=unknown)


def test_unread_answers_are_a_warning_in_a_closed_shape() -> None:
    histograms = documents.record().histograms
    times = documents.histogram({2_400_000: 20_000})
    held = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=20_000 * 800_000)
    record = documents.record(
        histograms=histograms.model_copy(update={"response_time": times}), arrivals=held
    )
    warning = the_warning(record)
    assert "waited to be opened, for 25% of the time (limit 20%)" in warning
    assert engine_limits.may_have_been_the_limit([warning])
    assert validity.assess(open_load({1_000: 20_000}).model_copy(update={"arrivals": held})) == FINE


@pytest.mark.parametrize(
    ("clock", "unstamped", "said"),
    [
        ("kernel", 199, ""),
        ("kernel", 2_000, "10% of the answers had no stamp of the kernel's"),
        ("engine", 20_000, "the kernel stamped no answer"),
    ],
)
def test_another_clock_than_the_one_asked_for_is_reported(clock: Any, unstamped: int, said: str) -> None:
    record = documents.record(arrivals=contract.ArrivalRecord(clock=clock, unstamped=unstamped, held_ns=0))
    if said:
        assert said in the_warning(record)
    else:
        assert validity.assess(record) == FINE
    target = contract.Target(address="unix:/run/it", host="it")
    for spec in (documents.spec(kernel_timestamps=False), documents.spec(target=target)):
        assert validity.assess(record.model_copy(update={"spec": spec})) == FINE


def test_a_spinning_engine_is_judged_by_its_lateness_after_pauses_too() -> None:
    paused = contract.ClosedShapeSpec(connections=32, pause_ms=2.0)
    record = open_load({1_000: 20_000}, response_ns=1_200_000)
    spinning = record.model_copy(update={"spec": documents.spec(shape=paused, pacing="spin")})
    assert validity.assess(spinning, placement="separate", server_cores=(0,)) == FINE


def test_a_queue_before_a_server_that_closes_connections_is_the_servers() -> None:
    """One worker serves 100/s at 10 ms a request and gets 200/s: the engine opens each connection in time."""
    queued = documents.histogram({1_900_000_000: 900, 2_000_000_000: 100})
    update = {
        "engine_lateness": documents.histogram({30_000: 980, 900_000: 20}),
        "lateness": queued,
        "response_time": queued,
        "service_time": documents.histogram({10_000_000: 1_000}),
        "connect_time": documents.histogram({200_000: 1_000}),
    }
    record = documents.record(
        spec=documents.spec(shape=OPEN, connection="per-request"),
        measured_ns=10_000_000_000,
        scheduled=2_000,
        outcomes=documents.outcomes(ok=1_000, unfinished=50, not_sent=950),
        not_sent=documents.not_sent(too_late=950),
        connections_opened=1_050,
        connections_closed_by_server=1_000,
        users=50,
        requests=(),
        histograms=documents.record().histograms.model_copy(update=update),
    )
    assert validity.assess(record, placement="separate", server_cores=(0,)).word == "valid"
    assert validity.assess(record).problems == ()


def test_waiting_to_open_connections_counts_as_the_engines() -> None:
    times = documents.histogram({2_400_000: 20_000})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    waited = documents.record(histograms=histograms, users_waited_ns=20_000 * 800_000)
    assert "waited to be opened, for 25% of the time" in the_warning(waited)


def test_connections_that_never_sent_a_request_are_reported() -> None:
    shape = contract.ClosedShapeSpec(connections=32)
    times = documents.histogram({2_000_000: 20_000})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    by_number = documents.spec(shape=shape, stop=contract.RequestsStopSpec(requests=20_000, within_s=9))
    record = documents.record(users=20, histograms=histograms)
    said = "only 20 of the 32 connections had a request, for "
    warning = the_warning(record.model_copy(update={"spec": by_number}))
    assert warning.startswith(f"{said}its requests were all sent before")
    assert the_problem(record, "engine-limited").startswith(f"{said}the trial was over before")
    paused = documents.spec(shape=contract.ClosedShapeSpec(connections=32, pause_ms=9_000))
    assert engine_limits.unopened_problem(record.model_copy(update={"spec": paused})) is None, "they paused"


@pytest.mark.parametrize(("measured_ns", "said"), [(2_000_000, False), (100_000_000, True)])
def test_a_load_of_milliseconds_shows_nothing_of_the_engine(measured_ns: int, said: bool) -> None:
    """One slice of another program is 30 % of a load of 20 requests, and nothing of a longer one."""
    times = documents.record().histograms
    response = times.response_time.model_copy(update={"count": 20, "mean_ns": measured_ns / 20})
    waited = documents.thread(0.9, waited_share=0.3, measured_ns=measured_ns)
    short = probed(threads=(waited,)).model_copy(
        update={
            "measured_ns": measured_ns,
            "histograms": times.model_copy(update={"response_time": response}),
            "arrivals": contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=measured_ns),
        }
    )
    for rule in (
        engine_limits.waited_warning,
        engine_limits.unattended_warning,
        engine_limits.thread_share_warning,
    ):
        assert bool(rule(short)) is said, rule
