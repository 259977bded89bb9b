"""What a level says where slow or failed answers come one by one: their share rises with the load. Pure.

The share is a floor, which is there at any load, and a Weibull curve above it (as in Quick, *A vector
magnitude model*, 1974) whose steepness is unknown: from a slow rise to a cliff. Answers that came in bunches
count as so many fewer.
"""

import math

import numpy as np
from numpy.typing import NDArray

from crumple.find.judged import Judged
from crumple.find.proportion import APART
from crumple.find.seen import Evidence

Floats = NDArray[np.float64]

# By which power the share rises with the load: beforehand each is as likely as any.
POWERS = np.geomspace(0.5, 1_500.0, 12)
# Of the limit: what is there at any load.
FLOORS = np.array((0.0, 0.6))
# Shares that a level may show if it says nothing of the load.
_ANY = -np.expm1(-np.exp(np.linspace(-12.0, 2.5, 50)))
_LEAST = 1e-15


class ShareLaw:
    """Of one part of an objective, `limit` its share. `together`: answers of a bunch where none was seen."""

    def __init__(self, limit: float, together: float) -> None:
        self._together = together
        powers, floors = (each.ravel() for each in np.meshgrid(POWERS, FLOORS * limit, indexing="ij"))
        self._powers, self._floors = powers[:, np.newaxis], floors[:, np.newaxis]
        # What the curve has to be at the breaking point.
        self._at_limit = np.log(-np.log1p(-(limit - self._floors) / (1 - self._floors)))
        odds = APART * limit / (1 - limit)
        self._telling = math.log(math.log1p(odds) / -math.log1p(-limit))
        self.prior: Floats = np.full(len(powers), 1 / len(powers))

    def likelihood(self, level: Judged, evidence: Evidence, logs: Floats) -> Floats:
        """Curves × grid of breaking points, as logarithms: how likely the level is."""
        up = self._at_limit + self._powers * (math.log(level.load) - logs)
        curve = -np.expm1(-np.exp(np.clip(up, -40.0, 3.5)))
        return np.exp(self._fit(evidence, self._floors + (1 - self._floors) * curve))

    def blind(self, evidence: Evidence) -> float:
        """The same of a level that says nothing: any share may come of it."""
        return float(np.exp(self._fit(evidence, _ANY)).mean())

    def reach(self, logs: Floats) -> Floats:
        """Curves × grid: the load at which a level tells most, with twice the limit, as odds, against it."""
        return logs + self._telling / self._powers

    def _fit(self, evidence: Evidence, share: Floats) -> Floats:
        """Log-likelihood of a share, over that of what was seen."""
        together = evidence.against / evidence.bunches if evidence.bunches else self._together
        against, others = evidence.against / together, (evidence.known - evidence.against) / together
        share = np.clip(share, _LEAST, 1 - _LEAST)
        seen = min(1 - _LEAST, max(_LEAST, evidence.share))
        best = against * math.log(seen) + others * math.log1p(-seen)
        return against * np.log(share) + others * np.log1p(-share) - best
