"""Validity: each rule on a record that breaks it alone, and on both sides of its limit.

test_engine_limits tests the rules about the engine itself.
"""

import documents
import pytest
from crumple import contract
from crumple.record import failures, validity
from judged import FINE, OPEN, open_load, probed, the_problem, the_warning


def test_a_correct_record_is_valid_on_any_placement() -> None:
    record = documents.record()
    assert validity.assess(record, placement="separate", server_cores=(0,)) == FINE
    assert validity.assess(record, placement="shared", server_cores=(0, 1)) == FINE
    assert validity.assess(record) == FINE


def test_lost_requests_break_the_identity() -> None:
    problem = the_problem(documents.record(scheduled=20_033), "not-valid")
    assert "20033 scheduled, 20032 ended" in problem and "20000 ok" in problem


def test_lost_requests_of_the_warm_up_break_the_identity() -> None:
    warm_up = documents.record().warm_up.model_copy(update={"scheduled": 1})
    assert "warm-up" in the_problem(documents.record(warm_up=warm_up), "not-valid")


def test_every_answer_has_its_times() -> None:
    record = documents.record(scheduled=20_031, outcomes=documents.outcomes(ok=19_999, unfinished=32))
    assert "20000 response times" in the_problem(record, "not-valid")
    service = documents.histogram({3_200_000: 19_999})
    histograms = open_load({1_000: 20_000}).histograms.model_copy(update={"service_time": service})
    record = documents.record(spec=documents.spec(shape=OPEN), histograms=histograms)
    assert "19999 service times" in the_problem(record, "not-valid")


def test_every_request_that_was_not_sent_has_a_reason() -> None:
    ended = {"scheduled": 20_005, "outcomes": documents.outcomes(ok=20_000, not_sent=5)}
    late = documents.record(**ended, not_sent=documents.not_sent(too_late=5))
    assert validity.assess(late, placement="separate") == FINE
    unexplained = documents.record(**ended, not_sent=documents.not_sent(too_late=4))
    assert the_problem(unexplained, "not-valid") == "5 requests were not sent, but there is a reason for 4"


@pytest.mark.parametrize(
    ("reason", "word", "said"),
    [
        (
            "ports",
            "port-limited",
            "no local port was left for 3 requests (limit 0): connect from more source",
        ),
        ("descriptors", "port-limited", "no descriptor was left for 3 requests (limit 0): raise the hard"),
        ("memory", "not-valid", "no memory for the sockets of 3 requests (limit 0): use fewer"),
        (
            "forbidden",
            "not-valid",
            "forbade the connections of 3 requests (limit 0): allow connections to 127.0.0.1:40001 in its",
        ),
        (
            "route",
            "not-valid",
            "no route for 3 requests (limit 0): correct the address, or add a route to it",
        ),
    ],
)
def test_an_exhausted_resource_is_named_with_a_remedy(reason: str, word: str, said: str) -> None:
    record = documents.record(
        scheduled=20_003,
        outcomes=documents.outcomes(ok=20_000, not_sent=3),
        not_sent=documents.not_sent(**{reason: 3}),
    )
    assert said in the_problem(record, word)


def test_separate_placement_on_one_core_is_not_valid() -> None:
    judged = validity.assess(documents.record(), placement="separate", server_cores=(0, 1))
    assert judged.word == "not-valid" and "shared core 1" in judged.problems[0]


def test_a_server_that_may_use_the_engines_core_is_a_warning() -> None:
    warning = the_warning(documents.record(), placement=None, server_cores=(0, 1))
    assert warning.startswith("the server may run on the engine's core 1 too")
    # On shared cores the waiting does not show whether another program or the server caused it.
    waited = probed(threads=(documents.thread(0.6, waited_share=0.3),))
    assert validity.assess(waited, server_cores=(0, 1)).word == "valid"


def test_cores_of_two_machines_are_two_also_with_one_number() -> None:
    apart = probed(server_machine=documents.record().probes.machine)
    assert validity.assess(apart, placement=None, server_cores=(0, 1)) == FINE


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ("ports", "no local port was left on loader for 5 requests"),
        ("descriptors", "no descriptor was left on loader for 5 requests"),
        ("memory", "the kernel on loader had no memory"),
        ("forbidden", "a rule of loader forbade"),
        ("route", "loader had no route"),
    ],
)
def test_a_load_host_is_named_whose_limit_it_is(lacking: str, said: str) -> None:
    plain = documents.record(load_host="loader")
    ends = plain.outcomes.model_copy(update={"ok": plain.outcomes.ok - 5, "not_sent": 5})
    lacks = plain.model_copy(update={"outcomes": ends, "not_sent": documents.not_sent(**{lacking: 5})})
    assert any(said in problem for problem in validity.assess(lacks).problems)


