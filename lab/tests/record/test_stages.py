"""The mean response time by stages: known truths, what cannot be told, and how often intervals are right."""

import contextlib
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import documents
import numpy as np
import pytest
from crumple import contract, engine
from crumple.record import stages
from crumple.record.flow import Flow, StageTime
from crumple.record.stages import Budget, NoBudget
from made_stages import MEASURED_NS, MS, RESPONSE_MS, WARM_UP_NS, readings, record

ROOT = Path(__file__).resolve().parents[3]


def told(read: contract.StageRecord, **changes: Any) -> Budget:
    """The budget of a record that has one."""
    found = stages.budget(record(read, **changes))
    assert isinstance(found, Budget), found
    return found


def test_numbers_that_differ_by_their_last_digit_are_the_same() -> None:
    # 49 of 64 in flight were drawn, and all of these were there, or 64 were: 49 × (64 / 49) is not quite 64.
    numbers = [49 * (64 / 49), 64.0] * 30
    assert len(set(numbers)) == 2
    flow, part = Flow(documents.record(), 8), StageTime("inside", 100.0, 99.0, 101.0, 60.0)
    found = flow.with_room(part, numbers, part)
    assert (found.low_ns, found.high_ns) == (pytest.approx(95.0), pytest.approx(105.0))


def why_not(read: contract.StageRecord, **changes: Any) -> str:
    """Why the record has no budget."""
    found = stages.budget(record(read, **changes))
    assert isinstance(found, NoBudget), found
    return found.why


def times_ms(found: Budget) -> dict[str, float]:
    """The mean time at each stage, in ms."""
    return {part.name: round(part.mean_ns / MS, 6) for part in found.parts if part.mean_ns}


def test_each_stage_takes_its_share_of_the_time() -> None:
    found = told(readings([{"not_accepted": 8, "unread": 4, "inside": 20}] * 60))
    assert times_ms(found) == {"not_accepted": 0.8, "unread": 0.4, "inside": 2.0}
    assert found.measured_ns == RESPONSE_MS * MS
    assert found.sum_ns == pytest.approx(RESPONSE_MS * MS)
    assert (found.readings, found.late_ns) == (60, 60_000)
    assert found.cost_cores == pytest.approx(60 * 0.1 / 2_000)


def test_where_only_some_are_drawn_they_stand_for_all() -> None:
    found = told(readings([{"unread": 3, "inside": 1}] * 60, in_flight=[32] * 60))
    assert times_ms(found) == {"unread": 2.4, "inside": 0.8}


def test_a_reading_counts_by_the_requests_in_flight() -> None:
    # Half of the time 62 requests wait, half of the time 2 are inside: all but a thirty-second of the time.
    rows = [{"unread": 62}, {"inside": 2}] * 50
    assert times_ms(told(readings(rows))) == {"unread": 3.1, "inside": 0.1}


def test_where_nothing_is_in_flight_nothing_takes_time() -> None:
    assert times_ms(told(readings([{"inside": 64}, {}] * 50))) == {"inside": 3.2}


def test_a_reading_that_finds_none_of_those_in_flight_says_nothing() -> None:
    rows = [{"unread": 16, "inside": 16}] * 60 + [{}] * 20
    found = told(readings(rows, in_flight=[32] * 80))
    assert times_ms(found) == {"unread": 1.6, "inside": 1.6}
    nothing = why_not(readings([{}] * 60, in_flight=[32] * 60))
    assert nothing == "too few of the readings found a request in flight"


