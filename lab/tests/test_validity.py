"""Validity: each rule on a record that breaks it alone, and on both sides of its limit."""

from collections.abc import Mapping
from typing import Any

import documents
import pytest
from crumple import contract
from crumple.machine.ceiling import Ceiling
from crumple.record import engine_limits, validity
from crumple.record.validity import Validity

OPEN = contract.OpenShape(
    connections=32, rates=(contract.Rate(from_per_s=10_000, to_per_s=10_000, duration_s=2),)
)


def _found(record: contract.TrialRecord, word: str) -> str:
    """The only problem of a trial that had cores of its own; its word is checked."""
    judged = validity.assess(record, placement="separate", server_cores=(0,))
    assert judged.word == word
    (problem,) = judged.problems
    return problem


def _warning(record: contract.TrialRecord, **known: Any) -> str:
    """The only warning of a trial that is valid."""
    judged = validity.assess(record, **{"placement": "separate", "server_cores": (0,)} | known)
    assert (judged.word, judged.problems) == ("valid", ())
    (warning,) = judged.warnings
    return warning


def _probed(**changes: Any) -> contract.TrialRecord:
    return documents.record(probes=documents.record().probes.model_copy(update=changes))


def _open(late_ns: Mapping[int, int], service_ns: int = 3_200_000) -> contract.TrialRecord:
    """An open trial; `late_ns`: the engine's own lateness → how often."""
    late = documents.histogram(late_ns)
    update = {
        "engine_lateness": late,
        "lateness": late,
        "service_time": documents.histogram({service_ns: 20_000}),
    }
    histograms = documents.record().histograms.model_copy(update=update)
    return documents.record(spec=documents.spec(shape=OPEN), histograms=histograms)


FINE = Validity("valid", (), ())


def test_a_record_without_fault_is_valid_wherever_it_ran() -> None:
    record = documents.record()
    assert validity.assess(record, placement="separate", server_cores=(0,)) == FINE
    assert validity.assess(record, placement="shared", server_cores=(0, 1)) == FINE
    assert validity.assess(record) == FINE


def test_lost_requests_break_the_identity() -> None:
    problem = _found(documents.record(scheduled=20_033), "not-valid")
    assert "20033 scheduled, 20032 ended" in problem and "20000 ok" in problem


def test_lost_requests_of_the_warm_up_do_too() -> None:
    warm_up = documents.record().warm_up.model_copy(update={"scheduled": 1})
    assert "warm-up" in _found(documents.record(warm_up=warm_up), "not-valid")


def test_every_answer_has_its_times() -> None:
    record = documents.record(scheduled=20_031, outcomes=documents.outcomes(ok=19_999, unfinished=32))
    assert "20000 response times" in _found(record, "not-valid")
    service = documents.histogram({3_200_000: 19_999})
    histograms = _open({1_000: 20_000}).histograms.model_copy(update={"service_time": service})
    record = documents.record(spec=documents.spec(shape=OPEN), histograms=histograms)
    assert "19999 service times" in _found(record, "not-valid")


def test_every_request_that_was_not_sent_has_a_reason() -> None:
    ended = {"scheduled": 20_005, "outcomes": documents.outcomes(ok=20_000, not_sent=5)}
    late = documents.record(**ended, not_sent=documents.not_sent(too_late=5))
    assert validity.assess(late, placement="separate") == FINE
    unexplained = documents.record(**ended, not_sent=documents.not_sent(too_late=4))
    assert _found(unexplained, "not-valid") == "5 requests were not sent, but there is a reason for 4"


@pytest.mark.parametrize(
    ("reason", "word", "said"),
    [
        (
            "ports",
            "port-limited",
            "no local port was left for 3 requests (limit 0): connect from more source",
        ),
        ("descriptors", "port-limited", "no descriptor was left for 3 requests (limit 0): raise the limit"),
        ("memory", "not-valid", "no memory for the sockets of 3 requests (limit 0): use fewer"),
    ],
)
def test_what_the_machine_ran_out_of_is_named_with_a_remedy(reason: str, word: str, said: str) -> None:
    record = documents.record(
        scheduled=20_003,
        outcomes=documents.outcomes(ok=20_000, not_sent=3),
        not_sent=documents.not_sent(**{reason: 3}),
    )
    assert said in _found(record, word)


@pytest.mark.parametrize(("share", "limited"), [(0.84, False), (0.86, True)])
@pytest.mark.parametrize("placement", ["separate", None])
def test_an_engine_that_used_its_cores_up_measured_itself(
    share: float, limited: bool, placement: Any
) -> None:
    record = _probed(engine=documents.probe(share))
    judged = validity.assess(record, placement=placement)
    assert judged.word == ("engine-limited" if limited else "valid")
    assert not limited or judged.problems[0].startswith("the engine used 86% of its cores (limit 85%)")
    assert validity.assess(record, placement="shared") == FINE


