"""A load while something of the server is held, in turn with the same load without: → `LoadPairs`."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from crumple.contract import TrialRecord
from crumple.experiment.bench import Bench
from crumple.machine import holding
from crumple.machine.holding import NotHeld, What
from crumple.observation import outcome
from crumple.observation.outcome import LoadPairs, Refused

# In which loads of a pair it is held. Which comes first changes: what drifts harms both alike.
PAIRS = ((False, True), (True, False)) * 2
# The time by which the connections of the load are open, in seconds. Before it a server whose accepting
# thread is stopped answers nothing, whatever limits it.
OPENED_S = 0.1
# How much longer the warm-up is than in other experiments, in seconds: it takes time to start the engine and
# the hold, and until the hold has an effect.
BEGINS_S = 0.4
# The factors by which the warm-up is longer in each try. If all cores are busy, it takes longer until the
# hold begins.
TIMES = (1, 2, 4)


def load_in_pairs(bench: Bench, what: Callable[[int], What]) -> LoadPairs | Refused:
    """Return what the pairs come to. `what`: what is held in the pair of this number.

    It is held from within the warm-up of a load until this is over, and from no load to the next.
    """
    bench = replace(bench, warm_s=bench.warm_s + BEGINS_S)
    try:
        pairs = [_pair(bench, what(number), order) for number, order in enumerate(PAIRS)]
    except NotHeld as failed:
        return Refused(str(failed))
    return outcome.paired(pairs) or Refused("too few loads without it were answered")


def _pair(bench: Bench, what: What, order: tuple[bool, ...]) -> tuple[float, float]:
    """Return the answers per second while it is held, and without. Raises NotHeld."""
    per_s = {is_held: _held(bench, what) if is_held else bench.per_s() for is_held in order}
    return per_s[True], per_s[False]


def _held(bench: Bench, what: What) -> float:
    """Return the answers per second of a load of which all that is measured is while it is held.

    Raises NotHeld.
    """
    for times in TIMES:
        patient = replace(bench, warm_s=times * bench.warm_s)
        with ThreadPoolExecutor(1) as loads:
            load = loads.submit(patient.record)
            time.sleep(patient.warm_s - times * BEGINS_S)
            began_ns = time.time_ns()
            with holding.held(what):
                held_ns = time.time_ns()
                record = load.result()
        if _is_within_warm_up(record, began_ns, held_ns):
            return record.outcomes.ok / (record.measured_ns / 1e9)
    raise NotHeld("the machine is too busy: nothing could be held in time")


def _is_within_warm_up(record: TrialRecord, began_ns: int, held_ns: int) -> bool:
    opened_ns = record.began_unix_ns + OPENED_S * 1e9
    return opened_ns <= began_ns and held_ns <= record.began_unix_ns + record.warm_up_ns
