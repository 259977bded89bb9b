"""A single request beside idle connections, without them, and both once more.

If idle connections hold the server's workers, a request is answered without them and not beside them, both
times. If the server was not ready at first, or had not settled, it is answered from some time on, whatever is
beside it. Where neither is the case all are answered.

Undone by closing the connections, which is done whatever happens.
"""

import math

from crumple import contract
from crumple.cause.outcome import IdleAgain
from crumple.experiment import idle
from crumple.experiment.bench import Bench
from crumple.load.target import port_of

IDLE_CONNECTIONS, TIMES = 24, 2
# A request that is not answered within the first, or within this multiple of what it takes alone, waits for
# something else; none is waited for longer than the last.
ANSWER_S, TURNS, ANSWER_S_MAX = 1.5, 5, 6.0


def asked(bench: Bench) -> IdleAgain | None:
    """Return how long the requests took; None: no connection could be held."""
    target, light = bench.subject.target, bench.subject.light
    if target.tls is not None or port_of(target.address) is None:
        return None
    held, beside_s, without_s = 0, list[float](), list[float]()
    for _ in range(TIMES):
        with idle.connections(target.address, target.host, light, IDLE_CONNECTIONS) as opened:
            held = len(opened.ports)
            beside_s.append(_took_s(bench))
        without_s.append(_took_s(bench))
    return IdleAgain(held, tuple(beside_s), tuple(without_s)) if held else None


def _took_s(bench: Bench) -> float:
    """Send one request, and return how long it took; infinite: it was not answered as expected."""
    within_s = min(ANSWER_S_MAX, max(ANSWER_S, TURNS * bench.alone_s))
    stop = contract.AfterRequests(requests=1, within_s=within_s)
    took = bench.put_on((bench.subject.light,), 1, stop, None).histograms.response_time
    return took.max_ns / 1e9 if took.max_ns is not None else math.inf
