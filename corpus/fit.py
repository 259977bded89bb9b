"""Would other weights be better? Fits them on the stored servers, and judges them on frameworks left out.

    python corpus/fit.py [--penalty 1.0]

It fits how much of the sum of its weights a hypothesis gets (COUNTS), how usual something else is
(SOMETHING_ELSE), and the odds of each hypothesis, by the probability of what is true (log loss). Odds that
are `e` times today's cost `--penalty` / 2, so that a cause of few servers keeps its own. Each server is
judged with weights that were fitted without any server of its framework. It prints the log loss and the Brier
score of today's weights and of the fitted ones, and the difference with a 95 % interval from a bootstrap of
frameworks. It changes nothing.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import optimize, special

sys.path.insert(0, str(Path(__file__).parents[1] / "lab" / "tests" / "helpers"))

import calibration
import stored_servers
from crumple.cause import belief, judged
from crumple.cause.hypotheses import causes

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
BOOTSTRAPS, SEED = 10_000, 1
# The parameters that are not odds: COUNTS and SOMETHING_ELSE.
FEW = 2
# No probability is taken to be less.
LEAST = 1e-12


@dataclass(frozen=True)
class Cases:
    """What was read of servers.

    `ways`: what favours each way, by server, by hypothesis (something else is the first) and by way; -inf: it
    has fewer. `is_true`: by server and hypothesis.
    """

    frameworks: tuple[str, ...]
    ways: Floats
    is_true: Floats

    def of(self, which: Sequence[bool]) -> "Cases":
        """Some of them."""
        chosen = np.array(which)
        frameworks = tuple(each for each, is_in in zip(self.frameworks, which, strict=True) if is_in)
        return Cases(frameworks, self.ways[chosen], self.is_true[chosen])


@dataclass(frozen=True)
class Scores:
    """What each server costs: -ln of the probability of what is true, and the Brier score of what is said."""

    log: Floats
    brier: Floats


def cases() -> Cases:
    """All stored servers whose requests wait."""
    servers = [each for each in stored_servers.servers() if each.facts.is_harmed]
    scenes = [judged.scene_of(each.facts) for each in servers]
    ways = [[(belief.SOMETHING,), *(tuple(each.ways(scene)) for each in causes.ALL)] for scene in scenes]
    most = max(len(of_one) for of_server in ways for of_one in of_server)
    weighed = np.full((len(servers), len(causes.ALL) + 1, most), -np.inf)
    for at, (scene, of_server) in enumerate(zip(scenes, ways, strict=True)):
        for which, of_one in enumerate(of_server):
            weighed[at, which, : len(of_one)] = [belief.in_favour(way, scene) for way in of_one]
    names = ("none", *(each.cause for each in causes.ALL))
    is_true = np.array([[name in calibration.true(each) for name in names] for each in servers], float)
    return Cases(tuple(each.framework for each in servers), weighed, is_true)


def today() -> Floats:
    """The logarithms of today's weights: COUNTS, SOMETHING_ELSE, and the odds of each hypothesis."""
    return np.log([belief.COUNTS, belief.SOMETHING_ELSE, *(each.odds for each in causes.ALL)])


def believed(of: Cases, weights: Floats) -> Floats:
    """The probabilities of something else and of each hypothesis, by server."""
    scores = special.logsumexp(np.exp(weights[0]) * of.ways, axis=2)
    return np.asarray(special.softmax(scores + weights[1:], axis=1))


def scores(of: Cases, weights: Floats) -> Scores:
    """What each costs with these weights."""
    found = believed(of, weights)
    log = -np.log(np.maximum(LEAST, (found * of.is_true).sum(axis=1)))
    first = found.argmax(axis=1)[:, None]
    right = np.take_along_axis(of.is_true, first, axis=1)[:, 0]
    return Scores(log, (found.max(axis=1) - right) ** 2)


def fitted(of: Cases, free: int, penalty: float) -> Floats:
    """The weights that fit these servers best. `free`: how many of them are fitted, from the first on."""
    start = today()

    def cost(change: Floats) -> float:
        weights = start + np.concatenate([change, np.zeros(start.size - free)])
        return float(scores(of, weights).log.sum() + penalty / 2 * (change**2).sum())

    found = optimize.minimize(cost, np.zeros(free), method="L-BFGS-B", bounds=[(-3.0, 3.0)] * free)
    return start + np.concatenate([found.x, np.zeros(start.size - free)])


def left_out(of: Cases, free: int, penalty: float) -> Scores:
    """What each server costs with weights that were fitted without its framework."""
    number = len(of.frameworks)
    found = Scores(np.zeros(number), np.zeros(number))
    for framework in sorted({*of.frameworks}):
        among = [each == framework for each in of.frameworks]
        weights = fitted(of.of([not is_in for is_in in among]), free, penalty)
        one = scores(of.of(among), weights)
        found.log[among], found.brier[among] = one.log, one.brier
    return found


def interval(of: Cases, differences: Floats) -> tuple[float, float]:
    """The 95 % interval of a mean difference, from a bootstrap of whole frameworks."""
    random, names = np.random.default_rng(SEED), sorted({*of.frameworks})
    parts = [differences[[each == name for each in of.frameworks]] for name in names]
    sums, counts = np.array([part.sum() for part in parts]), np.array([part.size for part in parts])
    drawn = random.integers(0, len(names), (BOOTSTRAPS, len(names)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), (0.025, 0.975))
    return float(low), float(high)


def compared(of: Cases, penalty: float) -> Iterable[str]:
    """The lines that are printed."""
    now = scores(of, today())
    number = len({*of.frameworks})
    yield f"{len(of.frameworks)} servers of {number} frameworks, whose requests wait"
    yield f"today's weights: log loss {now.log.mean():.3f}, Brier {now.brier.mean():.3f}"
    for words, free in (("COUNTS and SOMETHING_ELSE fitted", FEW), ("the odds as well", today().size)):
        held = left_out(of, free, penalty)
        yield f"{words}: held-out log loss {held.log.mean():.3f}, Brier {held.brier.mean():.3f}"
        for name, gain in (("log loss", held.log - now.log), ("Brier", held.brier - now.brier)):
            low, high = interval(of, gain)
            yield f"  {name}, fitted less today's: {gain.mean():+.3f} [{low:+.3f} to {high:+.3f}]"
        yield f"  on all servers: {_said(fitted(of, free, penalty)[:free])}"


def _said(weights: Floats) -> str:
    names = ("COUNTS", "SOMETHING_ELSE", *(each.cause for each in causes.ALL))
    found: Mapping[str, tuple[float, float]] = {
        name: (float(np.exp(was)), float(np.exp(is_)))
        for name, was, is_ in zip(names, today(), weights, strict=False)
    }
    return ", ".join(f"{name} {was:.2g} → {is_:.2g}" for name, (was, is_) in found.items())


def main() -> None:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--penalty", type=float, default=1.0)
    print("\n".join(compared(cases(), parser.parse_args().penalty)))


if __name__ == "__main__":
    main()
