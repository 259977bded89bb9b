"""The work with a connection for each request, in turn with connections that are kept.

If a connection that is kept holds a worker, the others of that load get no answer, and all get one if each
request has its own. Opening connections takes the server's and the client's CPU time: where that is the
limit, the throughput falls; where something else is, it stays.

Undone by itself: nothing is held after a load.
"""

from crumple.cause.outcome import Closed
from crumple.experiment import in_pairs
from crumple.experiment.bench import Bench, answered_per_s


def closed(bench: Bench) -> Closed | None:
    """Return what came of it; None: each request has a connection of its own already."""
    if bench.subject.options.connection == "per-request":
        return None
    unanswered = 0

    def kept() -> float:
        nonlocal unanswered
        record = bench.record()
        unanswered = max(unanswered, record.users_unanswered)
        return answered_per_s(record)

    paired = in_pairs.compared(bench, lambda: bench.per_s(connection="per-request"), kept)
    return None if paired is None else Closed(paired, unanswered)
