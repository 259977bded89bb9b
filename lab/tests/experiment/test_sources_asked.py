"""Sources are asked while the load is on: a real engine, and a small server whose limit is known."""

from collections.abc import Sequence

import experimenting
import pytest
from asked_servers import needs, until
from crumple.asked.all_sources import Source
from crumple.asked.found import SourceFinding
from crumple.experiment import sources_asked
from crumple.experiment.bench import Bench
from crumple.load.addresses import port_of
from crumple.machine import connection_ends

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def test_a_source_is_asked_while_all_connections_of_the_load_are_open() -> None:
    with experimenting.served("gate") as bench:
        pid, port = bench.subject.pid, port_of(bench.subject.target.address)
        assert pid is not None and port is not None

        def ask(deadline: float) -> SourceFinding:
            return SourceFinding(str(connection_ends.held_by_others(pid, port)))

        assert ask(0.0).shows == "0"
        sources = (Source("held", "count", ask), Source("none", why="missing"))
        # A busy machine may not have opened all of them by then.
        until(lambda: shows(bench, sources) == ["32", "missing"])


def shows(bench: Bench, sources: Sequence[Source]) -> list[str]:
    found = sources_asked.ask(bench, sources)
    assert found.connections == bench.connections == 32
    return [each.shows or each.why for each in found.answers]


@needs("py-spy")
def test_threads_of_python_that_wait_for_a_semaphore_are_counted_with_their_line() -> None:
    with experimenting.served("gate") as bench:
        # Four of 32 are let in at a time. On a busy machine others are on their way, or py-spy is late.
        until(lambda: gated(bench) > 16)


def gated(bench: Bench) -> int:
    """How many threads wait for the gate, by the line where they do; 0: the source was late."""
    (answer,) = sources_asked.ask(bench, sources_asked.sources(bench, ())).answers
    assert not answer.why or "did not answer within" in answer.why
    if answer.why:
        return 0
    assert "limited_server.py:" in answer.parts["gated"].does
    return answer.parts["gated"].number
