"""Numbers as they are printed: three digits, narrow spaces, and no false precision in intervals."""

import math

import pytest
from crumple.drawing import numerals
from crumple.stats.interval import Interval


def plain(text: str) -> str:
    return text.replace(numerals.NARROW, " ")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (32626, "32,600"),
        (0.5123, "0.512"),
        (5.8, "5.80"),
        (999.7, "1,000"),
        (0, "0"),
        (-0.001234, "-0.00123"),
    ],
)
def test_three_significant_digits(value: float, said: str) -> None:
    assert numerals.significant(value) == said


@pytest.mark.parametrize(
    ("ns", "said"),
    [(931_000, "931 µs"), (999_800, "1.00 ms"), (1_550_000, "1.55 ms"), (2.5e9, "2.50 s"), (None, "–")],
)
def test_times_have_a_suitable_unit(ns: float | None, said: str) -> None:
    assert plain(numerals.duration(ns)) == said


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (0, "0 %"),
        (0.023, "2.3 %"),
        (0.00001, "below 0.01 %"),
        (1.0, "100 %"),
        (0.9958, "99.58 %"),
        (0.99999, "above 99.99 %"),
    ],
)
def test_shares(part: float, said: str) -> None:
    assert plain(numerals.share(part)) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(4.2, "4.2 s"), (200, "3 min 20 s"), (240, "4 min"), (4320, "1 h 12 min")]
)
def test_spans(seconds: float, said: str) -> None:
    assert plain(numerals.seconds(seconds)) == said


@pytest.mark.parametrize(
    ("low", "estimate", "high", "said"),
    [
        (0.498, 0.5132, 0.529, "0.513 [0.498 – 0.529]"),
        (28_137, 32_612, 44_211, "32,600 [28,100 – 44,200]"),
        (24_137, 32_612, 54_211, "33,000 [24,000 – 54,000]"),
        (0.2, 1.234, 8.0, "1.2 [0.20 – 8.0]"),
    ],
)
def test_a_wide_interval_reduces_the_digits_of_its_estimate(
    low: float, estimate: float, high: float, said: str
) -> None:
    assert plain(numerals.with_interval(Interval(estimate, low, high, 0.95, 3))) == said


def test_one_start_has_no_interval() -> None:
    assert numerals.with_interval(Interval(1.2, 0.0, math.inf, 0.95, 1)) == "1.20 [one start]"


@pytest.mark.parametrize(
    ("low", "high", "n", "said"),
    [
        (0.0013, 7.6e9, 2, "3,200 [two starts]"),
        (1_000.0, 9_900.0, 2, "3,200 [1,000 – 9,900]"),
        (0.0013, 7.6e9, 3, "3,200 [0.0013 – 7,600,000,000]"),
        # For a share of 0 the upper end follows from the number of requests.
        (0.0, 0.02, 2, "3,200 [0 – 0.020]"),
    ],
)
def test_two_starts_far_apart_have_no_printed_interval(low: float, high: float, n: int, said: str) -> None:
    assert plain(numerals.with_interval(Interval(3_200.0, low, high, 0.95, n))) == said


def test_a_lower_bound_is_shown_by_its_lower_end_if_that_is_informative() -> None:
    assert numerals.at_least(Interval(12_800.0, 10_900.0, math.inf, 0.95, 3)) == "at least 10,900"
    assert numerals.at_least(Interval(12_800.0, 3_000.0, math.inf, 0.95, 2)) == "at least 12,800"
    assert numerals.at_least(Interval(12_800.0, 0.0, math.inf, 0.95, 1)) == "at least 12,800"


def test_limits_are_rounded_up() -> None:
    assert numerals.raised(4.4301) == "4.5"
    assert numerals.raised(4.4) == "4.4"
    assert numerals.raised(0) == "0"


def test_a_probability_is_never_shown_as_certain() -> None:
    shown = {
        each: numerals.probability(each).replace(numerals.NARROW, " ")
        for each in (0.0, 0.004, 0.416, 0.99, 0.9975, 1.0)
    }
    assert shown == {
        0.0: "< 1 %",
        0.004: "< 1 %",
        0.416: "42 %",
        0.99: "99 %",
        0.9975: "> 99 %",
        1.0: "> 99 %",
    }
