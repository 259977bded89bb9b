"""Ratios at equal speed of the cores: better where the speed explains a difference, no worse elsewhere."""

import math
from statistics import fmean, stdev

import numpy as np
import pytest
from crumple.stats.sequential import Looks
from crumple.versus import equal_speed, standing
from crumple.versus.equal_speed import Logs
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import Rows, Rule
from crumple.versus.versus_plan import ALIKE

LETTERS = (FIRST, TWIN, "B")


def drawn(
    seed: int,
    blocks: int,
    *,
    slope: float,
    apart: float,
    noise: float,
    slower: float,
    swing: float = 0.0,
) -> tuple[Logs, Logs]:
    """Logarithms of figures that follow the speed by `slope`; B's are off by `slower`.

    `swing`: of all figures of a block alike, by other causes than the speed.
    """
    random = np.random.default_rng(seed)
    speeds = random.normal(0, apart, (3, blocks))
    logs = slope * speeds + random.normal(0, noise, (3, blocks))
    logs[2] += slower
    logs += random.normal(0, swing, blocks)
    return laid_out(logs), laid_out(speeds)


def laid_out(values: np.ndarray) -> Logs:
    return {letter: dict(enumerate(map(float, row), 1)) for letter, row in zip(LETTERS, values, strict=True)}


def of_cpu(logs: Logs) -> Rows:
    return {"cpu": {name: {at: math.exp(x) for at, x in row.items()} for name, row in logs.items()}}


def test_a_difference_of_the_cores_speed_is_taken_out() -> None:
    logs, speeds = drawn(1, 10, slope=-1.5, apart=0.2, noise=0.01, slower=0.1)
    as_measured = [*equal_speed.to_both(logs, {}, "B").values()]
    corrected = [*equal_speed.to_both(logs, speeds, "B").values()]
    assert stdev(as_measured) > 0.2 and stdev(corrected) < 0.03
    assert fmean(corrected) == pytest.approx(0.1, abs=0.02)
    twins = [*equal_speed.of_twin(logs, speeds).values()]
    assert stdev(twins) < 0.05 and fmean(twins) == pytest.approx(0.0, abs=0.03)


def test_what_does_not_follow_the_speed_stays_nearly_as_it_was() -> None:
    spreads = []
    for seed in range(40):
        logs, speeds = drawn(seed, 8, slope=0.0, apart=0.2, noise=0.05, slower=0.0)
        rows = (equal_speed.to_both(logs, by, "B").values() for by in ({}, speeds))
        spreads.append([stdev(row) for row in rows])
    as_measured, corrected = (fmean(each) for each in zip(*spreads, strict=True))
    assert corrected < 1.15 * as_measured


def test_on_a_calm_machine_readings_change_next_to_nothing() -> None:
    logs, speeds = drawn(2, 8, slope=0.0, apart=0.001, noise=0.03, slower=0.0)
    as_measured, corrected = (equal_speed.to_both(logs, by, "B") for by in ({}, speeds))
    assert all(corrected[block] == pytest.approx(as_measured[block], abs=0.003) for block in as_measured)


def test_without_the_speed_of_each_turn_nothing_is_corrected() -> None:
    logs, speeds = drawn(3, 6, slope=-1.5, apart=0.2, noise=0.01, slower=0.1)
    lacking = {**speeds, "B": {block: value for block, value in speeds["B"].items() if block != 4}}
    assert equal_speed.to_both(logs, lacking, "B") == equal_speed.to_both(logs, {}, "B")


def test_two_other_blocks_say_nothing_of_a_slope() -> None:
    logs, speeds = drawn(4, 3, slope=-1.5, apart=0.2, noise=0.01, slower=0.1)
    assert equal_speed.to_both(logs, speeds, "B") == equal_speed.to_both(logs, {}, "B")


@pytest.mark.parametrize("slope", [0.0, -1.0, -2.0])
@pytest.mark.parametrize("blocks", [4, 8])
def test_alike_versions_are_seldom_called_different_whatever_the_slope_is(blocks: int, slope: float) -> None:
    rule = Rule(("cpu",), ("B",), Looks(blocks, blocks), ALIKE, confidence=0.9)
    wrong = vetoed = 0
    for seed in range(400):
        logs, speeds = drawn(seed, blocks, slope=slope, apart=0.2, noise=0.04, slower=0.0)
        rows, by = of_cpu(logs), of_cpu(speeds)
        (found,) = standing.look(rule, rows, blocks, speeds=by).ratios
        wrong += found.interval is not None and not found.interval.low <= 1 <= found.interval.high
        vetoed += found.twin_differs
    # 10 % of 400, and three standard errors of it.
    assert wrong <= 58 and vetoed <= 58


def test_a_tenth_is_found_where_the_speed_of_the_cores_varies() -> None:
    rule = Rule(("throughput", "cpu"), ("B",), Looks(8, 8), ALIKE)
    found = {"with": 0, "without": 0}
    given: Rows
    for seed in range(60):
        logs, speeds = drawn(seed, 8, slope=-1.5, apart=0.15, noise=0.025, slower=math.log(1.1))
        rows, by = of_cpu(logs), of_cpu(speeds)
        for name, given in (("with", by), ("without", {})):
            ratios = standing.look(rule, rows, 8, speeds=given).ratios
            found[name] += any(each.answer == "different" for each in ratios)
    assert found["with"] >= 50 and found["without"] <= 15


@pytest.mark.parametrize("blocks", [4, 7])
@pytest.mark.parametrize("apart", [0.02, 0.05])
def test_what_blocks_have_in_common_does_not_spoil_the_slope(blocks: int, apart: float) -> None:
    spreads = []
    for seed in range(60):
        logs, speeds = drawn(seed, blocks, slope=0.0, apart=apart, noise=0.02, slower=0.0, swing=0.1)
        rows = (equal_speed.to_both(logs, by, "B").values() for by in ({}, speeds))
        spreads.append([stdev(row) for row in rows])
    as_measured, corrected = (fmean(each) for each in zip(*spreads, strict=True))
    assert corrected < 1.3 * as_measured


def test_a_version_with_few_turns_leaves_the_slope_to_the_others() -> None:
    logs, speeds = drawn(5, 8, slope=-1.5, apart=0.2, noise=0.01, slower=0.1)
    few = ({**each, "C": dict.fromkeys((1, 2), 0.0)} for each in (logs, speeds))
    corrected = equal_speed.to_both(*few, "B")
    assert stdev(corrected.values()) < 0.05


def test_a_version_that_changes_the_reading_is_in_doubt_and_its_interval_holds_the_one_as_measured() -> None:
    rule = Rule(("cpu",), ("B",), Looks(7, 7), ALIKE)
    wrong = 0
    for seed in range(100):
        logs, speeds = drawn(seed, 7, slope=-1.4, apart=0.02, noise=0.01, slower=0.0)
        read = {**speeds, "B": {block: value - 0.05 for block, value in speeds["B"].items()}}
        (found,) = standing.look(rule, of_cpu(logs), 7, speeds=of_cpu(read)).ratios
        assert found.interval is not None
        wrong += not found.interval.low <= 1 <= found.interval.high
    assert wrong <= 8
    assert equal_speed.is_doubtful(read, "B")
    alike = [drawn(seed, 7, slope=0.0, apart=0.1, noise=0.1, slower=0.0)[1] for seed in range(300)]
    # A tenth, and three standard errors of it.
    assert sum(equal_speed.is_doubtful(each, "B") for each in alike) <= 46
