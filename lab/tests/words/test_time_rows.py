"""Rows of time budgets: the parts of a bar come to the mean beside it, and none is longer."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from crumple.drawing import theme
from crumple.drawing.plot import RowChart, Segment
from crumple.limit.finding import Cause, Finding
from crumple.record.flow import StageTime
from crumple.record.inside import Divided
from crumple.record.stages import Budget
from crumple.words import time_rows

STAGES = ("due", "not_accepted", "unsent", "unread", "inside", "returning", "unknown")


def made(seed: int) -> Budget:
    """A budget whose parts were found to come to up to a tenth more or less than the mean."""
    chance = random.Random(seed)
    found = [chance.choice((0.0, 10 ** chance.uniform(3, 9))) for _ in STAGES]
    found[4] = 10 ** chance.uniform(3, 9)
    parts = [
        StageTime(name, ns, ns * chance.uniform(0, 1), ns * chance.uniform(1, 2), 50.0)
        for name, ns in zip(STAGES, found, strict=True)
    ]
    measured_ns = sum(found) * chance.uniform(0.9, 1.1)
    return Budget(tuple(parts), sum(found), sum(found), sum(found), measured_ns, 60, 0.0, 0.0, 0.0)


def drawn(*budgets: Budget) -> RowChart:
    """The chart of budgets."""
    picture = time_rows.rows([(f"load {at}", budget) for at, budget in enumerate(budgets)])
    assert picture is not None and isinstance(picture.panels[0].drawn, RowChart)
    return picture.panels[0].drawn


@pytest.mark.parametrize("seed", range(200))
def test_a_bar_is_as_long_as_the_mean_and_each_part_has_a_piece_of_it(seed: int) -> None:
    budget = made(seed)
    chart = drawn(budget)
    pieces = [mark for mark in chart.rows[0].marks if isinstance(mark, Segment)]
    assert [piece.colour for piece in pieces] == [
        theme.PARTS[part.name] for part in budget.parts if part.mean_ns > 0
    ]
    apart = 2 * time_rows.APART * chart.x.scale.high
    assert pieces[-1].high == pytest.approx(budget.measured_ns, abs=apart)
    assert max(piece.high for piece in pieces) <= budget.measured_ns * (1 + 1e-9)
    for before, after in pairwise(pieces):
        assert before.low <= before.high <= after.low <= before.high + apart


def test_the_wait_for_a_gate_is_a_part_of_its_own() -> None:
    pieces = (StageTime("cpu", 1e6, 1e6, 1e6, 50.0), StageTime("otherwise", 9e6, 8e6, 10e6, 50.0))
    budget = replace(made(1), inside=Divided(pieces, ()), measured_ns=11e6)
    whole = replace(budget, parts=(StageTime("inside", 10e6, 10e6, 10e6, 50.0),), measured_ns=10e6)

    def said(share_s: float, cause: Cause = "gate") -> list[str]:
        found = Finding(cause, "likely", 0.9, share_s, "", "")
        (row,) = drawn(time_rows.with_limit(whole, found)).rows
        return [mark.label.replace("\u202f", " ") for mark in row.marks if isinstance(mark, Segment)]

    assert said(0.007) == ["CPU 1.00 ms", "waiting for a gate 7.00 ms", "otherwise inside 2 ms"]
    assert said(0.012) == ["CPU 1.00 ms", "waiting for a gate 9.00 ms"]
    pool = "waiting for a connection of its pool 7.00 ms"
    assert said(0.007, "connection-pool") == ["CPU 1.00 ms", pool, "otherwise inside 2 ms"]
    assert said(0.007, "disk") == ["CPU 1.00 ms", "otherwise inside 9 ms"]


def test_the_wait_is_a_part_also_where_the_time_inside_is_not_divided() -> None:
    parts = (StageTime("unread", 5e6, 4e6, 6e6, 50.0), StageTime("inside", 45e6, 40e6, 50e6, 50.0))
    whole = replace(made(1), parts=parts, inside=None, measured_ns=50e6)
    found = time_rows.with_limit(whole, Finding("gate", "tested", 0.97, 0.040, "", ""))
    ms = {each.words: each.mean_ns / 1e6 for each in found.shown}
    assert ms == pytest.approx({"unread": 5.0, "waiting for a gate": 40.0, "inside": 5.0})
    assert time_rows.with_limit(whole, None) == whole


@pytest.mark.parametrize("seed", range(50))
def test_a_part_that_is_small_in_every_bar_has_no_key(seed: int) -> None:
    budgets = [made(seed), made(seed + 1_000)]
    large = {
        part.words
        for budget in budgets
        for part in budget.shown
        if part.mean_ns >= time_rows.KEY_SHARE_MIN * budget.measured_ns
    }
    picture = time_rows.rows([("a", budgets[0]), ("b", budgets[1])])
    assert picture is not None and {key.label for key in picture.keys} == large