@pytest.mark.parametrize(("share", "limited"), [(0.84, False), (0.86, True)])
def test_so_did_one_with_a_thread_that_used_up_its_core(share: float, limited: bool) -> None:
    threads = (documents.thread(0.2), documents.thread(share))
    spec = documents.spec(threads=2, cores=(1, 2))
    record = _probed(threads=threads, engine=documents.probe(1.06)).model_copy(update={"spec": spec})
    judged = validity.assess(record, placement="separate")
    assert judged.word == ("engine-limited" if limited else "valid")
    assert not limited or "used its core, or waited for it, 86% of the time" in judged.problems[0]


def test_an_engine_on_any_core_is_judged_by_its_threads() -> None:
    unbound = documents.spec(cores=())
    idle = _probed(engine=documents.probe(0.95)).model_copy(update={"spec": unbound})
    assert validity.assess(idle) == FINE, "its threads were at 45 %"
    busy = _probed(threads=(documents.thread(0.9),)).model_copy(update={"spec": unbound})
    assert validity.assess(busy).word == "engine-limited"
    unseen = _probed(threads=(), engine=documents.probe(0.95)).model_copy(update={"spec": unbound})
    assert validity.assess(unseen).word == "engine-limited"


def test_waiting_for_a_core_of_its_own_is_as_good_as_using_it() -> None:
    record = _probed(threads=(documents.thread(0.6, waited_share=0.3),))
    assert "used its core, or waited for it, 90% of the time" in _found(record, "engine-limited")
    unbound = record.model_copy(update={"spec": documents.spec(cores=())})
    judged = validity.assess(unbound)
    assert judged.word == "valid" and "waited for a core 30% of its time" in judged.warnings[0]
    assert validity.assess(unbound, placement="shared") == FINE


def test_a_core_that_was_not_free_at_once_is_a_warning() -> None:
    assert validity.assess(_probed(threads=(documents.thread(0.5, waited_share=0.04),))) == FINE
    warning = _warning(_probed(threads=(documents.thread(0.5, waited_share=0.06),)))
    assert warning.startswith("a thread of the engine waited for a core 6% of its time (limit 5%)")


def test_a_thread_at_its_limit_on_shared_cores_is_a_warning() -> None:
    record = _probed(threads=(documents.thread(0.9),))
    assert "used 90% of a core (limit 85%)" in _warning(record, placement="shared")


def test_a_spinning_engine_is_judged_by_its_lateness_alone() -> None:
    probes = documents.record().probes
    busy = probes.model_copy(update={"engine": documents.probe(1.0), "threads": (documents.thread(1.0),)})
    record = _open({1_000: 20_000})
    spinning = record.model_copy(
        update={"probes": busy, "spec": record.spec.model_copy(update={"pacing": "spin"})}
    )
    assert validity.assess(spinning, placement="separate") == FINE


def test_a_spinning_engine_cannot_be_judged_in_a_closed_shape() -> None:
    record = documents.record(spec=documents.spec(pacing="spin"))
    assert _warning(record).startswith("how busy the engine was is not known")


def test_one_thread_cannot_use_more_than_one_of_its_cores() -> None:
    record = _probed(engine=documents.probe(0.95))
    several = record.model_copy(update={"spec": documents.spec(cores=(1, 2, 3), threads=3)})
    assert engine_limits.engine_share(several) == pytest.approx(0.95), "only one of its threads came to send"


def test_an_engine_that_was_not_watched_is_not_trusted() -> None:
    engine = documents.probe(0.5).model_copy(update={"window": None})
    assert "could not be read" in _found(_probed(engine=engine), "engine-limited")
    unseen = _probed(engine=engine, threads=()).model_copy(update={"spec": documents.spec(cores=())})
    assert validity.assess(unseen).word == "engine-limited"


def test_separate_on_one_core_is_not_separate() -> None:
    judged = validity.assess(documents.record(), placement="separate", server_cores=(0, 1))
    assert judged.word == "not-valid" and "shared core 1" in judged.problems[0]


def test_a_server_that_may_run_on_the_engines_core_is_a_warning() -> None:
    warning = _warning(documents.record(), placement=None, server_cores=(0, 1))
    assert warning.startswith("the server may run on the engine's core 1 too")
    # Whose the waiting was cannot be told then.
    waited = _probed(threads=(documents.thread(0.6, waited_share=0.3),))
    assert validity.assess(waited, server_cores=(0, 1)).word == "valid"


