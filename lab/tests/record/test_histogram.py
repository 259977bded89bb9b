"""The engine's histograms, decoded: against the Rust encoder, sorted samples, and what a quantile needs."""

import numpy as np
import pytest
from crumple.errors import NotStored
from crumple.record import histogram
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st
from made_histograms import STAIRS

# Also by the Rust crate: 1, 2, 2, 2047, 2048 and 4095 ns, on both sides of where buckets become two wide.
NEAR_ZERO = "HISTFAAAAD14nAEyAM3/HISTEwAAAAoAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAACBPcfAgL7DwKFpQaB"
LONGEST_NS = 300_000_000_000
WITHIN = 5.1e-4

samples_ns = st.lists(st.integers(1, LONGEST_NS), min_size=1, max_size=60)


def times_of(values_ns: list[int]) -> histogram.Times:
    recorded = HdrHistogram(1, LONGEST_NS, 3)
    for value in values_ns:
        recorded.record_value(value)
    return histogram.decode(recorded.encode().decode())


def test_it_reads_what_the_rust_crate_writes() -> None:
    times = histogram.decode(STAIRS)
    assert times.count == 1007
    assert max(times.counts) == 7
    assert times.values_ns[-1] == pytest.approx(5e9, rel=WITHIN)
    assert times.quantile_ns(0.5) == pytest.approx(504_000, rel=WITHIN)
    assert times.mean_ns == pytest.approx((1000 * 500_500 + 7 * 5e9) / 1007, rel=WITHIN)
    assert times.count_above(1_001_000) == 7


def test_small_values_are_exact() -> None:
    times = histogram.decode(NEAR_ZERO)
    assert times.values_ns == (1, 2, 2047, 2049, 4095)
    assert times.counts == (1, 2, 1, 1, 1)


@settings(max_examples=60)
@given(samples_ns, st.floats(0, 1))
def test_every_quantile_is_a_sample(values_ns: list[int], q: float) -> None:
    exact = np.quantile(values_ns, q, method="inverted_cdf")
    assert times_of(values_ns).quantile_ns(q) == pytest.approx(exact, rel=WITHIN, abs=1)


NOBODY = histogram.merge([])


@settings(max_examples=60)
@given(samples_ns, st.floats(0, 1))
def test_if_all_requests_are_answered_the_quantile_is_that_of_the_answers(
    values_ns: list[int], q: float
) -> None:
    times = times_of(values_ns)
    assert histogram.censored_quantile_ns(q, times, NOBODY, NOBODY) == times.quantile_ns(q)


def test_an_unanswered_request_counts_as_longer_than_any_answer() -> None:
    quick, long = times_of([1_000] * 25), times_of([60_000] * 75)
    for left, lost in ((long, NOBODY), (NOBODY, long)):
        for q, ns in ((0.2, 1_000), (0.5, 60_000), (0.9, 60_000)):
            seen_ns = histogram.censored_quantile_ns(q, quick, left, lost)
            assert seen_ns == pytest.approx(ns, rel=WITHIN)
    assert histogram.censored_quantile_ns(0.5, NOBODY, NOBODY, long) == pytest.approx(60_000, rel=WITHIN)
    with pytest.raises(ValueError, match="no quantile"):
        histogram.censored_quantile_ns(0.5, NOBODY, NOBODY, NOBODY)


def test_a_request_that_waited_for_less_says_nothing_about_later_times() -> None:
    """By hand: of four, one is answered at 1, one leaves at 2, half of two at 3: 1 - 3/4 * 1/2 = 5/8."""
    answered, left = times_of([1, 3, 4]), times_of([2])
    seen = {q: histogram.censored_quantile_ns(q, answered, left, NOBODY) for q in (0.25, 0.26, 0.62, 0.63)}
    assert seen == {0.25: 1, 0.26: 3, 0.62: 3, 0.63: 4}


def test_a_quantile_takes_no_sample_too_many() -> None:
    # 0.07 × 100 is 7.000000000000001 in binary.
    assert times_of(list(range(1, 101))).quantile_ns(0.07) == 7


@settings(max_examples=40)
@given(samples_ns, samples_ns)
def test_merging_equals_recording_together(one: list[int], other: list[int]) -> None:
    merged, together = histogram.merge([times_of(one), times_of(other)]), times_of(one + other)
    assert merged.values_ns == together.values_ns
    assert merged.counts == together.counts


def test_merging_nothing_is_empty() -> None:
    empty = histogram.merge([])
    assert (empty.count, empty.mean_ns, empty.count_above(0)) == (0, None, 0)


def test_an_empty_histogram_has_no_mean_and_no_quantile() -> None:
    empty = histogram.decode(HdrHistogram(1, LONGEST_NS, 3).encode().decode())
    assert (empty.count, empty.mean_ns) == (0, None)
    with pytest.raises(ValueError, match="no quantile"):
        empty.quantile_ns(0.5)


@pytest.mark.parametrize("q", [-0.1, 1.1])
def test_a_quantile_lies_between_0_and_1(q: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        histogram.decode(STAIRS).quantile_ns(q)


def test_the_share_above_a_value_may_be_all_or_none() -> None:
    times = histogram.decode(STAIRS)
    assert (times.count_above(0), times.count_above(6e9)) == (1007, 0)


@pytest.mark.parametrize("damaged", ["", "HISTFAAA", "not base64!", "é", STAIRS[:-24], "AAAA" + STAIRS[4:]])
def test_an_invalid_histogram_is_refused_in_one_line(damaged: str) -> None:
    with pytest.raises(NotStored) as refused:
        histogram.decode(damaged)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("q", "needed"), [(0.5, 20), (0.75, 40), (0.9, 100), (0.99, 1_000), (0.999, 10_000), (0.9999, 100_000)]
)
def test_a_quantile_needs_ten_samples_beyond_it(q: float, needed: int) -> None:
    assert histogram.printable(q, needed)
    assert not histogram.printable(q, needed - 1)


def test_the_maximum_is_not_printed_as_a_quantile() -> None:
    assert not histogram.printable(1.0, 10**9)
