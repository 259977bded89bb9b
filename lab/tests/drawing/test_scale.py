"""Scales of charts: shares, ticks and their labels."""

import pytest
from crumple.drawing import scale
from crumple.drawing.scale import AxisScale, ChartAxis


def labels(axis: ChartAxis) -> list[str]:
    """Return the labels of an axis."""
    return [tick.label for tick in axis.ticks]


@pytest.mark.parametrize("log", [False, True])
def test_the_middle_of_an_axis_is_half_way_by_its_scale(log: bool):
    drawn = AxisScale(2.0, 200.0, log)
    assert [drawn.share(2.0), drawn.share(200.0)] == [0.0, 1.0]
    assert drawn.share(20.0 if log else 101.0) == pytest.approx(0.5)


def test_a_value_beyond_an_end_is_set_to_it():
    assert AxisScale(0.0, 10.0).share(30.0) == 1.0
    assert not AxisScale(0.0, 10.0).has(30.0)


def test_an_axis_without_values_reaches_to_one():
    assert scale.from_zero([]) == AxisScale(0.0, 1.0)
    assert scale.from_zero([0.0]) == AxisScale(0.0, 1.0)


def test_each_time_has_its_own_unit():
    assert labels(scale.time_axis(scale.times(3e5, 4e9)))[0].endswith(("µs", "ms"))
    assert scale.duration(250e6) == "250 ms"
    assert scale.duration(0) == "0"


def test_ends_of_an_axis_of_times_are_round_and_beside_what_is_drawn():
    drawn = scale.times(21e6, 190e6)
    assert (drawn.low, drawn.high) == (20e6 if 20e6 * scale.BESIDE < 21e6 else 10e6, 200e6)


def test_sizes_have_one_unit_that_suits_the_highest():
    assert labels(scale.size_axis(AxisScale(0, 300 * 2**20)))[:2] == ["0", "100 MiB"]


@pytest.mark.parametrize(
    ("number", "label"), [(0.5, "0.5"), (1000, "1,000"), (12000, "12k"), (3.4e6, "3.4M"), (0, "0")]
)
def test_numbers_are_short(number: float, label: str):
    assert scale.short(number) == label


def test_shares_may_have_a_sign():
    axis = scale.share_axis(AxisScale(0, 0.1), signed=True)
    assert labels(axis)[0] == "0 %"
    assert labels(axis)[-1] == "+10 %"


def test_quantiles_name_the_usual_ones():
    assert labels(scale.quantile_axis(3)) == ["50 %", "90 %", "99 %", "99.9 %"]


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.1), (0.5, 2.0), (0.01, 30.0), (0.001, 1000.0), (0.98, 5)])
def test_an_axis_of_ratios_has_few_ticks_within_it(low: float, high: float):
    axis = scale.ratio_axis(AxisScale(low, high, log=True))
    assert 2 <= len(axis.ticks) <= 7
    assert all(low <= tick.at <= high for tick in axis.ticks)
    assert 1.0 in [tick.at for tick in axis.ticks]


def test_a_logarithmic_axis_of_counts_within_a_decade_has_round_numbers():
    axis = scale.count_axis(AxisScale(210.0, 490.0, log=True))
    assert len(axis.ticks) >= 2