def test_littles_law_is_checked() -> None:
    times = documents.record().histograms.response_time.model_copy(update={"mean_ns": 9e6})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    assert "Little's law" in the_problem(documents.record(histograms=histograms), "not-valid")


def test_the_cause_decides_the_word() -> None:
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


def test_a_warm_up_that_was_cut_short_is_a_problem() -> None:
    warm_up = contract.WarmUpSpec(
        connections=1, pauses=True, stop=contract.RequestsStopSpec(requests=9_000, within_s=10)
    )
    spec = documents.spec(warm_up=warm_up)
    assert validity.assess(documents.record(spec=spec)) == FINE
    ended = documents.outcomes(ok=5_000, not_sent=4_000)
    cut = contract.WarmUpRecord(scheduled=9_000, outcomes=ended)
    problem = the_problem(documents.record(spec=spec, warm_up=cut), "not-valid")
    assert problem == "the warm-up was cut short: 5,000 of its 9,000 requests within 10 s"


def test_a_record_without_an_answer_is_not_valid() -> None:
    histograms = documents.record().histograms
    record = documents.record(
        scheduled=500,
        outcomes=documents.outcomes(refused=500),
        histograms=histograms.model_copy(update={"response_time": histograms.connect_time}),
    )
    assert the_problem(record, "not-valid") == "no answer was ok; 500 of 500 ended as refused"


def test_more_answers_than_bytes_are_a_problem() -> None:
    assert "fewer than the 260000" in the_problem(documents.record(received_bytes=259_999), "not-valid")


def test_bytes_of_an_answer_may_arrive_before_the_window() -> None:
    histograms = documents.record().histograms
    taken = histograms.model_copy(update={"taken_over": documents.histogram({1_000_000: 32})})
    least = 260_000 - 32 * 13
    assert validity.assess(documents.record(received_bytes=least, histograms=taken)) == FINE
    short = documents.record(received_bytes=least - 1, histograms=taken)
    assert f"fewer than the {least}" in the_problem(short, "not-valid")
    assert "no byte sent" in the_problem(documents.record(sent_bytes=0), "not-valid")


@pytest.mark.parametrize(
    ("requests", "least"),
    [
        ((documents.request(500), documents.request(13)), 260_000),
        ((documents.request(500), documents.request(None)), 0),
        ((documents.request(500), documents.request(500, method="HEAD")), 0),
        ((documents.request(500), documents.request(20)), 400_000),
    ],
)
def test_with_several_requests_the_shortest_answer_is_the_bound(
    requests: tuple[contract.RequestSpec, ...], least: int
) -> None:
    spec = documents.spec(requests=requests)
    enough = documents.record(spec=spec, received_bytes=least)
    assert validity.assess(enough) == FINE
    if least:
        short = documents.record(spec=spec, received_bytes=least - 1)
        assert f"fewer than the {least}" in the_problem(short, "not-valid")


@pytest.mark.parametrize(
    ("retransmitted", "said"),
    [
        ((0, 50, 50, 50, 50, 52, 52), ""),  # the first second is the warm-up
        ((0, 5, 5, 5, 5, 7, 15), "10 TCP segments"),
        ((None, None, 5, None, None, None, 15), "10 TCP segments"),
        ((None, 5, 5, None, None, 16, None), "11 TCP segments"),
        ((None, None), ""),
    ],
)
def test_retransmitted_segments_in_the_window_are_a_warning(
    retransmitted: tuple[int | None, ...], said: str
) -> None:
    record = probed(sockets=documents.sockets(retransmitted))
    if said:
        assert the_warning(record).startswith(said)
    else:
        assert validity.assess(record) == FINE


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"response_time": {1_000_000: 10}}, False),
        # A slow server, whose requests all take long.
        ({"response_time": {400_000_000: 9, 450_000_000: 1}}, False),
        ({"response_time": {1_000_000: 9, 230_000_000: 1}}, True),
        ({"response_time": {1_000_000: 10}, "connect_time": {100_000: 9, 1_020_000_000: 1}}, True),
        ({"response_time": {1_000_000: 10}, "unfinished_age": {220_000_000: 1}}, True),
    ],
)
def test_few_segments_sent_again_are_a_warning_only_if_a_time_shows_one(
    times: dict[str, dict[int, int]], said: bool
) -> None:
    """The kernel counts for all programs, and ten requests are less than one segment in 10,000."""
    known = {"connect_time": {100_000: 10}, "unfinished_age": {}} | times
    made = {name: documents.histogram(counts) for name, counts in known.items()}
    record = probed(sockets=documents.sockets((0, 0, 0, 0, 2)))
    histograms = record.histograms.model_copy(update=made)
    few = record.model_copy(
        update={"histograms": histograms, "scheduled": 10, "outcomes": documents.outcomes(ok=10)}
    )
    assert bool(failures.sent_again_sentence(few)) is said


