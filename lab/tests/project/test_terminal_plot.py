"""Plots in characters: each value is drawn in its place, and none disappears."""

import pytest
from crumple.drawing import scale, terminal
from crumple.drawing.scale import AxisScale
from hypothesis import given
from hypothesis import strategies as st


def bits(cell: terminal.Cell) -> int:
    return 0 if cell[0] == " " else ord(cell[0]) - 0x2800


def test_an_axis_places_its_ends_and_its_middle() -> None:
    assert [AxisScale(0, 10).share(value) for value in (-1, 0, 5, 10, 99)] == [0, 0, 0.5, 1, 1]
    assert AxisScale(1, 10_000, log=True).share(100) == pytest.approx(0.5)
    assert AxisScale(1, 10_000, log=True).share(0) == 0


def test_a_rising_line_runs_from_corner_to_corner() -> None:
    drawn = terminal.lines([[(0, 0.0), (1, 1.0)]], AxisScale(0, 1), AxisScale(0, 1), columns=4, rows=2)
    assert bits(drawn[1][0]) & 0x40  # bottom left
    assert bits(drawn[0][3]) & 0x08  # top right
    assert drawn[0][0] == (" ", None)
    assert all(any(bits(row[column]) for row in drawn) for column in range(4))


def test_a_line_has_a_gap_at_missing_values() -> None:
    points = [(0, 1.0), (1, 1.0), (2, None), (3, 1.0), (4, 1.0)]
    drawn = terminal.lines([points], AxisScale(0, 4), AxisScale(0, 2), columns=40, rows=1)
    seen = [owner for _, owner in drawn[0]]
    assert seen[0] == seen[-1] == 0
    assert seen[20] is None


def test_the_later_line_is_drawn_in_a_shared_cell() -> None:
    flat = [(0, 1.0), (1, 1.0)]
    drawn = terminal.lines([flat, flat], AxisScale(0, 1), AxisScale(0, 2), columns=3, rows=1)
    assert {owner for _, owner in drawn[0]} == {1}


def test_a_single_point_is_a_dot() -> None:
    drawn = terminal.lines([[(0.0, 0.5)]], AxisScale(0, 1), AxisScale(0, 1), columns=3, rows=3)
    assert sum(bits(cell).bit_count() for row in drawn for cell in row) == 1


@pytest.mark.long
@given(st.lists(st.integers(0, 10**9), max_size=80), st.integers(1, 6))
def test_every_count_is_visible_and_the_largest_reaches_the_top(counts: list[int], rows: int) -> None:
    drawn = terminal.blocks(counts, rows)
    assert [len(row) for row in drawn] == [len(counts)] * rows
    for column, count in enumerate(counts):
        assert (drawn[-1][column] != " ") == (count > 0)
        if count and count == max(counts):
            assert drawn[0][column] == "█"


@given(st.floats(1e-3, 1e12), st.floats(1.0, 1e4))
def test_round_values_lie_between(low: float, ratio: float) -> None:
    found = scale.round_between(low, low * ratio)
    assert found == sorted(found)
    assert all(low <= value <= low * ratio for value in found)
    # The widest gap is from 2 to 5.
    assert found or ratio < 2.6


@given(st.floats(1e-3, 1e12))
def test_rounded_ends_enclose_the_values(value: float) -> None:
    below, above = terminal.rounded_down(value), terminal.rounded_up(value)
    assert below <= value * (1 + 1e-6)
    assert above >= value * (1 - 1e-6)
    assert above <= 2.5001 * value
    assert below >= value / 2.5001


def test_round_values_are_kept() -> None:
    for value in (0.1, 1.0, 5.0, 1_000.0, 2e8):
        assert terminal.rounded_up(value) == pytest.approx(value)
        assert terminal.rounded_down(value) == pytest.approx(value)
