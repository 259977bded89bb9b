"""The Universal Scalability Law: throughput at a concurrency n is λn / (1 + σ(n−1) + κn(n−1)). Pure.

σ is what is done one at a time, κ what each must agree on with each. Fitted to levels below the onset of
errors, and refused where the law does not describe them: by more than noise, and than one per cent.
(Gunther, *Guerrilla Capacity Planning*, 2007; method, rule 22.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from crumple.stats.stats import CONFIDENCE, Interval

Floats = NDArray[np.float64]

LEVELS_MIN = 6
FAILED_SHARE_MAX = 0.01
# Nobody minds a law that is off by so little, however steady the server.
RESIDUAL_SEEN = 1.01


@dataclass(frozen=True)
class Level:
    """Throughput at a concurrency, and the share of requests that failed there (0..1)."""

    concurrency: float
    throughput_per_s: float
    failed_share: float = 0.0


@dataclass(frozen=True)
class Law:
    """The parameters, over so many levels. `residual`: how far these lie off, as a ratio ≥ 1.

    `peak_at`: the concurrency of the highest throughput; None: it rises on and on.
    """

    per_s: float
    contention: Interval
    coherency: Interval
    peak_at: float | None
    residual: float
    levels: int

    def throughput_per_s(self, concurrency: float) -> float:
        """What the law says."""
        parameters = self.per_s, self.contention.estimate, self.coherency.estimate
        return float(_law(np.array([concurrency]), *parameters)[0])


@dataclass(frozen=True)
class Refused:
    """Why no law is given: a clause, without capital and full stop."""

    why: str


def fit(levels: Sequence[Level], noise_floor: float | None) -> Law | Refused:
    """The law of these levels; `noise_floor`: what a server differs by from itself, a ratio ≥ 1.

    Deviations are of logarithms, so that each level weighs the same.
    """
    kept = _below_errors(levels)
    if len({level.concurrency for level in kept}) < LEVELS_MIN:
        return Refused(f"it takes {LEVELS_MIN} levels below the onset of errors, and there are {len(kept)}")
    if noise_floor is None:
        return Refused("the noise floor is not known, so nobody can say whether the law describes the levels")
    n = np.array([level.concurrency for level in kept], dtype=float)
    logs = np.log([level.throughput_per_s for level in kept])
    found = _least_squares(n, logs)
    spare = len(n) - 3
    residual = math.exp(math.sqrt(float(np.sum(found.fun**2)) / spare))
    if residual > max(noise_floor, RESIDUAL_SEEN):
        return Refused(
            f"levels lie off the law by a factor of {residual:.3g}, more than a server differs from itself "
            f"({noise_floor:.3g})"
        )
    sigma, kappa = _intervals(found, spare)
    # A κ whose interval reaches 0 promises no peak.
    peaks = kappa.low > 0 and sigma.estimate < 1
    return Law(
        per_s=math.exp(float(found.x[0])),
        contention=sigma,
        coherency=kappa,
        peak_at=math.sqrt((1 - sigma.estimate) / kappa.estimate) if peaks else None,
        residual=residual,
        levels=len(kept),
    )


def _below_errors(levels: Sequence[Level]) -> list[Level]:
    kept: list[Level] = []
    for level in sorted(levels, key=lambda level: level.concurrency):
        if level.failed_share > FAILED_SHARE_MAX or level.throughput_per_s <= 0:
            break
        kept.append(level)
    return kept


def _law(n: Floats, per_s: float, contention: float, coherency: float) -> Floats:
    return per_s * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


def _least_squares(n: Floats, logs: Floats) -> optimize.OptimizeResult:
    def deviations(parameters: Floats) -> Floats:
        return np.log(_law(n, math.exp(parameters[0]), parameters[1], parameters[2])) - logs

    begin = (float(np.max(logs - np.log(n))), 0.05, 1e-4)
    bounds = ((-np.inf, 0.0, 0.0), (np.inf, 1.0, 1.0))
    return optimize.least_squares(deviations, begin, bounds=bounds, x_scale=(1.0, 0.1, 1e-3), xtol=1e-12)


def _intervals(found: optimize.OptimizeResult, spare: int) -> list[Interval]:
    """σ and κ, with ends by the curvature at the optimum; neither lies below 0."""
    variance = float(np.sum(found.fun**2)) / spare
    covariance = np.linalg.pinv(found.jac.T @ found.jac) * variance
    t = float(stats.t.ppf((1 + CONFIDENCE) / 2, spare))
    reach = t * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return [
        Interval(float(x), max(0.0, float(x - r)), float(x + r), CONFIDENCE, len(found.fun))
        for x, r in zip(found.x[1:], reach[1:], strict=True)
    ]
