"""Which threads, and processes, of a server are alike, and which is the busiest."""

from crumple.experiment import one_thread
from crumple.experiment.one_thread import ServerThread

LOOP, LOGGER = ServerThread(7, 7, "web", 900), ServerThread(7, 8, "audit", 5_000)
POOL = tuple(ServerThread(7, 10 + number, f"exec-{number}", 100 + 10 * number) for number in range(4))
ALL = tuple(sorted((LOOP, LOGGER, *POOL), key=lambda each: -each.cpu_ns))


def test_threads_of_one_name_but_for_numbers_are_alike() -> None:
    assert {*one_thread.alike(ALL)} == {*POOL}


def test_the_first_thread_of_a_process_is_no_worker_though_it_has_their_name() -> None:
    first = ServerThread(7, 7, "exec-0", 105)
    assert {*one_thread.alike((first, *POOL))} == {*POOL}


def test_a_thread_that_uses_far_more_or_nothing_or_is_of_another_process_is_not_alike() -> None:
    for other in (
        ServerThread(7, 20, "exec-9", 900),
        ServerThread(7, 20, "exec-9", 0),
        ServerThread(6, 20, "exec-9", 105),
    ):
        assert {*one_thread.alike((*POOL, other))} == {*POOL}


def test_the_busiest_is_that_which_used_most_and_none_if_none_used_anything() -> None:
    assert one_thread.busiest(ALL) == (LOGGER,)
    assert one_thread.busiest((ServerThread(7, 7, "web", 0),)) == ()
    assert one_thread.busiest(()) == one_thread.alike(()) == one_thread.alike_processes(()) == ()
