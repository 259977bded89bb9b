"""A single request beside idle connections and without: which of the two decides whether it is answered?"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import documents
import pytest
from crumple.cause.outcome import IdleAgain
from crumple.experiment import idle, idle_again
from crumple.experiment.bench import Bench
from experimenting import served
from test_beside_load import SUBJECT


@pytest.mark.starts
@pytest.mark.parallel
def test_idle_connections_that_hold_the_workers_keep_requests_waiting_both_times() -> None:
    with served("keeps") as bench:
        found = idle_again.asked(bench)
    assert found is not None and found.idle > 4
    assert all(math.isinf(each) for each in found.beside_s)
    assert all(math.isfinite(each) for each in found.without_s)


@pytest.mark.starts
@pytest.mark.parallel
def test_beside_idle_connections_of_a_thread_each_requests_are_answered() -> None:
    with served("free") as bench:
        found = idle_again.asked(bench)
    assert found is not None and found.idle == idle_again.IDLE_CONNECTIONS
    assert all(math.isfinite(each) for each in (*found.beside_s, *found.without_s))


def test_a_server_that_was_not_ready_at_first_answers_later_whatever_is_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, over = [], threading.Event()

    @contextmanager
    def connections(*_: Any) -> Iterator[idle.Idle]:
        yield idle.Idle((1, 2), kept=True)
        over.set()

    def put_on(*_: Any, **__: Any) -> Any:
        asked.append(over.is_set())
        times = documents.record().histograms.response_time
        took = times.model_copy(update={"max_ns": 2_000_000 if len(asked) > 1 else None})
        record = documents.record()
        return record.model_copy(
            update={"histograms": record.histograms.model_copy(update={"response_time": took})}
        )

    monkeypatch.setattr(idle, "connections", connections)
    found = idle_again.asked(Bench(SUBJECT, put_on, 0.02, 32, 0.6))
    assert found == IdleAgain(2, (math.inf, 0.002), (0.002, 0.002))
    assert asked == [False, True, True, True]


def test_over_tls_no_connection_is_held() -> None:
    target = SUBJECT.target.model_copy(update={"tls": documents.contract.Tls(server_name="x")})
    bench = Bench(replace(SUBJECT, target=target), None, 0.02, 32, 0.6)  # type: ignore[arg-type]
    assert idle_again.asked(bench) is None
