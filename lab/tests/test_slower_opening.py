"""Connections at once and slowly: a short queue makes those late that come at once."""

from pathlib import Path

import pytest
from crumple.experiment import slower_opening
from crumple.machine import listen_queue
from experimenting import served

CONNECTIONS = 64


@pytest.mark.starts
@pytest.mark.parallel
def test_a_short_queue_makes_connections_late_that_come_at_once() -> None:
    """It takes in 200 a second: slowly, 32 a second come."""
    with served("queue") as bench:
        at_once, slowly = slower_opening.opened(bench, CONNECTIONS)
    assert at_once.late + at_once.unanswered > CONNECTIONS / 4
    assert slowly.late + slowly.unanswered < (at_once.late + at_once.unanswered) / 2
    # Other servers of the machine may overflow as well.
    assert at_once.overflows is not None and at_once.overflows > CONNECTIONS / 4
    assert at_once.drops is not None and at_once.drops >= at_once.overflows


@pytest.mark.starts
@pytest.mark.parallel
def test_workers_leave_as_many_unanswered_however_slowly_they_come() -> None:
    with served("keeps") as bench:
        at_once, slowly = slower_opening.opened(bench, CONNECTIONS)
    assert at_once.late == slowly.late == 0
    assert at_once.unanswered == slowly.unanswered == CONNECTIONS - 4


def test_the_counters_are_those_of_the_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts\nTcpExt: 0 17 19 5\n"
        "IpExt: InNoRoutes ListenOverflows\nIpExt: 1 2\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda self: text if str(self) == "/proc/7/net/netstat" else "")
    assert listen_queue.counted(7) == listen_queue.Counted(17, 19)


def test_of_a_process_that_has_ended_nothing_is_counted() -> None:
    assert listen_queue.counted(2**22 + 1) is None