@pytest.mark.parametrize(
    ("late_ns", "service_ns", "missed"),
    [
        ({20_000: 19_801, 1_100_000: 199}, 3_200_000, False),
        ({20_000: 19_799, 1_100_000: 201}, 3_200_000, True),
        ({20_000: 19_799, 900_000: 201}, 3_200_000, False),
        ({20_000: 19_799, 1_100_000: 201}, 12_000_000, False),
        ({20_000: 19_799, 1_300_000: 201}, 12_000_000, True),
    ],
)
def test_an_engine_that_sends_late_missed_its_schedule(
    late_ns: dict[int, int], service_ns: int, missed: bool
) -> None:
    judged = validity.assess(_open(late_ns, service_ns), placement="separate")
    assert judged.word == ("schedule-missed" if missed else "valid")


def test_how_late_it_was_is_said_with_the_limit() -> None:
    problem = _found(_open({20_000: 19_000, 2_500_000: 1_000}), "schedule-missed")
    assert "p99 of its own lateness is 2.5 ms (limit 1 ms)" in problem and "spin" in problem


def test_of_few_requests_the_highest_quantile_they_carry_is_judged() -> None:
    assert "p90 of its own" in _found(_open({20_000: 169, 1_100_000: 31}), "schedule-missed")
    assert validity.assess(_open({20_000: 189, 1_100_000: 11})) == FINE
    assert validity.assess(_open({1_100_000: 19})) == FINE


def test_lateness_that_only_the_tail_shows_is_a_warning() -> None:
    warning = _warning(_open({20_000: 19_950, 5_000_000: 50}))
    assert "p99.9 of its own lateness is 5 ms (limit 1 ms)" in warning


def test_a_closed_shape_has_no_schedule_to_miss() -> None:
    assert documents.record().histograms.engine_lateness is None
    assert validity.assess(documents.record()) == FINE


def test_littles_law_is_asked() -> None:
    times = documents.record().histograms.response_time.model_copy(update={"mean_ns": 9e6})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    assert "Little's law" in _found(documents.record(histograms=histograms), "not-valid")


def test_the_cause_gives_the_word() -> None:
    record = documents.record(
        scheduled=500,
        outcomes=documents.outcomes(not_sent=500),
        not_sent=documents.not_sent(ports=500),
        histograms=documents.record().histograms.model_copy(
            update={"response_time": documents.histogram({})}
        ),
    )
    judged = validity.assess(record)
    assert judged.word == "port-limited"
    assert "no answer was ok" in judged.problems[1]


def test_a_warm_up_cut_short_is_no_warm_up() -> None:
    warm_up = contract.WarmUp(
        connections=1, pauses=True, stop=contract.AfterRequests(requests=9_000, within_s=10)
    )
    spec = documents.spec(warm_up=warm_up)
    assert validity.assess(documents.record(spec=spec)) == FINE
    ended = documents.outcomes(ok=5_000, not_sent=4_000)
    cut = contract.WarmUpRecord(scheduled=9_000, outcomes=ended)
    problem = _found(documents.record(spec=spec, warm_up=cut), "not-valid")
    assert problem == "the warm-up was cut short: 5,000 of its 9,000 requests within 10 s"


def test_no_answer_is_no_measurement() -> None:
    histograms = documents.record().histograms
    record = documents.record(
        scheduled=500,
        outcomes=documents.outcomes(refused=500),
        histograms=histograms.model_copy(update={"response_time": histograms.connect_time}),
    )
    assert _found(record, "not-valid") == "no answer was ok; 500 of 500 ended as refused"


def test_more_answers_than_bytes_cannot_be() -> None:
    assert "fewer than the 260000" in _found(documents.record(received_bytes=259_999), "not-valid")


def test_of_answers_that_began_before_the_window_some_bytes_may_have_come_before() -> None:
    histograms = documents.record().histograms
    taken = histograms.model_copy(update={"taken_over": documents.histogram({1_000_000: 32})})
    least = 260_000 - 32 * 13
    assert validity.assess(documents.record(received_bytes=least, histograms=taken)) == FINE
    short = documents.record(received_bytes=least - 1, histograms=taken)
    assert f"fewer than the {least}" in _found(short, "not-valid")
    assert "no byte sent" in _found(documents.record(sent_bytes=0), "not-valid")


@pytest.mark.parametrize(
    ("requests", "least"),
    [
        ((documents.request(500), documents.request(13)), 260_000),
        ((documents.request(500), documents.request(None)), 0),
        ((documents.request(500), documents.request(500, method="HEAD")), 0),
        ((documents.request(500), documents.request(20)), 400_000),
    ],
)
def test_of_several_requests_all_may_have_been_the_one_with_the_shortest_answer(
    requests: tuple[contract.Request, ...], least: int
) -> None:
    spec = documents.spec(requests=requests)
    enough = documents.record(spec=spec, received_bytes=least)
    assert validity.assess(enough) == FINE
    if least:
        short = documents.record(spec=spec, received_bytes=least - 1)
        assert f"fewer than the {least}" in _found(short, "not-valid")


