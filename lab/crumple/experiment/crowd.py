"""Crowding out: loads of the work beside connections or requests that need none of it, in turn with it alone.

What is beside it: connections that have sent half a request (`half_sent`), connections that have sent nothing
(`silent`), or requests that only wait (`waiting`).

A worker that waits for one of these serves nobody else. With j of k workers so held, a load that keeps all of
them busy gets (k - j) / k of its answers. Let j requests that wait for s seconds be in flight beside N of the
work, each of which takes R seconds alone. With one queue for both, the workers spend j·s for each N·R, and
the work gets 1 / (1 + j·s / (N·R)) of its answers. A gate inside the program (a lock, a semaphore, a pool of
connections) lets in the work as before: 1. So does a loop, and a server whose cores are the limit.

A server that accepts before it reads may give a silent connection a thread, or a place among those that it
allows: silent ones then take places also where half-sent requests do not, because a loop reads these.

Undone by closing the connections, which is done whatever happens.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from crumple import contract
from crumple.contract import TrialRecord
from crumple.experiment import idle, in_pairs
from crumple.experiment.bench import Bench, answered_per_s
from crumple.load.addresses import port_of
from crumple.observation.outcome import Crowd, LoadPairs

# The share of the places that is held, with which the loss is far beyond what differs between loads; and the
# most connections that are opened for it, as a server may allow few.
SHARE, OTHERS_MAX = 0.25, 16
# The share of the throughput that is left to the work if requests that wait queue with it. It determines how
# many of these are sent.
LEFT_SHARE = 0.6
# How many requests that wait are sent one at a time, to know how long they take alone on average, and the
# time within which they are, in seconds.
ALONE_REQUESTS, ALONE_WITHIN_S = 3, 5.0
# How long requests that wait are sent before the work is measured, and still are after it, in seconds.
AROUND_S = 0.3


def half_sent(bench: Bench, per_s: float | None = None) -> Crowd | None:
    """Return what half-sent requests do to the work; None: they did not come about.

    `per_s`: the throughput of the work, if it is known.
    """
    return _beside_connections(bench, per_s, sends=True)


def silent(bench: Bench, per_s: float | None = None) -> Crowd | None:
    """Return what connections that send nothing do to the work; None: they did not come about."""
    return _beside_connections(bench, per_s, sends=False)


def _beside_connections(bench: Bench, per_s: float | None, *, sends: bool) -> Crowd | None:
    target, request = bench.subject.target, bench.subject.work[0]
    if target.tls is not None or port_of(target.address) is None:
        return None
    others = _number(bench, per_s if per_s is not None else bench.per_s())

    def beside() -> float | None:
        with ExitStack() as stack:
            opened = [each for _ in range(others) if (each := idle.connect(target.address))]
            for each in opened:
                stack.enter_context(each)
            held = idle.send_half(opened, target.host, request) if sends else len(opened)
            if held < others:
                return None
            per_s = bench.per_s()
            # A server that has answered or closed one did not wait for the rest.
            return per_s if all(idle.is_quiet(each) for each in opened) else None

    return _crowd(bench, others, in_pairs.compare(bench, beside))


def waiting(bench: Bench) -> Crowd | None:
    """Return what requests that only wait do to the work; None: there is none, or it is not answered."""
    slow = bench.subject.slow
    if slow is None:
        return None
    stop = contract.RequestsStopSpec(requests=ALONE_REQUESTS, within_s=ALONE_WITHIN_S)
    mean_ns = bench.put_on((slow,), 1, stop, None).histograms.response_time.mean_ns
    if not mean_ns:
        return None
    slow_s = mean_ns / 1e9
    wanted = (1 / LEFT_SHARE - 1) * bench.connections * bench.alone_s / slow_s
    others = min(bench.connections, max(1, math.ceil(wanted)))
    lasting = contract.DurationStopSpec(duration_s=bench.warming_s + bench.load_s + 2 * AROUND_S)
    # They are taken in before the work is: the first of them have come by then.
    later = contract.DurationStopSpec(duration_s=bench.warming_s + AROUND_S)

    def beside() -> float | None:
        with ThreadPoolExecutor(1) as pool:
            slow_ones = pool.submit(bench.put_on, (slow,), others, lasting, None)
            work: TrialRecord = bench.put_on(
                bench.subject.work,
                bench.connections,
                contract.DurationStopSpec(duration_s=bench.load_s),
                later,
            )
            beside_it = slow_ones.result().outcomes
        # Those that are refused do not wait.
        return None if beside_it.failed > beside_it.ok else answered_per_s(work)

    return _crowd(bench, others, in_pairs.compare(bench, beside), slow_s)


def _crowd(bench: Bench, others: int, paired: LoadPairs | None, other_s: float | None = None) -> Crowd | None:
    return None if paired is None else Crowd(others, bench.connections, paired, other_s)


def _number(bench: Bench, per_s: float) -> int:
    """Return how many connections to hold: a part of as many as are served at a time."""
    return min(OTHERS_MAX, max(1, round(SHARE * per_s * bench.alone_s)))
