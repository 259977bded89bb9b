"""crumple run --cluster: reaches a cluster, and says which of its hosts are alike."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.text import Text

from crumple.cluster import cluster_hosts, cluster_session
from crumple.cluster.cluster_session import Cluster, ClusterSession
from crumple.cluster.cluster_view import ClusterView
from crumple.commands import output
from crumple.run.blocks import Begun
from crumple.run.session import SessionOutlook


@contextmanager
def reached(
    address: str, runs: Sequence[Begun], root: Path, budget_s: float | None, database: str | None
) -> Iterator[tuple[ClusterSession, Callable[..., ClusterView]]]:
    """Reach the cluster at an address until the `with` ends: a session on it, and what makes its view.

    Raises CrumpleError.
    """
    with cluster_session.reached(address, f"crumple {runs[0].file.id}") as cluster:
        labels = {server for begun in runs for server in begun.file.servers}
        costs = any("costs" in begun.file.machine for begun in runs)
        seen = cluster.seen(labels, costs=costs, waiting=_say_waiting)
        for line in cluster_hosts.alike(seen):
            output.say(line)
        yield ClusterSession(runs, root, budget_s, cluster, database), partial(_view, cluster)


def _say_waiting(host: str) -> None:
    output.say(f"waiting for {host}, where another run may be measuring")


def _view(
    cluster: Cluster,
    name: str,
    outlook: Callable[[], SessionOutlook],
    *,
    answer: Callable[[Begun], Text] | None,
) -> ClusterView:
    view = ClusterView(name, outlook, [*cluster.hosts.values()], answer)
    cluster.show(view)
    return view
