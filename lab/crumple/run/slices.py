"""The specs of a trial whose load is put on in slices: what moves on the machine moves for all servers.

Each slice is an engine's run of its own, with connections of its own.
"""

import random

from crumple import contract
from crumple.contract import TrialSpec

# Load before each slice but the first, counted as warm-up: users connect, caches fill, clocks rise. With a
# tenth of a second a single event loop still answered 3 to 6 % less than in one long window. It is drawn
# between these two, so that windows begin at different phases of whatever the server does periodically.
REWARM_S = (0.2, 0.3)


def specs(whole: TrialSpec, number: int) -> list[TrialSpec]:
    """`whole` in so many parts of equal length. The first has its warm-up. Raises ValueError for requests."""
    if not isinstance(whole.stop, contract.AfterDuration):
        raise ValueError("a load that its requests end has no slices of equal length")
    drawn = random.Random(f"{whole.seed}/re-warming")
    part = contract.AfterDuration(duration_s=whole.stop.duration_s / number)
    # One is drawn for the first slice, too, which has the trial's own warm-up instead.
    _, *again = (_rewarming(drawn.uniform(*REWARM_S)) for _ in range(number))
    return [whole.model_copy(update={"stop": part, "warm_up": each}) for each in (whole.warm_up, *again)]


def _rewarming(seconds: float) -> contract.WarmUp:
    stop = contract.AfterDuration(duration_s=round(seconds, 4))
    return contract.WarmUp(connections=None, pauses=True, stop=stop)