def test_the_warm_up_and_what_comes_after_the_window_do_not_count() -> None:
    outside = [{"not_accepted": 32}] * 20
    rows = [*outside, *[{"inside": 32}] * 60, *outside]
    within = [WARM_UP_NS + MEASURED_NS * row // 60 for row in range(60)]
    after = [WARM_UP_NS + MEASURED_NS + row for row in range(20)]
    at_ns = [*range(0, WARM_UP_NS, WARM_UP_NS // 20), *within, *after]
    assert times_ms(told(readings(rows, at_ns))) == {"inside": 3.2}


def test_what_ended_meanwhile_is_a_part_of_its_own() -> None:
    found = told(readings([{"inside": 28, "thrown_away": 4}] * 60))
    assert times_ms(found) == {"inside": 2.8, "unknown": 0.4}


def test_an_answer_that_has_arrived_is_not_on_the_way_back() -> None:
    # Of the 0.4 ms on the way back, answers lay 0.3 ms unread in the engine's sockets.
    arrivals = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=20_000 * 300_000)
    found = told(readings([{"inside": 31, "returning": 4}] * 60), arrivals=arrivals)
    assert times_ms(found) == {"inside": 3.1, "returning": 0.1}
    assert found.sum_ns == pytest.approx(RESPONSE_MS * MS)
    more = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=20_000 * 500_000)
    assert told(readings([{"inside": 31, "returning": 4}] * 60), arrivals=more).part("returning").mean_ns == 0


def test_in_an_open_shape_a_request_is_due_before_it_is_sent() -> None:
    # The response time of 3.2 ms is 1.2 ms of lateness, 0.2 ms of which are for opening the connection.
    # Connections that the warm-up opened, and those of requests sent again, took 3 ms each. They are in no
    # lateness.
    def times(mean_ms: float) -> contract.HistogramRecord:
        return contract.HistogramRecord(
            count=20_000, min_ns=1, mean_ns=mean_ms * MS, max_ns=9_000_000, encoded="HISTFAAA"
        )

    plain = documents.record().histograms
    histograms = plain.model_copy(
        update={"lateness": times(1.2), "connect_time": times(3.2), "service_time": times(2.0)}
    )
    rows = [{"not_accepted": 2, "inside": 20}] * 60
    # Of the 22,032 that were scheduled, 2,000 found no connection in time: they are in no time.
    found = told(
        readings(rows),
        histograms=histograms,
        scheduled=22_032,
        outcomes=documents.outcomes(ok=20_000, unfinished=32, not_sent=2_000),
        not_sent=documents.record().not_sent.model_copy(update={"too_late": 2_000}),
        requests_waited_ns=20_032 * MS,
    )
    assert times_ms(found) == {"due": 1.0, "not_accepted": 0.2, "inside": 2.0}
    assert found.sum_ns == pytest.approx(found.measured_ns)


def test_time_that_requests_spent_outside_the_window_is_shared_out() -> None:
    # Answers took 3.2 ms. All 32 in flight at the end had been asked for 90 ms: 0.144 ms for each of 20,000.
    unfinished = contract.HistogramRecord(
        count=32, min_ns=90 * MS, mean_ns=90.0 * MS, max_ns=90 * MS, encoded="HISTFAAA"
    )
    histograms = documents.record().histograms.model_copy(update={"unfinished_age": unfinished})
    within_ms = RESPONSE_MS + 32 * 90 / 20_000
    # 10 in flight are a millisecond for each. A quarter of them is unread.
    rows = [{"unread": 8, "inside": 24}] * 60 + [{"unread": 9, "inside": 27}] * 47
    found = told(readings(rows), histograms=histograms)
    seen_ms = (32 * 60 + 36 * 47) / 107 / 10
    assert found.sum_ns == pytest.approx(seen_ms * RESPONSE_MS / within_ms * MS)
    assert found.part("inside").mean_ns == pytest.approx(0.75 * found.sum_ns)
    taken = unfinished.model_copy(update={"mean_ns": 180.0 * MS})
    less = told(
        readings([{"inside": 30}] * 60),
        histograms=histograms.model_copy(update={"taken_over": taken}),
    )
    assert less.sum_ns == pytest.approx(3.0 * MS * RESPONSE_MS / (RESPONSE_MS - 32 * 90 / 20_000))


def test_in_an_open_shape_a_queue_that_grows_lengthens_no_other_stage() -> None:
    unfinished = contract.HistogramRecord(
        count=32, min_ns=90 * MS, mean_ns=90.0 * MS, max_ns=90 * MS, encoded="HISTFAAA"
    )
    histograms = documents.record().histograms.model_copy(update={"unfinished_age": unfinished})
    shape = contract.OpenShapeSpec.model_validate(
        {
            "connections": 64,
            "arrivals": "poisson",
            "rates": [{"from_per_s": 1e4, "to_per_s": 1e4, "duration_s": 2.0}],
        }
    )
    found = told(readings([{"inside": 32}] * 60), histograms=histograms, spec=documents.spec(shape=shape))
    assert times_ms(found) == {"inside": 3.2}


def test_requests_that_pile_up_are_not_shared_out() -> None:
    # 32 unfinished that had been asked for 900 ms each: the time in flight is 1.4 times that of answers.
    unfinished = contract.HistogramRecord(
        count=32, min_ns=900 * MS, mean_ns=900.0 * MS, max_ns=900 * MS, encoded="HISTFAAA"
    )
    histograms = documents.record().histograms.model_copy(update={"unfinished_age": unfinished})
    assert "requests pile up" in why_not(readings([{"inside": 46}] * 60), histograms=histograms)


def test_while_the_load_rises_a_reading_counts_for_the_time_around_it() -> None:
    # Three quarters of the readings come in the last quarter of the time, with twice as many in flight.
    early = [WARM_UP_NS + MEASURED_NS * 3 // 4 * row // 20 for row in range(20)]
    late = [WARM_UP_NS + MEASURED_NS * 3 // 4 + MEASURED_NS // 4 * row // 60 for row in range(60)]
    read = readings([{"inside": 26}] * 20 + [{"inside": 52}] * 60, [*early, *late])
    ramp = contract.RampShapeSpec(from_connections=26, to_connections=52, over_s=2.0)
    found = told(read, spec=documents.spec(shape=ramp))
    assert found.sum_ns == pytest.approx((0.75 * 2.6 + 0.25 * 5.2) * MS, rel=0.02)
    assert "pile up" in why_not(read)


def test_failures_take_time_like_answers() -> None:
    outcomes = documents.outcomes(ok=10_000, timeout=10_000)

    def times(mean_ms: float) -> contract.HistogramRecord:
        return contract.HistogramRecord(
            count=10_000, min_ns=1, mean_ns=mean_ms * MS, max_ns=9_000_000, encoded="HISTFAAA"
        )

    plain = documents.record().histograms
    histograms = plain.model_copy(update={"response_time": times(1.4), "timed_out": times(5.0)})
    found = told(readings([{"inside": 32}] * 60), outcomes=outcomes, histograms=histograms)
    assert found.measured_ns == pytest.approx(3.2 * MS)


@pytest.mark.parametrize(
    ("rows", "changes", "why"),
    [
        ([{"inside": 32}] * 49, {}, "49 of the 50 readings that are needed"),
        ([{"inside": 32}] * 60, {"outcomes": documents.outcomes(unfinished=32)}, "no request ended"),
        (
            [{"inside": 48}] * 60,
            {},
            "requests pile up: those that ended took 3.2 ms, and at this rate those in flight take 4.8 ms",
        ),
        ([{"inside": 20}] * 60, {}, "come to 2 ms for each"),
    ],
)
def test_what_cannot_be_told_has_its_reason(
    rows: Sequence[Mapping[str, int]], changes: dict[str, Any], why: str
) -> None:
    assert why in why_not(readings(rows), **changes)


def test_times_of_a_hundred_milliseconds_are_written_out() -> None:
    assert "those in flight take 130 ms (100% inside)" in why_not(readings([{"inside": 1_300}] * 60))


def test_a_window_of_few_response_times_is_too_short() -> None:
    outcomes = documents.outcomes(ok=64)
    times = contract.HistogramRecord(
        count=64, min_ns=1, mean_ns=1_000.0 * MS, max_ns=1_000 * MS, encoded="HISTFAAA"
    )
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    why = why_not(readings([{"inside": 32}] * 60), outcomes=outcomes, histograms=histograms)
    assert why == "requests take so long that it needs a load of 10 s or more"


def test_readings_that_come_late_are_not_at_random() -> None:
    rows = readings([{"inside": 32}] * 60)
    # Requests take 3.2 ms. Half of the readings in time are not enough.
    late = rows.model_copy(update={"late_ns": (50_000,) * 30 + (310_000,) * 26 + (9 * MS,) * 4})
    assert isinstance(stages.budget(record(late)), Budget)
    later = rows.model_copy(update={"late_ns": (50_000,) * 50 + (340_000,) * 10})
    assert "one in ten of the readings came 0.34 ms late or more, and requests take 3.2 ms:" in why_not(later)


def test_readings_that_come_as_late_as_a_core_wakes_are_in_time() -> None:
    # Requests take 0.8 ms, of which 0.08 ms are a tenth.
    rows = readings([{"inside": 8}] * 60)
    times = documents.record().histograms.response_time.model_copy(update={"mean_ns": 0.8 * MS})
    histograms = documents.record().histograms.model_copy(update={"response_time": times})
    cheap = rows.model_copy(update={"cost_ns": (50_000,) * 60, "late_ns": (90_000,) * 60})
    assert isinstance(stages.budget(record(cheap, histograms=histograms)), Budget)
    late = cheap.model_copy(update={"late_ns": (110_000,) * 60})
    assert "came 0.11 ms late or more" in why_not(late, histograms=histograms)
    # What no other load would mend is said first.
    long = late.model_copy(update={"cost_ns": (90_000,) * 60})
    assert "looking some of them up takes 0.09 ms" in why_not(long, histograms=histograms)


def test_what_takes_no_longer_than_ten_readings_is_not_told() -> None:
    rows = readings([{"inside": 32}] * 60)
    assert isinstance(stages.budget(record(rows.model_copy(update={"cost_ns": (310_000,) * 60}))), Budget)
    why = why_not(rows.model_copy(update={"cost_ns": (330_000,) * 60}))
    assert why == "requests take 3.2 ms, and looking some of them up takes 0.33 ms"


def test_readings_that_find_nothing_do_not_make_the_others_shorter() -> None:
    rows = readings([{"inside": 128}, {}, {}, {}] * 25)
    read = rows.model_copy(update={"cost_ns": (330_000, 1_000, 1_000, 1_000) * 25})
    assert "looking some of them up takes 0.33 ms" in why_not(read)


def test_parts_that_do_not_add_up_are_not_told() -> None:
    # By the times 0.5 ms of each answer passed in the engine's sockets, and none was found there.
    arrivals = contract.ArrivalRecord(clock="kernel", unstamped=0, held_ns=20_000 * 500_000)
    why = why_not(readings([{"inside": 37}] * 60), arrivals=arrivals)
    assert why == "answers lay in the engine's sockets for longer than they were found there"


def test_what_the_engine_could_not_read_is_the_reason() -> None:
    why = "not to be read here: 10.0.0.5 is no address of this machine"
    unread = readings([]).model_copy(update={"why": why})
    assert why_not(unread) == why


def test_who_did_not_ask_is_told_nothing() -> None:
    assert stages.budget(record(None)) is None


def test_a_stage_that_was_never_found_may_be_there() -> None:
    never = told(readings([{"inside": 32}] * 100)).part("not_accepted")
    assert (never.mean_ns, never.low_ns) == (0, 0)
    assert never.high_ns == pytest.approx(0.03 * RESPONSE_MS * MS)


def test_readings_that_find_the_same_requests_count_for_fewer() -> None:
    in_a_row = [{"unread": 32}] * 100 + [{"inside": 32}] * 100
    shuffled = [in_a_row[row] for row in np.random.default_rng(1).permutation(200)]
    wide, narrow = told(readings(in_a_row)).part("inside"), told(readings(shuffled)).part("inside")
    assert wide.readings < 10 < 50 < narrow.readings
    assert wide.high_ns - wide.low_ns > 2 * (narrow.high_ns - narrow.low_ns)


# What a worker of the real pool waits before each answer.
WAIT_S = 0.05


def work(listener: socket.socket) -> None:
    """Serve one connection after another, each for one request, until the listener is closed."""
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.recv(65_536)
            time.sleep(WAIT_S)
            connection.sendall(head + b"hello")


@pytest.mark.starts
@pytest.mark.parallel
def test_a_real_pool_of_two_is_seen_as_it_is() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        for _ in range(2):
            threading.Thread(target=work, args=(listener,), daemon=True).start()
        asked = documents.spec(
            target=contract.Target(address=address, host=address),
            requests=(
                documents.request(
                    5, expect=contract.ExpectSpec(status=200, body_bytes=5, body_sha256=None, hash_one_in=0)
                ),
            ),
            shape=contract.ClosedShapeSpec(connections=8),
            stop=contract.DurationStopSpec(duration_s=5.0),
            cores=(),
            probe=contract.ProbeSpec(interval_ms=100, server_pid=None, stages=True),
        )
        found = stages.budget(engine.run(engine.load(ROOT), asked, lambda _: None))
        listener.shutdown(socket.SHUT_RDWR)
    assert isinstance(found, Budget), found
    # Two of eight are served at a time. On a busy machine all times are longer, in the same proportions.
    inside, queued = found.part("inside").mean_ns, found.part("not_accepted").mean_ns
    assert inside >= 0.9 * WAIT_S * 1e9
    assert 2.0 < queued / inside < 4.0
    assert inside + queued > 0.85 * found.measured_ns


def test_a_load_of_a_second_is_told_how_long_it_has_to_be_whatever_its_requests_take() -> None:
    # 1.2 s have four batches of a quarter of a second, and five are needed.
    why = why_not(readings([{"inside": 32}] * 100), measured_ns=1_200 * MS)
    assert why == "a load of 1.2 s is too short: it needs 1.3 s or more"
