"""What a session learns of its hosts, and what arrives from them: stand-ins for Dask's client and futures."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from types import SimpleNamespace
from typing import Any

import pytest
from crumple.cluster import cluster_session
from crumple.cluster.cluster_session import Cluster
from crumple.errors import ClusterLost, CrumpleError


class Client:
    """Stands in for Dask's. `workers`: address → name; `results`: what each next future does when asked."""

    status = "running"

    def __init__(self, *results: Callable[..., Any]) -> None:
        self.workers = {"tls://a": "a", "tls://b": "b"}
        self._results = [*results]

    def scheduler_info(self) -> dict[str, Any]:
        each = {where: {"name": name, "resources": {"crumple": 1}} for where, name in self.workers.items()}
        return {"workers": each}

    def submit(self, *_: object, key: str = "", **__: object) -> Any:
        return SimpleNamespace(key=key, result=self._results.pop(0))


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
