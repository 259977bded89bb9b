"""How probable it is that the blocks to come decide something that the blocks so far do not. Pure.

What is known of the noise after a few blocks is itself uncertain: four values may well scatter twice as much
as those that follow. So the course to come is drawn many times: each time the variance and the mean are drawn
from what the values so far say of them (the normal model, with a prior that says nothing), then a value for
each block to come. At each look it is then seen whether the interval over all values would decide.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crumple.stats import student
from crumple.stats.estimate import Estimate

Floats = NDArray[np.float64]
# The ends of intervals → whether each decides.
Decides = Callable[[Floats, Floats], NDArray[np.bool_]]

# How many courses to come are drawn: few enough for looks at many figures, and 1 % of them is still five.
DRAWS = 500
# How many sets of draws are remembered, one for each number of values so far and of blocks to come.
DRAWS_KEPT = 256


def chance(estimate: Estimate, confidences: Sequence[float | None], decides: Decides) -> float:
    """Return with which probability one of the looks to come decides.

    `estimate`: of logarithms, by their own variance alone. `confidences`: that of the interval after each
    block to come, all of which count; None: nothing is decided after it.
    """
    later = [at for at, confidence in enumerate(confidences) if confidence is not None]
    if estimate.n < 2 or not later:
        return 0.0
    means, deviations, values = _draw(estimate.n, len(confidences))
    # In deviations of the values so far from their mean.
    to_come = deviations[:, None] * (means[:, None] + values)
    sums, squares = to_come.cumsum(axis=1)[:, later], (to_come**2).cumsum(axis=1)[:, later]
    numbers = estimate.n + 1.0 + np.array(later)
    shift = sums / numbers
    variance = np.maximum(0.0, estimate.n - 1 + squares - numbers * shift**2) / (numbers - 1)
    t = [student.of_interval(estimate.n + at, confidences[at] or 0.0) for at in later]
    reach = t * np.sqrt(variance / numbers)
    low, high = (
        estimate.centre + off + estimate.spread * (shift + sign * reach)
        for sign, off in zip((-1, 1), estimate.off, strict=True)
    )
    return float(decides(low, high).any(axis=1).mean())


@lru_cache(maxsize=DRAWS_KEPT)
def _draw(known: int, to_come: int) -> tuple[Floats, Floats, Floats]:
    """Return mean and deviation of the truth, and the values to come, in deviations; the same each time."""
    random = np.random.default_rng([known, to_come])
    deviations = np.sqrt((known - 1) / random.chisquare(known - 1, DRAWS))
    means = random.normal(size=DRAWS) / np.sqrt(known)
    return means, deviations, random.normal(size=(DRAWS, to_come))
