"""Where threads sleep: places are told apart by the kernel's names, and read while nobody asks."""

import pytest
from crumple.machine import at_rest
from crumple.machine.at_rest import AtRest
from crumple.observation import places
from made_at_load import threads


@pytest.mark.parametrize(
    ("place", "kinds"),
    [
        ("futex_do_wait", {"lock"}),
        ("locks_lock_inode_wait", {"lock"}),
        ("do_epoll_wait", {"free"}),
        ("poll_schedule_timeout.constprop.0", {"free", "polled"}),
        ("do_wait", {"free"}),
        ("wait_woken", {"receiving"}),
        ("unix_stream_read_generic", {"receiving"}),
        ("kernel_clone", {"no_disk"}),
        ("hrtimer_nanosleep", set()),
    ],
)
def test_a_place_is_of_its_kind_alone(place: str, kinds: set[str]) -> None:
    every = ("lock", "free", "polled", "receiving", "no_disk")
    assert {kind for kind in every if getattr(places, f"is_{kind}")(place)} == kinds


def test_threads_are_counted_where_they_sleep_under_load_and_without() -> None:
    asleep = threads(number=10, places={"wait_woken": 0.4, "futex_do_wait": 0.2, "": 0.4})
    assert places.under_load(asleep, places.is_receiving) == pytest.approx(4)
    assert places.at_rest(AtRest(0.0, 0.0, (), {"wait_woken": 2}), places.is_receiving) == 2
    assert places.at_rest(AtRest(0.0, 0.0), places.is_receiving) is None
    assert places.at_rest(None, places.is_receiving) is None


def test_where_threads_sleep_is_read_while_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_rest, "cpu_ns", lambda _: {(7, 7): 0, (7, 8): 0, (7, 9): 0})
    slept = {7: "do_epoll_wait", 8: "do_epoll_wait", 9: ""}
    monkeypatch.setattr(at_rest, "_place", lambda _, thread: slept[thread])
    found = at_rest.look(7, 0.01)
    assert found is not None and found.places == {"do_epoll_wait": 2}


def test_the_place_of_a_thread_that_has_ended_is_not_known() -> None:
    assert at_rest._place(2**22 + 1, 2**22 + 1) == ""
