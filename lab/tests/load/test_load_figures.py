"""The figures of one load: only from enough samples, steps merged from histograms, bins that lose nothing."""

import pytest
import synthetic_load
from crumple import contract
from crumple.errors import NotStored
from crumple.load.report import load_figures
from crumple.load.report.load_figures import QUANTILES, spread_of
from crumple.record import histogram


def test_a_load_in_figures() -> None:
    load = synthetic_load.constant()
    assert load.throughput_per_s == 20_000
    assert load.times["response_time"].count == 200_000
    assert set(load.times["response_time"].quantile_ns) == set(QUANTILES)
    assert load.held_mean_ns == pytest.approx(3_100)
    assert load.server is not None and load.server.cpu_per_request_us == pytest.approx(31.0)
    assert load.server.cores == pytest.approx(0.62)


def test_a_closed_shape_has_no_service_time_of_its_own() -> None:
    spreads = synthetic_load.closed().times
    assert {"service_time", "lateness"}.isdisjoint(spreads)
    # No request of this load was due at a time known ahead.
    assert spreads["engine_lateness"].count == 0


def test_only_quantiles_with_enough_samples_are_given() -> None:
    load = synthetic_load.constant()
    # 64 connections were opened: enough for p75, not for p90.
    assert set(load.times["connect_time"].quantile_ns) == {0.5, 0.75}
    assert load.times["failed"].quantile_ns == {}
    assert load.times["failed"].max_ns is None


def test_steps_are_merged_from_the_histograms_of_their_intervals() -> None:
    load = synthetic_load.stepped()
    assert [(step.from_s, step.to_s) for step in load.steps] == [(0, 3), (3, 6), (6, 10)]
    assert [step.due_per_s for step in load.steps] == [1_000, 3_000, 5_000]
    assert [step.throughput_per_s for step in load.steps] == [1_000, 3_000, 4_000]
    second = histogram.merge([histogram.decode(part) for part in load.record.log.response_time[3:6]])
    assert load.steps[1].response_time.count == second.count == 9_000
    assert load.steps[1].response_time.quantile_ns[0.99] == second.quantile_ns(0.99)


def test_failures_are_counted_in_their_step() -> None:
    asked = synthetic_load.stepped().record.spec
    record = synthetic_load.record(asked, [1_000] * 10, median_ns=1e6, timeouts=5)
    # The synthetic record has all timeouts in the sixth second of measuring.
    assert [step.failed for step in synthetic_load.load(record).steps] == [0, 5, 0]


def with_rates(*written: tuple[float, float]) -> tuple[contract.RateSpec, ...]:
    return tuple(contract.RateSpec(from_per_s=rate, to_per_s=rate, duration_s=span) for rate, span in written)


@pytest.mark.parametrize(
    ("rates", "spans"),
    [
        (with_rates((500, 4), (1_000, 20)), [(0, 4), (4, 10)]),  # ended before the schedule did
        (with_rates((500, 4), (1_000, 6), (2_000, 5)), [(0, 4), (4, 10)]),  # never came to the third
        (with_rates((500, 4), (1_000, 1)), [(0, 4), (4, 10)]),  # the last rate went on
    ],
)
def test_steps_end_with_the_load(
    rates: tuple[contract.RateSpec, ...], spans: list[tuple[float, float]]
) -> None:
    asked = synthetic_load.spec(contract.OpenShapeSpec(connections=8, rates=rates))
    longer = contract.OpenShapeSpec(connections=8, rates=with_rates((1_000, 10)))
    record = synthetic_load.record(synthetic_load.spec(longer), [1_000] * 10, median_ns=1e6)
    load = synthetic_load.load(record.model_copy(update={"spec": asked}))
    assert [(step.from_s, step.to_s) for step in load.steps] == spans


def test_a_second_that_two_steps_share_belongs_to_neither() -> None:
    rates = with_rates((1_000, 2.5), (1_000, 7.5))
    asked = synthetic_load.spec(contract.OpenShapeSpec(connections=8, rates=rates))
    whole = synthetic_load.spec(contract.OpenShapeSpec(connections=8, rates=with_rates((1_000, 10))))
    record = synthetic_load.record(whole, [1_000] * 10, median_ns=1e6)
    first, second = synthetic_load.load(record.model_copy(update={"spec": asked})).steps
    assert (first.response_time.count, second.response_time.count) == (2_000, 7_000)
    assert (first.ok, second.ok) == (2_500, 7_500)


def test_only_an_open_shape_of_several_rates_has_steps() -> None:
    assert synthetic_load.constant().steps == ()
    assert synthetic_load.closed().steps == ()


@pytest.mark.parametrize("number", [1, 7, 100])
def test_bins_hold_every_answer(number: int) -> None:
    load = synthetic_load.constant()
    edges_ns, counts = load_figures.bins(load.response_times, number)
    assert len(edges_ns) == number + 1
    assert sum(counts) == load.record.outcomes.ok


def test_equal_times_have_bins_too() -> None:
    record = synthetic_load.closed().record
    alike = record.histograms.model_copy(
        update={"response_time": synthetic_load.documents.histogram({5_000: 100})}
    )
    edges_ns, counts = load_figures.bins(
        synthetic_load.load(record.model_copy(update={"histograms": alike})).response_times, 10
    )
    assert edges_ns[-1] / edges_ns[0] == pytest.approx(2)
    assert sum(counts) == 100


def test_a_load_without_an_answer_has_no_bins_and_no_costs_per_request() -> None:
    load = synthetic_load.silent()
    assert load_figures.bins(load.response_times, 10) == ([], [])
    assert load.throughput_per_s == 0
    assert load.engine is not None and load.engine.cpu_per_request_us is None
    assert load.held_mean_ns is None


def test_a_loss_of_more_than_one_in_a_hundred_is_marked() -> None:
    assert synthetic_load.stepped().is_lossy
    assert not synthetic_load.constant().is_lossy


def test_a_damaged_histogram_is_reported_in_one_line() -> None:
    damaged = contract.HistogramRecord(count=100, min_ns=1, mean_ns=1.0, max_ns=1, encoded="HISTFAAA")
    with pytest.raises(NotStored):
        spread_of(damaged)
