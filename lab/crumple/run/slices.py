"""Split one trial's load into turns: parts of the warm-up, then slices. Pure.

All servers of a block have equally many turns, and each turn is short, so that none is suspended for long
between its warm-up and its last slice. When each server warmed up in one go, the others were suspended for up
to 20 seconds, and an event loop then answered 17 % less than in one long load.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

from crumple import contract
from crumple.contract import TrialSpec

# A part of a warm-up takes a second at most, and a tenth of one at least: users connect first.
WARM_UP_PART_S, WARM_UP_PART_MIN_S = 1.0, 0.1
# Load before each slice, in seconds, that counts as warm-up: users connect, caches fill, clock frequencies
# rise. After 0.1 s a single event loop still answered 3 to 6 % less than in one long window. The length is
# drawn between 0.2 and 0.3 s, so that the slices do not all begin at the same phase of a periodic task of the
# server.
REWARM_S = (0.2, 0.3)


@dataclass(frozen=True)
class Turns:
    """How many turns of load each trial of a block has: parts of its warm-up, and slices."""

    warm_up: int
    measured: int


def turns(warm_ups_s: Iterable[float], measured: int) -> Turns:
    """Return the turns of a block whose servers warm up for `warm_ups_s`.

    The longest warm-up determines how many turns the warm-up has: each has no more than WARM_UP_PART_S of it.
    """
    longest_s = max(warm_ups_s, default=0.0)
    return Turns(math.ceil(longest_s / WARM_UP_PART_S - 1e-9), measured)


def in_turns(whole: TrialSpec, number: Turns) -> TrialSpec:
    """Return `whole` with its load in turns of equal length.

    Raises ValueError if its warm-up or its load ends after a number of requests.
    """
    drawn = random.Random(f"{whole.seed}/re-warming")
    seconds = _seconds(whole.stop) / number.measured
    warm_up = whole.warm_up
    parts = number.warm_up if warm_up else 0
    part_s = max(WARM_UP_PART_MIN_S, _seconds(warm_up.stop) / parts) if warm_up and parts else 0.0
    slices = tuple(
        contract.TurnSpec(warm_up_s=round(drawn.uniform(*REWARM_S), 4), measured_s=seconds)
        for _ in range(number.measured)
    )
    if warm_up:
        stop = contract.DurationStopSpec(duration_s=round(parts * part_s + slices[0].warm_up_s, 4))
        warm_up = warm_up.model_copy(update={"stop": stop})
    before = (contract.TurnSpec(warm_up_s=part_s, measured_s=0.0),) * parts
    return whole.model_copy(update={"warm_up": warm_up, "turns": (*before, *slices)})


def _seconds(stop: contract.StopSpec) -> float:
    if not isinstance(stop, contract.DurationStopSpec):
        raise ValueError("a phase that ends after a number of requests cannot be split into equal parts")
    return stop.duration_s
