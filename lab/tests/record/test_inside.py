"""The stage *inside*, divided: known truths, what cannot be told, and that its pieces add up."""

from collections.abc import Sequence

import made_inside
import made_stages
import pytest
from crumple.contract import TrialRecord, Unread
from crumple.documents.parts_of_documents import BudgetData
from crumple.drawing.numerals import NARROW
from crumple.record import inside, stages
from crumple.record.budget_of_starts import budget_of_starts
from crumple.record.flow import StageTime
from crumple.record.inside import Divided, NotDivided
from crumple.record.stages import Budget
from crumple.words import time_sentences
from hypothesis import given
from hypothesis import strategies as st
from made_waits import DATABASE, UNREAD, watched

MS = 1_000_000


def told(record: TrialRecord) -> Budget:
    found = stages.budget(record)
    assert isinstance(found, Budget), found
    return found


def pieces_ms(record: TrialRecord) -> dict[str, float]:
    """The pieces inside that take any time, in ms."""
    found = told(record).inside
    assert isinstance(found, Divided), found
    return {piece.words: round(piece.mean_ns / MS, 6) for piece in found.pieces if piece.mean_ns}


def why_not(record: TrialRecord) -> str:
    found = told(record).inside
    assert isinstance(found, NotDivided), found
    return found.why


def test_each_piece_takes_its_part_of_the_time_inside() -> None:
    record = watched(
        user=2.0,
        kernel=1.0,
        threads=[(3, 4, 0)] * 60,
        run_queue_ns=10_000_000_000,
        waits={DATABASE: [(6, 2, 0)] * 40},
    )
    assert pieces_ms(record) == {
        "user CPU": 0.2,
        "kernel CPU": 0.1,
        "ready to run": 0.5,
        "disk": 0.4,
        f"waiting for {DATABASE}": 0.6,
        "otherwise inside": 0.2,
    }


def test_threads_that_wake_up_to_read_a_request_may_be_ready_outside() -> None:
    # Ready for 0.5 ms per request: all of it inside, or before the request was read, which took 1.2 ms.
    for unread, low_ms in ((UNREAD, 0.0), (2, 0.3)):
        rows = [(5, 0, 0)] * 60
        found = told(watched(threads=rows, run_queue_ns=10_000_000_000, inside=32 - unread)).inside
        assert isinstance(found, Divided)
        ready = next(piece for piece in found.pieces if piece.name == "ready")
        assert ready.mean_ns == pytest.approx(0.5 * MS)
        assert ready.low_ns == pytest.approx(low_ms * MS, abs=1)


def test_of_some_threads_that_were_looked_at_the_others_are_like_them() -> None:
    rows = [(0, 2, 0)] * 60
    record = watched(threads=rows, looked=(4,) * 60)
    assert pieces_ms(record) == {"disk": 0.4, "otherwise inside": 1.6}


