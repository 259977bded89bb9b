"""What a level says where slow or failed answers come one by one: their share rises with the load. Pure.

The share is a floor, which is there at any load, and a Weibull curve above it (as in Quick, *A vector
magnitude model*, 1974) whose steepness is unknown: from a slow rise to a cliff. Answers that came in bunches
count as so many fewer: by how much more their number varies within levels than that of independent answers.
Shares far from the limit all count alike: no curve is right over all loads, and a level far below the
breaking point would decide how steep it is there.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crumple.find.judged import Judged
from crumple.find.proportion import APART
from crumple.find.seen import Evidence

Floats = NDArray[np.float64]

# By which power the share rises with the load: beforehand each is as likely as any.
POWERS = np.geomspace(0.5, 1_500.0, 12)
# Of the limit: what is there at any load.
FLOORS = np.array((0.0, 0.6, 0.9))
# Shares that a level may show if it says nothing of the load.
_ANY = -np.expm1(-np.exp(np.linspace(-12.0, 2.5, 50)))
# A queue grows beyond the limit now and then, so levels of seconds hold at more than what lasts: by how much
# of the gap between that and the capacity, as logarithms.
HELD_BEYOND = np.array((0.0, 0.3, 0.6))
# So far from the limit, as odds, shares count alike.
FAR = 8.0


class ShareLaw:
    """Of one part of an objective, `limit` its share.

    `together`: so many answers count as one; `gap`: where slow answers come out of a queue, that between the
    breaking point and the capacity, as a logarithm.
    """

    def __init__(self, limit: float, together: float, gap: float = 0.0) -> None:
        self._together = together
        beyond = HELD_BEYOND * gap if gap else np.zeros(1)
        unknown = np.meshgrid(POWERS, FLOORS * limit, beyond, indexing="ij")
        powers, floors, beyond = (each.ravel() for each in unknown)
        self._powers, self._floors = powers[:, np.newaxis], floors[:, np.newaxis]
        self._beyond = beyond[:, np.newaxis]
        # What the curve has to be at the breaking point.
        self._at_limit = np.log(-np.log1p(-(limit - self._floors) / (1 - self._floors)))
        odds = APART * limit / (1 - limit)
        self._between = tuple(
            odds / (1 + odds) for odds in (limit / (1 - limit) / FAR, limit / (1 - limit) * FAR)
        )
        self._telling = math.log(math.log1p(odds) / -math.log1p(-limit))
        self.prior: Floats = np.full(len(powers), 1 / len(powers))

    def likelihood(self, level: Judged, evidence: Evidence, logs: Floats) -> Floats:
        """Curves × grid of breaking points, as logarithms: how likely the level is."""
        up = self._at_limit + self._powers * (math.log(level.load) - logs - self._beyond)
        curve = -np.expm1(-np.exp(np.clip(up, -40.0, 3.5)))
        return np.exp(self._fit(evidence, self._floors + (1 - self._floors) * curve))

    def before(self, logs: Floats) -> Floats | None:
        """What is known before the first level: nothing."""
        return None

    def blind(self, evidence: Evidence) -> float:
        """The same of a level that says nothing: any share may come of it."""
        return float(np.exp(self._fit(evidence, _ANY)).mean())

    def reach(self, logs: Floats) -> Floats:
        """Curves × grid: the load at which a level tells most, with twice the limit, as odds, against it."""
        return logs + self._beyond + self._telling / self._powers

    def _fit(self, evidence: Evidence, share: Floats) -> Floats:
        """Log-likelihood of a share, over that of what was seen."""
        against = evidence.against / self._together
        others = (evidence.known - evidence.against) / self._together
        least, most = self._between
        share, seen = np.clip(share, least, most), min(most, max(least, evidence.share))
        best = against * math.log(seen) + others * math.log1p(-seen)
        return against * np.log(share) + others * np.log1p(-share) - best


def together(seen: Sequence[Evidence]) -> float:
    """How many answers count as one, over all levels: their dispersion, at least 1."""
    freedom = sum(each.dispersion.freedom for each in seen)
    excess = sum(each.dispersion.excess for each in seen)
    return max(1.0, (excess + 1.0) / (freedom + 1.0))