def test_a_server_that_closes_connections_without_announcing_it_is_said_to() -> None:
    scheduled = documents.record().scheduled
    again = documents.record(retried=scheduled * 43 // 100)
    assert the_warning(again).startswith("43% of the requests met a connection that the server had closed")
    assert not failures.closed_unannounced_sentence(documents.record(retried=scheduled // 100))


@pytest.mark.parametrize(("longest_ns", "said"), [(990_000_000, False), (3_030_000_000, True)])
def test_connects_of_a_second_or_more_indicate_a_full_backlog(longest_ns: int, said: bool) -> None:
    connects = documents.histogram({200_000: 31, longest_ns: 1})
    histograms = documents.record().histograms.model_copy(update={"connect_time": connects})
    again = probed(sockets=documents.sockets((0, 0, 0, 0, 60))).model_copy(update={"histograms": histograms})
    took = "to connect took up to 3.03 s, for the kernel sends a SYN again after 1 s and more"
    assert (took in the_warning(again)) is said


def test_a_process_not_started_for_the_trial_is_a_warning() -> None:
    assert "the same process in every trial" in the_warning(documents.record(), afresh=False)


def test_a_reduced_load_is_reported_first() -> None:
    judged = validity.assess(
        documents.record(), placement="separate", server_cores=(0,), afresh=False, less="9 of the 10 users"
    )
    assert judged.word == "valid" and judged.warnings[0] == "9 of the 10 users"


def test_problems_of_a_canary_leave_the_load_valid() -> None:
    late = open_load({1_000: 10_000, 20_000_000: 10_000})
    assert the_warning(documents.record(), canary=late).startswith("canary: the engine was late: 50%")
    fine = open_load({1_000: 20_000})
    judged = validity.assess(documents.record(), placement="separate", server_cores=(0,), canary=fine)
    assert judged == FINE


def test_a_canary_without_answers_is_not_the_engines_fault() -> None:
    """A canary exists to show such a server, which stalls for the whole window."""
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


def test_a_socket_without_permission_is_named() -> None:
    target = contract.Target(address="unix:/run/it", host="it")
    record = documents.record(
        spec=documents.spec(target=target),
        scheduled=20_001,
        outcomes=documents.outcomes(ok=20_000, not_sent=1),
        not_sent=documents.not_sent(forbidden=1),
    )
    problem = the_problem(record, "not-valid")
    assert problem.endswith("the connections of 1 request (limit 0): let this user write to /run/it")


def test_an_unexpected_answer_is_shown() -> None:
    histograms = documents.record().histograms
    record = documents.record(
        scheduled=500,
        outcomes=documents.outcomes(wrong_status=500),
        requests=(documents.request_record(statuses={415: 480, 401: 20}),),
        histograms=histograms.model_copy(update={"response_time": histograms.connect_time}),
    )
    problem = the_problem(record, "not-valid")
    assert problem == "no answer was ok; 500 of 500 ended as wrong-status (415 × 480, 401 × 20)"


def test_unanswered_users_are_a_warning() -> None:
    outcomes = documents.outcomes(ok=20_000, wrong_status=1_000, unfinished=32)
    seen = documents.request_record(statuses={200: 20_000, 503: 1_000}, outcomes=outcomes)
    failing = documents.record(scheduled=21_032, outcomes=outcomes, requests=(seen,))
    assert the_warning(failing).startswith("4.8% of the requests failed (wrong-status 1,000 (503 × 1,000))")


@pytest.mark.parametrize(
    ("slices", "answered_s", "cut_off_s", "too_long"),
    [
        (4, 0.24, {}, False),
        (4, 0.26, {}, True),
        (4, 0.2, {0.27: 300}, True),
        (4, 0.2, {0.01: 300}, False),
        (1, 0.9, {}, False),
    ],
)
def test_requests_longer_than_half_a_slice_are_not_measured_in_slices(
    slices: int, answered_s: float, cut_off_s: dict[float, int], too_long: bool
) -> None:
    # Two seconds in four slices.
    histograms = documents.record().histograms.model_copy(
        update={
            "response_time": documents.histogram({round(answered_s * 1e9): 200}),
            "unfinished_age": documents.histogram({round(s * 1e9): n for s, n in cut_off_s.items()}),
        }
    )
    turns = (contract.TurnSpec(warm_up_s=0.2, measured_s=2 / slices),) * slices if slices > 1 else ()
    record = documents.record(histograms=histograms)
    judged = validity.assess(
        record.model_copy(update={"spec": record.spec.model_copy(update={"turns": turns})})
    )
    assert any("write longer slices, or none" in problem for problem in judged.problems) is too_long
