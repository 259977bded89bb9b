"""One request at a time, with a pause before each and without, in turn.

A limiter that holds requests back, so that a number of them passes per second, lets a request pass at once
that comes after a pause. So the response time of one request at a time is the limiter's, not the server's.
Everything else takes as long after a pause, or longer, as caches and cores are cold then.

Undone by itself: nothing is held after the requests.
"""

import time

from crumple import contract
from crumple.experiment.bench import Bench
from crumple.observation import outcome
from crumple.observation.outcome import LoadPairs

# How many pairs are compared, how many requests of a pair come after a pause each, and how many come in turn.
PAIRS, SPACED, IN_TURN = 4, 2, 6
# The pause before a request, as a multiple of a response time, and the shortest pause in seconds: after it a
# limiter lets a request pass.
PAUSE_TIMES, PAUSE_S_MIN = 3.0, 0.05
# The time within which the requests after one pause are answered, in seconds; those that are not by then are
# not waited for.
WITHIN_S = 5.0


def space_out(bench: Bench) -> LoadPairs | None:
    """Return the response time after a pause as a part of that without; None: some got no answer."""
    found = []
    for _ in range(PAIRS):
        apart = [_mean_s(bench, 1, max(PAUSE_S_MIN, PAUSE_TIMES * bench.alone_s)) for _ in range(SPACED)]
        in_turn_s = _mean_s(bench, IN_TURN)
        times = [each for each in (*apart, in_turn_s) if each is not None]
        if in_turn_s is None or len(times) <= SPACED:
            return None
        found.append((sum(times[:-1]) / SPACED, in_turn_s))
    return outcome.paired(found)


def _mean_s(bench: Bench, requests: int, pause_s: float = 0.0) -> float | None:
    """Send requests after a pause, one after the other; return the mean of their response times."""
    time.sleep(pause_s)
    stop = contract.RequestsStopSpec(requests=requests, within_s=WITHIN_S)
    first = contract.RequestsStopSpec(requests=1, within_s=WITHIN_S) if requests > 1 else None
    mean_ns = bench.put_on(bench.subject.work, 1, stop, first).histograms.response_time.mean_ns
    return None if not mean_ns else mean_ns / 1e9
