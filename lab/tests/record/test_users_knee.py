"""Knees of simulated ramps: users who pause, and a server with or without a pool of workers."""

import numpy as np
import pytest
from crumple.record import histogram
from crumple.record.curve import Curve, Point, users_knee
from crumple.stats.knee import over_starts
from numpy.random import Generator

pytestmark = pytest.mark.long

USERS, BINS, SECONDS = 500, 30, 60.0
PAUSE_S, SERVICE_S = 1.0, 0.004
RAMPS = 300


def ramp(random: Generator, workers: int | None) -> Curve:
    """A ramp with connections kept alive: a user with a worker keeps it, and all others get no answer.

    The number of answers is random (Poisson), because pauses end at random. Response times rise by a fifth
    along the ramp, with a random factor in each bin.
    """
    bin_s = SECONDS / BINS
    points = []
    for users in 1 + (USERS - 1) * (np.arange(BINS) + 0.5) / BINS:
        served = min(users, workers or users)
        response_s = SERVICE_S * float(np.exp(random.normal(0, 0.1))) * (1 + 0.2 * users / USERS)
        ok = int(random.poisson(served / (PAUSE_S + response_s) * bin_s))
        point = Point(
            seconds=bin_s, connections=float(users), waiting=ok / bin_s * response_s + users - served,
            pause_s=PAUSE_S, ok=ok, failed=0, times=histogram.merge([]), cores_busy=None, memory_bytes=None,
            processes=None, threads=None,
        )  # fmt: skip
        points.append(point)
    return tuple(points)


def test_knees_of_pools_are_found_and_their_intervals_contain_the_workers() -> None:
    random = np.random.default_rng(1)
    workers = [int(each) for each in random.integers(60, 420, RAMPS)]
    found = [(at, knee) for at in workers if (knee := users_knee(ramp(random, at)))]
    assert len(found) >= 0.98 * RAMPS
    assert np.mean([knee.low <= at <= knee.high for at, knee in found]) >= 0.93


def test_a_server_without_a_pool_has_no_knee() -> None:
    random = np.random.default_rng(2)
    assert sum(users_knee(ramp(random, None)) is not None for _ in range(RAMPS)) <= 0.02 * RAMPS


def test_the_interval_over_five_starts_contains_the_workers() -> None:
    random = np.random.default_rng(3)
    held = []
    for at in (int(each) for each in random.integers(60, 420, 60)):
        knees = [knee for _ in range(5) if (knee := users_knee(ramp(random, at)))]
        interval = over_starts(knees)
        held.append(interval.low <= at <= interval.high)
    assert np.mean(held) >= 0.93
