"""The Universal Scalability Law: known parameters come back, and what it does not describe is refused."""

import numpy as np
import pytest
from crumple.stats.usl import Law, Level, Refused, fit

LEVELS = (1, 2, 4, 8, 16, 32, 64)


def levels(contention: float, coherency: float, noise: float = 0.0, seed: int = 1) -> list[Level]:
    random = np.random.default_rng(seed)
    return [
        Level(
            n,
            1_000
            * n
            / (1 + contention * (n - 1) + coherency * n * (n - 1))
            * np.exp(random.normal(0, noise)),
        )
        for n in LEVELS
    ]


def test_without_noise_the_parameters_come_back() -> None:
    law = fit(levels(0.05, 0.0005), 1.01)
    assert isinstance(law, Law)
    assert (law.per_s, law.contention.estimate, law.coherency.estimate) == pytest.approx(
        (1_000, 0.05, 0.0005), rel=1e-3
    )
    assert law.peak_at == pytest.approx(np.sqrt(0.95 / 0.0005), rel=1e-3)
    assert law.throughput_per_s(16) == pytest.approx(levels(0.05, 0.0005)[4].throughput_per_s, rel=1e-3)


def test_without_coherency_no_peak_is_promised() -> None:
    law = fit(levels(0.05, 0.0, 0.01), 1.1)
    assert isinstance(law, Law)
    assert law.peak_at is None


def test_95_per_cent_of_the_intervals_hold_the_truth() -> None:
    fits = [fit(levels(0.05, 0.0005, 0.03, seed), 1.5) for seed in range(400)]
    held = [
        isinstance(law, Law) and law.contention.low <= 0.05 <= law.contention.high
        and law.coherency.low <= 0.0005 <= law.coherency.high
        for law in fits
    ]  # fmt: skip
    # Two parameters at once, of a curve that is only nearly straight there.
    assert 0.88 <= np.mean(held) <= 0.98


def test_six_levels_are_the_fewest() -> None:
    few = fit(levels(0.05, 0.0005)[:5], 1.1)
    assert few == Refused("it takes 6 levels below the onset of errors, and there are 5")


def test_levels_from_the_onset_of_errors_on_do_not_count() -> None:
    failing = [Level(each.concurrency, each.throughput_per_s, 0.02 if each.concurrency > 8 else 0.0)
               for each in levels(0.05, 0.0005)]  # fmt: skip
    assert fit(failing, 1.1) == Refused("it takes 6 levels below the onset of errors, and there are 4")


def test_what_the_law_does_not_describe_is_refused() -> None:
    collapsing = [Level(n, 1_000 * min(n, 6) * (0.3 if n > 20 else 1)) for n in LEVELS]
    found = fit(collapsing, 1.05)
    assert isinstance(found, Refused)
    assert "more than a server differs from itself (1.05)" in found.why


def test_without_a_noise_floor_nobody_can_say() -> None:
    assert isinstance(fit(levels(0.05, 0.0005), None), Refused)
