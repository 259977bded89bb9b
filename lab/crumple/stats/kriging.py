"""A surface between points where it was measured: what it is elsewhere, and how far that may be off. Pure.

A Gaussian process (Sacks, Welch, Mitchell and Wynn, *Statistical Science* 4, 1989) over places in a cube of
side 1. Its mean is 0: what is measured is how far something lies from what a law says of it. A law is more
*doubtful* at some places than at others, so that it is measured there sooner.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Over which part of the cube's side two places have something in common: of these the likeliest.
LENGTHS = (0.25, 0.4, 0.65)
# How far a law is off, as factors of what is usual, and how far two readings at one place differ: of these
# the likeliest.
AMPLITUDES, NOISES = (1.0, 1.5, 2.25), (0.02, 0.04)
# The standard deviation of how far laws are off from one subject to another, as the logarithm of a factor: a
# factor of two. It keeps a few points that fit by chance from being taken for a law without errors.
USUAL_SPREAD = math.log(2)
# From eight points on, how far off those are that were left out says how far a subject's own law is off.
OWN_FROM = 8
# How many coordinates a place has.
SIDES = 3


@dataclass(frozen=True)
class Places:
    """Places in the cube."""

    at: Floats
    """A row of coordinates for each."""
    doubts: Floats
    """For each by how much the law may be off there, as a multiple of what is usual."""

    @staticmethod
    def of(at: Sequence[Sequence[float]], doubts: Sequence[float]) -> "Places":
        """Return places of these coordinates."""
        rows = np.array(at, dtype=float) if len(at) else np.zeros((0, SIDES))
        return Places(rows, np.array(doubts, dtype=float))

    def doubted(self, least: float) -> "Places":
        """Return the same places, where the law is at least so doubtful."""
        return Places(self.at, np.maximum(self.doubts, least))


@dataclass(frozen=True)
class Readings:
    """What was read of one subject. `values`: one for each place; a place may be there several times."""

    places: Places
    values: Floats
    errors: Floats
    """By how much each may be off for a reason of its own, beside the noise of all: standard deviations."""


@dataclass(frozen=True)
class Manner:
    """How a surface varies: by how much, over what length, and how far two readings at one place differ."""

    amplitude: float
    length: float
    noise: float


@dataclass(frozen=True)
class LeftOut:
    """What the other readings say of one that was left out."""

    off: float
    """The reading less what they say."""
    error: float
    """The standard deviation that they say it has."""

    @property
    def is_within(self) -> bool:
        """Whether it lies within the interval of 95 %."""
        return abs(self.off) <= Z * self.error


# To how many standard deviations an interval of 95 % reaches.
Z = 1.96


def likeliest(subjects: Sequence[Readings], usual: float) -> Manner:
    """Return the manner in which all surfaces vary; `usual`: how far laws are off as a rule."""
    manners = [
        Manner(usual * factor, length, noise)
        for factor, length, noise in product(AMPLITUDES, LENGTHS, NOISES)
    ]

    def likelihood(manner: Manner) -> float:
        beside = math.log(manner.amplitude / usual) / USUAL_SPREAD
        return sum(Surface(each, manner).log_likelihood for each in subjects) - beside**2 / 2

    return max(manners, key=likelihood)


class Surface:
    """The surface of one subject."""

    def __init__(self, readings: Readings, manner: Manner) -> None:
        self._read, self._manner = readings, manner

    @cached_property
    def _inverse(self) -> Floats:
        noise = np.diag(self._manner.noise**2 + self._read.errors**2)
        both = self._alike(self._read.places, self._read.places) + noise
        return np.linalg.inv(both).astype(np.float64)

    @cached_property
    def _weights(self) -> Floats:
        found: Floats = self._inverse @ self._read.values
        return found

    def _alike(self, one: Places, other: Places) -> Floats:
        """Return the covariance of the law's errors at two sets of places, before anything was read."""
        apart = ((one.at[:, None, :] - other.at[None, :, :]) ** 2).sum(axis=2)
        doubts = np.outer(one.doubts, other.doubts)
        found: Floats = self._manner.amplitude**2 * doubts * np.exp(-apart / (2 * self._manner.length**2))
        return found

    @cached_property
    def log_likelihood(self) -> float:
        """The logarithm of how likely the readings are, but for a constant."""
        if not len(self._read.values):
            return 0.0
        _, log_determinant = np.linalg.slogdet(self._inverse)
        return float(log_determinant - self._read.values @ self._weights) / 2

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """What the others say of each reading (Sundararajan and Keerthi, *Neural Computation* 13, 2001)."""
        own = np.diag(self._inverse)
        return [
            LeftOut(float(weight / share), float(1 / math.sqrt(share)))
            for weight, share in zip(self._weights, own, strict=True)
        ]

    @cached_property
    def widening(self) -> float:
        """The factor by which its intervals are wider, as those left out lie further off than was said."""
        found = self.left_out
        if len(found) < OWN_FROM:
            return 1.0
        return math.sqrt(max(1.0, sum((each.off / each.error) ** 2 for each in found) / len(found)))

    def mean(self, places: Places) -> Floats:
        """Return the surface at places."""
        found: Floats = self._alike(places, self._read.places) @ self._weights
        return found

    def error(self, places: Places) -> Floats:
        """Return how far it may be off there, as standard deviations."""
        across = self._alike(places, self._read.places)
        before = (self._manner.amplitude * places.doubts) ** 2
        left = before - np.einsum("ij,jk,ik->i", across, self._inverse, across)
        found: Floats = self.widening * np.sqrt(np.maximum(left, 0.0))
        return found

    def gain(self, candidates: Places, places: Places, weights: Floats) -> Floats:
        """Return by how much one reading at each candidate would lessen the variances at places.

        `weights`: how much each of the places counts.
        """
        to_candidates = self._alike(candidates, self._read.places)
        to_places = self._alike(places, self._read.places)
        shared = self._alike(candidates, places) - to_candidates @ self._inverse @ to_places.T
        own = self.error(candidates) ** 2 / self.widening**2 + self._manner.noise**2
        found: Floats = self.widening**2 * (shared**2 @ weights) / own
        return found