def test_a_reading_stands_for_the_time_until_the_next_one() -> None:
    # Half of the readings, which cover a quarter of the time, found 8 connections waiting.
    record = watched(waits={DATABASE: [(8, 0, 0), (0, 8, 0)] * 30})
    assert record.probes.dependencies
    at_ns = [1_000_000_000 + 2_000_000_000 * n // 30 + late for n in range(30) for late in (0, 16_666_667)]
    sparse = record.probes.dependencies.model_copy(update={"at_ns": tuple(at_ns)})
    uneven = record.model_copy(update={"probes": record.probes.model_copy(update={"dependencies": sparse})})
    assert pieces_ms(record)[f"waiting for {DATABASE}"] == pytest.approx(0.4, rel=0.01)
    assert pieces_ms(uneven)[f"waiting for {DATABASE}"] == pytest.approx(0.2, rel=0.01)


def test_otherwise_inside_may_include_dependencies_that_no_connection_leads_to() -> None:
    record = watched(waits={DATABASE: [(4, 0, 0)] * 40})
    assert record.probes.dependencies
    unread = (
        Unread(field="udp", why="it has UDP sockets open"),
        Unread(field="waiting", why="an old kernel"),
    )
    unseen = record.probes.dependencies.model_copy(update={"unread": unread})
    probes = record.probes.model_copy(update={"dependencies": unseen})
    found = told(record.model_copy(update={"probes": probes})).inside
    assert isinstance(found, Divided)
    assert [each.why for each in found.untold if each.name == "dependency"] == ["it has UDP sockets open"]


def test_what_a_dependency_takes_is_open_upwards_where_connections_with_it_were_missed() -> None:
    record = watched(waits={DATABASE: [(0, 3, 1)] * 40, "127.0.0.1:6379": [(4, 0, 0)] * 40})
    assert record.probes.dependencies
    unread = (
        Unread(
            field="peers",
            why=f"{DATABASE}: 900 connections with it were closed: how many waited is not known",
        ),
        Unread(field="peers", why="127.0.0.1:3: 9 connections with it were closed"),
    )
    brief = record.probes.dependencies.model_copy(update={"unread": unread})
    probes = record.probes.model_copy(update={"dependencies": brief})
    found = told(record.model_copy(update={"probes": probes})).inside
    assert isinstance(found, Divided)
    pieces = {piece.of or piece.name: piece for piece in found.pieces}
    whole_ms = sum(piece.mean_ns for piece in found.pieces) / MS
    assert pieces[DATABASE].mean_ns == 0 and pieces[DATABASE].high_ns / MS >= whole_ms
    assert pieces["127.0.0.1:6379"].high_ns / MS < whole_ms
    assert pieces["otherwise"].low_ns == 0 < pieces["otherwise"].mean_ns
    assert [each.why for each in found.untold if each.name == "dependency"] == [
        f"{DATABASE}: 900 connections with it were closed: how many waited is not known"
    ]


def test_a_dependency_is_called_by_its_program_if_no_other_is_called_so() -> None:
    waits = {DATABASE: [(2, 0, 0)] * 40, "127.0.0.1:6379": [(1, 0, 0)] * 40}
    record = watched(waits=waits)
    assert record.probes.dependencies
    first, second = record.probes.dependencies.peers
    named = first.model_copy(update={"listener": made_inside.LISTENER})
    also = second.model_copy(update={"listener": made_inside.LISTENER})
    for peers, words in (
        ((named, second), {"waiting for database", "waiting for 127.0.0.1:6379"}),
        ((named, also), {f"waiting for {DATABASE}", "waiting for 127.0.0.1:6379"}),
    ):
        changed = record.probes.dependencies.model_copy(update={"peers": peers})
        probes = record.probes.model_copy(update={"dependencies": changed})
        assert words <= set(pieces_ms(record.model_copy(update={"probes": probes})))


def test_a_process_of_the_server_itself_is_not_waited_for() -> None:
    # What it does for the request is counted already: here it waits for a disk.
    record = watched(threads=[(0, 6, 0)] * 60, waits={"unix:/run/pool": [(8, 0, 0)] * 40})
    waits = record.probes.dependencies
    assert waits

    def seen(*, own: bool) -> dict[str, float]:
        listener = made_inside.LISTENER.model_copy(update={"own": own})
        pool = waits.peers[0].model_copy(update={"listener": listener})
        changed = waits.model_copy(update={"peers": (pool,)})
        probes = record.probes.model_copy(update={"dependencies": changed})
        return pieces_ms(record.model_copy(update={"probes": probes}))

    assert seen(own=False)["waiting for database"] == 0.8
    assert seen(own=True) == {"disk": 0.6, "otherwise inside": 1.4}


def test_a_handler_of_several_threads_is_not_divided() -> None:
    why = why_not(watched(user=30.0))
    assert why.startswith("a request takes 3 ms of CPU time and is inside for 2 ms: several threads")
    # One thread does not compute at two places.
    plain = watched(user=30.0)
    server = plain.probes.server
    assert server is not None and server.window is not None
    window = server.window.model_copy(update={"threads_max": 1})
    probes = plain.probes.model_copy(update={"server": server.model_copy(update={"window": window})})
    why = why_not(plain.model_copy(update={"probes": probes}))
    assert "threads" not in why and why.endswith("it is inside for less time than these readings show")


def test_cpu_time_before_and_after_the_stage_takes_all_of_it_at_most() -> None:
    # A loop reads, computes and writes: a little of its CPU time is not of this stage.
    record = watched(user=0.7, inside=6)
    assert pieces_ms(record) == {"user CPU": 0.07, "otherwise inside": 0.53}
    assert pieces_ms(watched(user=6.5, inside=6)) == {"user CPU": 0.6}


def test_more_than_the_requests_that_are_inside_do_something_else() -> None:
    disk = told(watched(threads=[(0, 60, 0)] * 60, looked=(8,) * 60)).inside
    assert isinstance(disk, Divided)
    (untold,) = disk.untold
    assert untold.name == "disk" and untold.why.startswith("more threads wait for a disk than requests are")
    crowd = told(watched(waits={DATABASE: [(64, 0, 0)] * 40})).inside
    assert isinstance(crowd, Divided)
    (untold,) = crowd.untold
    assert untold.why.startswith(
        f"more connections to {DATABASE} wait for an answer than requests are inside"
    )
    assert [piece.name for piece in crowd.pieces if piece.mean_ns] == ["otherwise"]


def test_pieces_that_come_to_more_than_the_whole_are_not_told() -> None:
    record = watched(user=14.0, waits={DATABASE: [(14, 0, 0)] * 40})
    why = why_not(record)
    assert "is inside for 2 ms, and what the server does in that time comes to more" in why
    assert f"waiting for {DATABASE} 1.4 ms" in why


def test_readings_that_all_found_the_same_number_leave_room_for_what_they_did_not_find() -> None:
    def waiting(numbers: list[tuple[int, int, int]]) -> StageTime:
        found = told(watched(waits={DATABASE: numbers})).inside
        assert isinstance(found, Divided)
        return next(each for each in found.pieces if each.name == "dependency")

    same = waiting([(2, 0, 0)] * 40)
    assert same.low_ns == pytest.approx((1 - 3 / 40) * same.mean_ns)
    assert same.high_ns == pytest.approx((1 + 3 / 40) * same.mean_ns)
    # Of those that vary, the means of the batches tell.
    varied = waiting([(1, 0, 0), (2, 0, 0), (2, 0, 0), (3, 0, 0)] * 10)
    assert varied.mean_ns == pytest.approx(same.mean_ns) and varied.low_ns > same.low_ns


def test_connections_of_which_it_is_not_known_widen_the_interval() -> None:
    found = told(watched(waits={"unix:/run/db": [(2, 0, 6)] * 40})).inside
    assert isinstance(found, Divided)
    piece = next(each for each in found.pieces if each.name == "dependency")
    otherwise = found.pieces[-1]
    assert piece.mean_ns == pytest.approx(0.2 * MS) and piece.high_ns == pytest.approx(0.815 * MS)
    assert otherwise.mean_ns == pytest.approx(1.8 * MS)
    assert otherwise.low_ns == pytest.approx(1.185 * MS, rel=0.02)
    assert "of 6.0 connections to unix:/run/db it is not known" in found.untold[0].why


def test_what_could_not_be_read_is_part_of_the_rest_and_has_its_reason() -> None:
    record = watched(user=2.0, run_queue_ns=None)
    found = told(record)
    assert isinstance(found.inside, Divided)
    assert [each.name for each in found.inside.untold] == ["ready"]
    assert record.probes.tasks
    nothing = record.probes.tasks.model_copy(update={"why": "not to be read here"})
    found = told(record.model_copy(update={"probes": record.probes.model_copy(update={"tasks": nothing})}))
    line = time_sentences.by_stages(found).replace(NARROW, " ")
    assert line.endswith("; otherwise inside may include ready to run and disk (not to be read here)"), line


def test_what_threads_do_that_are_too_brief_to_be_read_is_not_told_as_none() -> None:
    # A thread for each request computes for a core's time in all. A fifth of it is of threads that were read.
    record = watched(user=1.0, run_queue_ns=50 * MS, cores=0.2)
    found = told(record)
    assert isinstance(found.inside, Divided)
    assert [(each.name, each.why) for each in found.inside.untold] == [
        (name, "threads that ended before they were read used 80% of its CPU time")
        for name in ("ready", "disk")
    ]
    assert {piece.name for piece in found.pieces} >= {"user", "otherwise"}


def test_threads_that_wait_for_a_lock_in_the_kernel_wait_for_no_disk() -> None:
    doubt = Unread(field="disk", why="no thread of this machine waited for a disk")
    record = watched(user=1.0, threads=[(0, 4, 0)] * 60, unread=(doubt,))
    found = told(record)
    assert isinstance(found.inside, Divided)
    assert [(each.name, each.why) for each in found.inside.untold] == [("disk", doubt.why)]
    assert pieces_ms(record) == {"user CPU": 0.1, "otherwise inside": 1.9}


@pytest.mark.parametrize(("of", "is_known"), [(0.96, True), (0.25, False)])
def test_a_late_first_reading_does_not_make_cpu_time_less(of: float, is_known: bool) -> None:
    record = watched(user=2.0, kernel=1.0)
    server = record.probes.server
    assert server and server.window
    less = {
        name: round(of * getattr(server.window, name)) for name in ("span_ns", "cpu_user_ns", "cpu_kernel_ns")
    }
    late = server.model_copy(update={"window": server.window.model_copy(update=less)})
    record = record.model_copy(update={"probes": record.probes.model_copy(update={"server": late})})
    if is_known:
        found = pieces_ms(record)
        assert (found["user CPU"], found["kernel CPU"]) == (0.2, 0.1)
    else:
        why = "its two readings lie 500 ms apart, and the measured phase took 2.00 s (limit 5% off)"
        assert told(record).not_divided.replace(NARROW, " ").startswith(why)


def test_too_few_ticks_do_not_tell_user_and_kernel_time_apart() -> None:
    assert pieces_ms(watched(user=0.01, kernel=0.01)) == {"CPU": 0.002, "otherwise inside": 1.998}


def test_who_did_not_ask_is_told_nothing() -> None:
    record = watched(user=1.0)
    probes = record.probes.model_copy(update={"tasks": None, "dependencies": None})
    found = told(record.model_copy(update={"probes": probes}))
    assert found.inside is None and found.pieces == found.parts
    unwatched = record.probes.model_copy(update={"server": None})
    assert told(record.model_copy(update={"probes": unwatched})).inside is None


def test_the_line_and_the_data_have_the_pieces() -> None:
    found = told(watched(user=2.0, kernel=1.0, waits={DATABASE: [(6, 2, 0)] * 40}))
    line = time_sentences.by_stages(found).replace(NARROW, " ")
    parts = ["unread", "user CPU", "kernel CPU", f"waiting for {DATABASE}", "otherwise inside"]
    assert [part.rsplit(" ", 2)[0] for part in line.partition(", of ")[0].split(" · ")] == parts
    written = BudgetData.of(found).model_dump()
    assert written and set(written["parts"]) == {part.name for part in found.parts}
    drawn = [(each["name"], each["of"]) for each in written["pieces"]]
    assert ("dependency", DATABASE) in drawn and ("inside", "") not in drawn
    assert "inside is not divided: a request takes" in time_sentences.by_stages(told(watched(user=30.0)))


number = st.integers(0, 32)


@pytest.mark.long
@given(
    inside=st.lists(st.integers(0, 32), min_size=60, max_size=60),
    user=st.floats(0, 12),
    kernel=st.floats(0, 12),
    threads=st.lists(st.tuples(number, number, number), min_size=60, max_size=60),
    run_queue_ns=st.integers(0, 60_000_000_000),
    waits=st.lists(st.tuples(number, number, number), min_size=30, max_size=30),
    more=st.lists(st.tuples(number, number, number), min_size=30, max_size=30),
)
def test_pieces_add_up_and_none_is_longer_than_the_whole(
    inside: list[int],
    user: float,
    kernel: float,
    threads: list[tuple[int, int, int]],
    run_queue_ns: int,
    waits: list[tuple[int, int, int]],
    more: list[tuple[int, int, int]],
) -> None:
    record = watched(
        user=user,
        kernel=kernel,
        threads=threads,
        run_queue_ns=run_queue_ns,
        waits={DATABASE: waits, "127.0.0.1:1": more},
    )
    rows = [{"inside": each, "unread": 32 - each} for each in inside]
    read = made_stages.readings(rows)
    found = told(record.model_copy(update={"probes": record.probes.model_copy(update={"stages": read})}))
    whole = found.part("inside")
    assert found.inside is not None
    assert sum(part.mean_ns for part in found.pieces) == pytest.approx(found.sum_ns)
    if isinstance(found.inside, NotDivided):
        assert found.pieces == found.parts
        return
    assert sum(piece.mean_ns for piece in found.inside.pieces) == pytest.approx(whole.mean_ns, abs=1e-6)
    for piece in found.inside.pieces:
        assert 0 <= piece.low_ns <= piece.mean_ns <= piece.high_ns
        assert piece.mean_ns <= whole.mean_ns * (1 + 1e-9)


def starts(users: Sequence[float]) -> Budget:
    found = budget_of_starts([told(watched(user=user, waits={DATABASE: [(6, 2, 0)] * 40})) for user in users])
    assert found is not None
    return found


def test_over_starts_the_interval_is_that_of_their_means() -> None:
    found = starts([1.0, 2.0, 3.0])
    assert isinstance(found.inside, Divided)
    user = found.inside.pieces[0]
    # Means of 0.1, 0.2 and 0.3 ms: the standard error is 0.0577 ms, and Student's t is 4.303.
    assert user.mean_ns == pytest.approx(0.2 * MS)
    assert user.high_ns == pytest.approx((0.2 + 4.303 * 0.1 / 3**0.5) * MS, rel=1e-3)
    assert sum(piece.mean_ns for piece in found.inside.pieces) == pytest.approx(found.part("inside").mean_ns)
    assert found.inside.pieces[-1].name == "otherwise"
    assert found.readings == 180


def test_of_few_starts_the_interval_is_that_within_them() -> None:
    one, two = starts([2.0]), starts([2.0, 2.0])
    assert one == told(watched(user=2.0, waits={DATABASE: [(6, 2, 0)] * 40}))
    wide, narrow = (found.part("inside").high_ns - found.part("inside").low_ns for found in (one, two))
    assert narrow <= wide
    assert budget_of_starts([]) is None


def test_of_two_starts_that_differ_the_interval_has_both() -> None:
    found = starts([1.0, 3.0])
    assert isinstance(found.inside, Divided)
    user = found.inside.pieces[0]
    assert user.mean_ns == pytest.approx(0.2 * MS)
    assert user.low_ns <= 0.1 * MS * (1 + 1e-9) and user.high_ns >= 0.3 * MS * (1 - 1e-9)


def test_starts_of_which_one_is_not_divided_are_not_divided() -> None:
    found = starts([2.0, 2.0, 30.0]).inside
    assert isinstance(found, NotDivided) and found.why.startswith("in 1 of 3 starts: a request takes 3 ms")


def test_starts_that_wait_for_different_ones_add_up_too() -> None:
    records = [
        watched(user=user, waits={address: [(6, 2, 0)] * 40})
        for user, address in ((2.0, DATABASE), (0.001, DATABASE), (2.0, "127.0.0.1:9"))
    ]
    found = budget_of_starts([told(record) for record in records])
    assert found and isinstance(found.inside, Divided)
    assert sum(piece.mean_ns for piece in found.inside.pieces) == pytest.approx(found.part("inside").mean_ns)
    waits = {piece.of: piece.mean_ns for piece in found.inside.pieces if piece.name == "dependency"}
    assert waits == pytest.approx({DATABASE: 0.4 * MS, "127.0.0.1:9": 0.2 * MS})
    assert [piece.name for piece in found.inside.pieces].count("cpu") == 1


def test_that_only_what_is_asked_by_udp_is_unseen_is_told() -> None:
    record = watched(waits={DATABASE: [(4, 0, 0)] * 40})
    assert record.probes.dependencies
    udp, unix = (
        Unread(field="udp", why="it has UDP sockets open"),
        Unread(field="unix", why="not readable"),
    )
    for unread, wanted in (((udp,), udp.why), ((udp, unix), ""), ((unix,), ""), ((), "")):
        seen = record.probes.dependencies.model_copy(update={"unread": unread})
        assert inside.unseen_by_udp_only(seen) == wanted
