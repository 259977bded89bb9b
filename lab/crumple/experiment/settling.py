"""After a load, waits until the server has finished the requests that it had already taken in."""

import time

from crumple import contract
from crumple.experiment.bench import Bench

# A request of the work shows that no queue is left if it is answered within SETTLED_FACTOR times what it
# takes alone, or within LEAST_S. (A light one would not show a queue inside.) WITHIN_S: how long the server
# is waited for at most. Both in seconds.
SETTLED_FACTOR, LEAST_S, WITHIN_S = 3.0, 0.005, 5.0


def settle(bench: Bench, within_s: float = WITHIN_S) -> bool:
    """Ask for the work, again and again, until it is answered soon; return whether it was."""
    limit_ns = 1e9 * max(LEAST_S, SETTLED_FACTOR * bench.alone_s)
    over_s = time.monotonic() + within_s
    while (left_s := over_s - time.monotonic()) > 0:
        stop = contract.RequestsStopSpec(requests=1, within_s=left_s)
        took = bench.put_on(bench.subject.work, 1, stop, None).histograms.response_time
        if took.max_ns is not None and took.max_ns <= limit_ns:
            return True
    return False
