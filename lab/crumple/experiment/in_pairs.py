"""Loads in pairs, one of which has one thing changed. Drift harms both: which is first alternates."""

from collections.abc import Callable

from crumple.experiment import settling
from crumple.experiment.bench import Bench
from crumple.observation import outcome
from crumple.observation.outcome import LoadPairs

# Whether the load with the change is put on, in each pair.
PAIRS = ((False, True), (True, False)) * 2


def compare(
    bench: Bench, changed: Callable[[], float | None], without: Callable[[], float] | None = None
) -> LoadPairs | None:
    """Return what the change makes of the throughput; None: it was not made, or hardly anything was answered.

    `changed` puts on a load with it, and undoes it; None: it could not be made. `without`: puts on the other
    load; a load of the work, if nothing else is given. The server settles after each.
    """
    found = []
    for pair in PAIRS:
        per_s = {}
        for is_changed in pair:
            rate = changed() if is_changed else (without or bench.per_s)()
            if rate is None:
                return None
            per_s[is_changed] = rate
            settling.settle(bench)
        found.append((per_s[True], per_s[False]))
    return outcome.paired(found)
