"""What a session learns of its hosts, and what arrives from them: stand-ins for Dask's client and futures."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from types import SimpleNamespace
from typing import Any

import pytest
from crumple.cluster import cluster_hosts, cluster_session
from crumple.cluster.cluster_session import Cluster
from crumple.errors import ClusterLost, CrumpleError
from crumple.run.run_file import Host


class Client:
    """Stands in for Dask's. `workers`: address → name; `results`: what each next future does when asked.

    `future_status`: of all futures.
    """

    status, future_status = "running", "pending"

    def __init__(self, *results: Callable[..., Any]) -> None:
        self.workers = {"tls://a": "a", "tls://b": "b"}
        self._results = [*results]

    def scheduler_info(self) -> dict[str, Any]:
        each = {where: {"name": name, "resources": {"crumple": 1}} for where, name in self.workers.items()}
        return {"workers": each}

    def submit(self, *_: object, key: str = "", **__: object) -> Any:
        return SimpleNamespace(key=key, status=self.future_status, result=self._results.pop(0))


@pytest.fixture
def never() -> Iterator[Callable[[], bool]]:
    """What a future does whose result was lost with the last host."""
    over = threading.Event()
    yield over.wait
    over.set()


def _cluster(client: Any) -> Any:
    return Cluster(client, "tls://10.0.0.1:8786", "topic")


def _dealt(client: Client) -> Any:
    """A cluster of which each host has been dealt a block."""
    cluster, order = _cluster(client), SimpleNamespace(model_dump_json=lambda **_: "{}")
    cluster.look()
    for name in client.workers.values():
        cluster.deal(order, name, lambda *_: None)
    return cluster


def _fails(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_a_result_that_was_lost_with_the_last_host_is_not_waited_for(
    never: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_session, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(cluster_session, "NO_HOST_S", 0.05)
    client = Client(never, never)
    cluster = _dealt(client)
    client.workers.clear()
    with pytest.raises(ClusterLost, match="all hosts of the cluster are lost"):
        cluster.take()


def test_what_arrives_meanwhile_is_taken(never: Callable[[], bool]) -> None:
    cluster = _dealt(Client(never, _fails(CrumpleError("b: its disk is full"))))
    with pytest.raises(CrumpleError, match="b: its disk is full"):
        cluster.take()
    assert cluster.busy


def test_results_that_are_cancelled_mean_that_the_scheduler_is_lost(never: Callable[[], bool]) -> None:
    cluster = _dealt(Client(_fails(CancelledError()), never))
    with pytest.raises(ClusterLost, match=r"the scheduler at tls://10\.0\.0\.1:8786 is lost"):
        cluster.take()


HOST = Host(id="b" * 16, machine={}, versions={})
SEEN = SimpleNamespace(name="b", host=HOST, programs={})


def _seen(client: Client, monkeypatch: pytest.MonkeyPatch, waiting: Callable[[str], Any]) -> Any:
    """Look at host b alone, and return what was found."""
    del client.workers["tls://a"]
    monkeypatch.setattr(cluster_hosts, "programs_here", lambda *_: {})
    cluster = _cluster(client)
    assert cluster.seen((), costs=False, waiting=waiting) == [SEEN]
    return cluster.found


def test_a_host_that_is_busy_is_waited_for_and_that_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, told = [TimeoutError(), TimeoutError(), None], list[str]()

    def result(timeout: float) -> Any:
        if error := answers.pop(0):
            raise error
        return SEEN

    assert _seen(Client(result), monkeypatch, told.append) == (HOST,)
    assert told == ["b"] and not answers


def test_a_host_that_is_lost_while_it_is_waited_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def result(timeout: float) -> Any:
        client.workers.clear()
        raise TimeoutError

    client = Client(result)
    with pytest.raises(CrumpleError, match="b is lost; begin again once it has joined"):
        _seen(client, monkeypatch, pytest.fail)


def test_an_error_of_the_look_is_not_taken_for_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def result(timeout: float) -> Any:
        raise TimeoutError

    client = Client(result)
    client.future_status = "error"
    with pytest.raises(TimeoutError):
        _seen(client, monkeypatch, pytest.fail)
