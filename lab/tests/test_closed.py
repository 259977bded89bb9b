"""A connection for each request: workers that a kept connection holds answer all; a gate answers as many."""

from dataclasses import replace

import pytest
from crumple.cause.outcome import Closed
from crumple.experiment import closed
from crumple.load.engine_spec import Options
from experimenting import agrees, served
from tried import until_shown

# What tells the two servers apart is whether all are answered.
SD_MAX = 0.15
pytestmark = pytest.mark.starts


def test_kept_connections_that_hold_workers_leave_others_unanswered() -> None:
    """The four workers answer as many: each request takes one for 20 ms."""

    def compared() -> Closed | None:
        with served("keeps") as bench:
            found = closed.closed(bench)
        assert found is not None and agrees(found.paired, 1.0, SD_MAX)
        return found

    found = until_shown(compared)
    assert found is not None and found.unanswered == 28


def test_at_a_gate_all_are_answered_either_way() -> None:
    def compared() -> Closed | None:
        with served("gate") as bench:
            found = closed.closed(bench)
        assert found is not None and agrees(found.paired, 1.0, SD_MAX)
        return found

    found = until_shown(compared)
    assert found is not None and found.unanswered == 0


def test_where_each_request_has_a_connection_already_nothing_is_compared() -> None:
    with served("gate") as bench:
        subject = replace(bench.subject, options=Options(connection="per-request"))
        assert closed.closed(replace(bench, subject=subject)) is None
