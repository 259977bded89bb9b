"""What a bench says about a figure, and its exit code: the interval decides, never the estimate."""

import math
import random

import pytest
from crumple import project
from crumple.stats.interval import Interval

BENCH = project.root() / "bench"


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def interval(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 0.95, 5)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.70, 0.79, "met"),
        (0.70, 0.80, "met"),
        (0.70, 0.81, "open"),
        (0.79, 0.95, "open"),
        (0.80, 0.95, "open"),
        (0.81, 0.95, "not met"),
        (0.0, math.inf, "open"),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, word: str) -> None:
    from bounds import Bounds

    bounds = Bounds()
    assert bounds.at_most("it", interval(low, high), 0.8) == f"≤ 0.8 {word}"
    assert bounds.missed == (["it"] if word == "not met" else [])
    assert bounds.undecided == (["it"] if word == "open" else [])
    mirrored = Bounds()
    assert mirrored.at_least("it", interval(-high, -low), -0.8) == f"≥ -0.8 {word}"


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-9, 9, "met"),
        (-10, 10, "met"),
        (-11, 3, "open"),
        (3, 11, "open"),
        (-20, 20, "open"),
        (11, 12, "not met"),
        (-12, -11, "not met"),
    ],
)
def test_an_interval_between_two_bounds(low: float, high: float, word: str) -> None:
    from bounds import Bounds

    assert Bounds().within("it", interval(low, high), -10, 10, " µs") == f"-10 to 10 µs {word}"


def test_an_undecided_bound_is_listed_and_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    from bounds import Bounds

    bounds = Bounds()
    bounds.at_most("memory", interval(10, 12), 11)
    bounds.at_most("lateness", interval(1, 2), 11)
    bounds.close()
    assert capsys.readouterr().out == "open: memory\n"


def test_a_bound_that_is_not_met_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    from bounds import Bounds

    bounds = Bounds()
    bounds.at_most("memory", interval(10, 12), 11)
    bounds.at_most("lateness", interval(12, 13), 11)
    bounds.miss("connections held")
    with pytest.raises(SystemExit) as end:
        bounds.close()
    assert end.value.code == 1
    assert capsys.readouterr().out == "open: memory\nnot met: lateness, connections held\n"


def test_the_shortest_form_judges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    from bounds import Bounds

    bounds = Bounds(judging=False)
    assert bounds.at_most("lateness", interval(12, 13), 11, " µs") == "≤ 11 µs"
    bounds.miss("connections held")
    bounds.close()
    assert capsys.readouterr().out == ""


def test_five_rounds_do_not_bound_the_median() -> None:
    from intervals import median_interval

    assert median_interval([5, 1, 4, 2, 3]) == Interval(3, -math.inf, math.inf, 0.95, 5)
    assert median_interval([7]).estimate == 7


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (8, 1, 8), (9, 2, 8), (12, 3, 10), (20, 6, 15)])
def test_the_ranks_are_those_of_the_sign_test(n: int, low: int, high: int) -> None:
    from intervals import median_interval

    found = median_interval(range(n, 0, -1))
    assert (found.estimate, found.low, found.high) == ((n + 1) / 2, low, high)


def test_the_interval_of_a_median_has_its_stated_coverage() -> None:
    from intervals import median_interval

    draw = random.Random(1)
    studies = [median_interval([draw.expovariate(1) for _ in range(12)]) for _ in range(2_000)]
    held = sum(study.low <= math.log(2) <= study.high for study in studies)
    assert 0.95 * len(studies) <= held < len(studies)


@pytest.mark.long
def test_a_slope_with_its_interval() -> None:
    from intervals import slope_interval

    sizes = [1_000, 5_000, 9_000]
    exact = slope_interval(sizes, [8_000_000 + 450 * size for size in sizes])
    assert exact.estimate == pytest.approx(450) and exact.high - exact.low < 0.01
    draw = random.Random(1)
    noisy = [slope_interval(sizes, [3 * size + draw.gauss(0, 900) for size in sizes]) for _ in range(400)]
    held = sum(study.low <= 3 <= study.high for study in noisy)
    assert 0.92 * len(noisy) <= held <= 0.98 * len(noisy)
    assert slope_interval([1, 2], [1, 2]).high == math.inf


def test_the_true_breaking_point_is_that_of_the_simulated_queue() -> None:
    import find

    assert find.response_times_ms(find.np.array([0.0] * 6 + [1_000.0])).tolist() == [50.0] * 5 + [100.0, 50.0]
    # A queue of five workers that take equally long, at a hundred requests a second, has no end.
    assert 85 < find.breaking_point_per_s(200_000) < 95


@pytest.mark.parametrize(("hits", "searches", "word"), [(9, 10, "met"), (8, 10, "not met"), (9, 9, "open")])
def test_nine_of_ten_searches_find_the_truth(hits: int, searches: int, word: str) -> None:
    import find

    assert find.judged(hits, searches) == word
