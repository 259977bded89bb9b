"""A first look at a URL: how its load is shaped where no flag says it, so that all ends in 15 s. Pure."""

from dataclasses import replace
from typing import TYPE_CHECKING

from crumple import contract
from crumple.contract import TrialSpec
from crumple.load import load_flags, unloaded
from crumple.load.load_flags import LoadFlags

if TYPE_CHECKING:
    from crumple.observation.observed import FailuresAlone, WorkAlone

    pass

# Seconds that a first look takes at most; and of these, seconds for its end, with requests one at a time.
WITHIN_S, END_S = 15.0, 3.5
# Seconds of the warm-up, in which is seen what the server spends CPU time on; of the load; and of a load that
# has less time left.
WARM_UP_S, LOAD_S, LOAD_LEAST_S = 2.0, 6.0, 3.0
# The most seconds that a request alone may take for more of them to be sent one at a time after the load.
SLOW_S = 0.5
# Seconds for the first request after the load, at least; and seconds that the screen takes.
FIRST_LEAST_S, SCREEN_S = 0.5, 0.5
SHAPING = ("requests", "duration", "steps", "ramp", "warm_up")


def is_shaped(flags: LoadFlags) -> bool:
    """Whether flags say how long the load lasts."""
    return bool(load_flags.typed_flags(flags, SHAPING))


def shape(flags: LoadFlags) -> LoadFlags:
    """Return the flags with a short load, unless they have one of their own."""
    if is_shaped(flags):
        return flags
    return replace(flags, duration=f"{LOAD_S:g}s", warm_up=f"{WARM_UP_S:g}s")


def shorten(spec: TrialSpec, spent_s: float) -> TrialSpec:
    """Return the load with as much time as is left. `spent_s`: since crumple was called."""
    left_s = WITHIN_S - END_S - WARM_UP_S - spent_s
    lasts_s = max(LOAD_LEAST_S, min(LOAD_S, left_s))
    shape = spec.shape
    if isinstance(shape, contract.OpenShapeSpec):
        (rate,) = shape.rates
        shape = shape.model_copy(update={"rates": (rate.model_copy(update={"duration_s": lasts_s}),)})
    stop = contract.DurationStopSpec(duration_s=lasts_s)
    return spec.model_copy(update={"stop": stop, "shape": shape})


def asks_after(before: "WorkAlone | FailuresAlone | None") -> bool:
    """Whether there is time for requests one at a time after the load, too."""
    # Imported here because it takes time before a load.
    from crumple.observation.observed import WorkAlone

    return not isinstance(before, WorkAlone) or before.mean_s <= SLOW_S


def first_within_s(spent_s: float) -> float:
    """Return how long to wait for the first request after the load. `spent_s`: since crumple was called.

    A queue of connections that the load has left may keep it waiting for seconds.
    """
    left_s = WITHIN_S - SCREEN_S - unloaded.WITHIN_S - spent_s
    return min(unloaded.FIRST_WITHIN_S, max(FIRST_LEAST_S, left_s))


def compares_engine(spent_s: float) -> bool:
    """Whether there is time to measure what the engine itself reaches. `spent_s`: since the program began."""
    return spent_s <= WITHIN_S - END_S
