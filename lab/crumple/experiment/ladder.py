"""A ladder of loads: short ones with more and more requests in flight, and what each comes to.

If at most k requests are served at a time, the throughput rises to k requests in flight, and stays there. Of
a server that takes R for a request alone and holds a pool of n for h of it, k is n·R/h; a lock is a pool of
one. Where the cores are the limit, it stays from as many requests on as there are cores. Where requests spin,
thrash or wait for garbage to be collected, it falls. Where requests fail or get no answer, it says from which
step on.

Undone by itself: nothing is held after a step. Before the next one the server works off what it had taken in.
"""

import math
import time

from crumple.experiment import settling, throughput
from crumple.experiment.bench import Bench
from crumple.observation.outcome import IN_FLIGHT_MOST, Ladder, LadderStep
from crumple.record import windows

# How many requests are in flight in each step.
NUMBERS = (1, 2, 3, 4, 6, 8, 16, 64, IN_FLIGHT_MOST)
# The least number in flight that is also put on if the throughput no longer rises: such steps show whether it
# falls.
LARGE = 64
# The least rise of the throughput over its highest value so far, as a share of that, with which a step gains;
# and the number of steps in a row without a gain after which the throughput no longer rises.
GAINS_SHARE, FLAT_STEPS = 0.05, 2
# What a step takes besides its load, in seconds: to start the engine, and to see that the server has settled.
BESIDE_S = 0.4


def climb(bench: Bench, within_s: float = math.inf) -> Ladder:
    """Put the loads on, lowest first.

    Those are left out that would take longer than what is left, and those of which the server would work off
    what is in flight for longer than it is waited for: they would answer few, and harm what follows.
    """
    over_s = time.monotonic() + within_s
    steps: list[LadderStep] = []
    for number in NUMBERS:
        worked_off_s = _worked_off_s(bench, number, steps)
        takes_s = bench.warming_s + bench.load_s + BESIDE_S + worked_off_s
        has_time = worked_off_s <= settling.WITHIN_S and time.monotonic() + takes_s <= over_s
        if has_time and (number >= LARGE or not _is_flat(steps)):
            steps.append(_step(bench, number))
            settling.settle(bench)
    return Ladder(tuple(steps))


def _step(bench: Bench, number: int) -> LadderStep:
    record = bench.record(connections=number)
    found = throughput.rate(record)
    return LadderStep(
        connections=number,
        per_s=found.per_s,
        sd=found.sd,
        mean_s=(record.histograms.response_time.mean_ns or 0.0) / 1e9,
        failed=record.outcomes.failed,
        unanswered=record.users_unanswered,
        cores=windows.cores(record, windows.server(record)),
    )


def _worked_off_s(bench: Bench, number: int, steps: list[LadderStep]) -> float:
    """Return how long the server works on `number` requests, by the throughput of the last step."""
    if not steps:
        return number * bench.alone_s
    return number / steps[-1].per_s if steps[-1].per_s else math.inf


def _is_flat(steps: list[LadderStep]) -> bool:
    if len(steps) <= FLAT_STEPS:
        return False
    before = max(each.per_s for each in steps[:-FLAT_STEPS])
    return all(each.per_s <= (1 + GAINS_SHARE) * before for each in steps[-FLAT_STEPS:])
