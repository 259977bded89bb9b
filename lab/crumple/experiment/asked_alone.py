"""The work one request at a time, for long enough to see how long each waits for what the server asks.

A pool of connections and what is behind it look alike under load. The dependency is the limit if a request
waits for it longer than alone.
"""

from collections.abc import Mapping

from crumple import contract
from crumple.experiment.bench import Bench
from crumple.observation import loaded

# How long the connections of the server are read, in seconds: some twelve times a second.
FOR_S = 4.0


def waits_s(bench: Bench) -> Mapping[str, float] | None:
    """Return for what a request waits, for how many seconds on average; None: none was answered.

    By Little's law it is how many connections wait for an answer, divided by the requests per second.
    """
    stop = contract.DurationStopSpec(duration_s=FOR_S)
    load = loaded.from_record(bench.put_on(bench.subject.work, 1, stop, None), bench.subject.cores)
    if not load.per_s:
        return None
    return {each.address: each.waiting / load.per_s for each in load.peers or () if each.waiting}