def test_near_the_engines_ceiling_is_a_warning() -> None:
    near, far = Ceiling(throughput_per_s=14_000), Ceiling(throughput_per_s=14_500)
    assert validity.assess(documents.record(), ceiling=far) == FINE
    assert "71.4% (limit 70%) of the 14,000 /s" in _warning(documents.record(), ceiling=near)


def test_a_ceiling_that_could_not_be_measured_is_said() -> None:
    unknown = Ceiling(throughput_per_s=None, why="the null server does not start")
    assert "not known: the null server does not start" in _warning(documents.record(), ceiling=unknown)


def test_answers_that_lay_unread_are_a_warning_in_a_closed_shape() -> None:
    histograms = documents.record().histograms
    times = histograms.response_time.model_copy(update={"mean_ns": 2_400_000})
    held = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=20_000 * 800_000)
    record = documents.record(
        histograms=histograms.model_copy(update={"response_time": times}), arrivals=held
    )
    assert "answers lay unread for 25% of the time (limit 20%)" in _warning(record)
    assert validity.assess(_open({1_000: 20_000}).model_copy(update={"arrivals": held})) == FINE


@pytest.mark.parametrize(
    ("clock", "unstamped", "said"),
    [
        ("kernel", 199, ""),
        ("kernel", 2_000, "10% of the answers had no stamp of the kernel's"),
        ("engine", 20_000, "the kernel stamped no answer"),
    ],
)
def test_whose_clock_it_was_is_said_where_it_is_not_the_one_that_was_asked(
    clock: Any, unstamped: int, said: str
) -> None:
    record = documents.record(arrivals=contract.ArrivalRecord(clock=clock, unstamped=unstamped, held_ns=0))
    if said:
        assert said in _warning(record)
    else:
        assert validity.assess(record) == FINE
    target = contract.Target(address="unix:/run/it", host="it")
    for spec in (documents.spec(kernel_timestamps=False), documents.spec(target=target)):
        assert validity.assess(record.model_copy(update={"spec": spec})) == FINE


@pytest.mark.parametrize(
    ("retransmitted", "said"),
    [
        ((0, 5, 5, 5, 5, 7, 7), ""),  # until the first second it was the warm-up
        ((0, 5, 5, 5, 5, 7, 8), "3 TCP segments"),
        ((None, None, 5, None, None, None, 8), "3 TCP segments"),
        ((None, 5, 5, None, None, 9, None), "4 TCP segments"),
        ((None, None), ""),
    ],
)
def test_segments_sent_again_in_the_window_are_a_warning(
    retransmitted: tuple[int | None, ...], said: str
) -> None:
    record = _probed(sockets=documents.sockets(retransmitted))
    if said:
        assert _warning(record).startswith(said)
    else:
        assert validity.assess(record) == FINE


def test_a_process_that_was_there_before_is_said() -> None:
    assert "the same process in every trial" in _warning(documents.record(), afresh=False)


def test_what_of_the_load_there_was_no_room_for_comes_first() -> None:
    judged = validity.assess(
        documents.record(), placement="separate", server_cores=(0,), afresh=False, less="9 of the 10 users"
    )
    assert judged.word == "valid" and judged.warnings[0] == "9 of the 10 users"


def test_what_speaks_against_a_canary_leaves_the_load_valid() -> None:
    late = _open({1_000: 10_000, 20_000_000: 10_000})
    assert _warning(documents.record(), canary=late).startswith("canary: the engine was late: p99")
    fine = _open({1_000: 20_000})
    judged = validity.assess(documents.record(), placement="separate", server_cores=(0,), canary=fine)
    assert judged == FINE


def test_a_canary_that_nobody_answered_is_no_fault_of_the_engines() -> None:
    """A server that stalls for the whole window is what a canary is for."""
    none = documents.histogram({})
    times = {"response_time": none, "service_time": none, "engine_lateness": none, "lateness": none}
    silent = documents.record(
        spec=documents.spec(shape=OPEN),
        scheduled=20,
        outcomes=documents.outcomes(timeout=3, unfinished=17),
        histograms=documents.record().histograms.model_copy(update=times),
    )
    judged = validity.assess(documents.record(), placement="separate", server_cores=(0,), canary=silent)
    assert judged.word == "valid"
    assert judged.warnings == (
        "canary: only 0 of 20 requests were answered, so its median is at least what is given",
    )
