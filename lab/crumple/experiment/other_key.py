"""The work with a key that differs from request to request, in turn with the work as it is.

Where requests for the same session, user, row or shard wait for one another, the throughput rises with
another key for each, up to the next limit; a cache of few keys makes it fall; otherwise it stays. A number
may be an amount and not a key. Then a request alone takes as much less or more time as the throughput rises
or falls.

Nothing is invented: only a part that the request has is varied (`key_parts`). The server may keep something
for each of the `KEYS` keys, as a session store does until it expires; there are no more of them.
"""

from crumple import contract
from crumple.experiment import in_pairs
from crumple.experiment.bench import Bench
from crumple.experiment.key_parts import KeyPart
from crumple.observation.outcome import OtherKey

# How many requests with another key are sent one at a time before the load, and the time within which they
# are, in seconds. They show whether other keys exist, and whether their requests take as long.
ALONE_REQUESTS, ALONE_WITHIN_S = 20, 4.0


def vary_key(bench: Bench, part: KeyPart) -> OtherKey | None:
    """Return what came of it; None: such requests are not answered as the others are."""
    as_it_is_s, varied_s = _alone_s(bench, bench.subject.work), _alone_s(bench, part.requests)
    if as_it_is_s is None or varied_s is None:
        return None
    paired = in_pairs.compare(bench, lambda: bench.per_s(part.requests))
    return None if paired is None else OtherKey(part.name, varied_s / as_it_is_s, paired)


def _alone_s(bench: Bench, requests: tuple[contract.RequestSpec, ...]) -> float | None:
    """Return how long one takes alone, on average; None: one of them is not answered as expected."""
    stop = contract.RequestsStopSpec(requests=ALONE_REQUESTS, within_s=ALONE_WITHIN_S)
    record = bench.put_on(requests, 1, stop, None)
    mean_ns = record.histograms.response_time.mean_ns
    return None if record.outcomes.failed or mean_ns is None else mean_ns / 1e9
