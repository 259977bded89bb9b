"""The work one request at a time, for long enough to see how long each waits for what the server asks.

A pool of connections and what is behind it look alike under load. The dependency is the limit if a request
waits for it longer than alone.
"""

from collections.abc import Mapping

from crumple import contract
from crumple.cause import one_by_one
from crumple.experiment.bench import Bench

# Readings come some fifteen times a second.
FOR_S = 4.0


def waits_s(bench: Bench) -> Mapping[str, float] | None:
    """Return for what a request waits, for how many seconds; None: none was answered."""
    stop = contract.AfterDuration(duration_s=FOR_S)
    found = one_by_one.alone(bench.put_on(bench.subject.work, 1, stop, None), "")
    return None if found is None else found.waits_s
