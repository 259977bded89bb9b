"""Sources are asked while the load is on: a real engine, and a small server whose limit is known."""

import experimenting
import pytest
from asked_servers import needs
from crumple.asked.all_sources import Source
from crumple.asked.found import Found
from crumple.experiment import sources_asked
from crumple.load.target import port_of
from crumple.machine import connection_ends

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def test_a_source_is_asked_while_all_connections_of_the_load_are_open() -> None:
    with experimenting.served("gate") as bench:
        pid, port = bench.subject.pid, port_of(bench.subject.target.address)
        assert pid is not None and port is not None

        def ask(deadline: float) -> Found:
            return Found(str(connection_ends.held_by_others(pid, port)))

        assert ask(0.0).shows == "0"
        found = sources_asked.answered(bench, (Source("held", "count", ask), Source("none", why="missing")))
    held, missing = found.answers
    assert (found.connections, held.shows, missing.why) == (bench.connections, "32", "missing")


@needs("py-spy")
def test_threads_of_python_that_wait_for_a_semaphore_are_counted_with_their_line() -> None:
    with experimenting.served("gate") as bench:
        found = sources_asked.answered(bench, sources_asked.sources(bench, ()))
    (answer,) = found.answers
    gated = answer.parts["gated"]
    # Four of 32 are let in at a time; some may be on their way.
    assert 20 <= gated.number <= 28 and "limited_server.py:" in gated.does
