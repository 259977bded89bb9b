"""The breaking point as estimated from levels. test_find_simulation tests how often its interval is right."""

import math
from dataclasses import replace

import pytest
from crumple.find.breaking_point import Posterior, binding, narrowed
from crumple.find.laws import Queue, of_shares, together
from crumple.find.seen import Base, Dispersion, Judged, PartEvidence
from crumple.stats.interval import Interval
from made_levels import LIMIT, NAME, judged, levels

pytestmark = pytest.mark.weighs

CALM = Base(median_s=0.01, variation=1.0)


def posterior(of: list[Judged]) -> Posterior:
    """The posterior of levels whose slow answers come one by one."""
    return Posterior(of, NAME, of_shares(LIMIT, 1.0))


def interval(of: list[Judged]) -> Interval:
    """The interval of that posterior."""
    return posterior(of).interval


def width(of: list[Judged]) -> float:
    """The width of that interval, as a logarithm."""
    return math.log(interval(of).high / interval(of).low)


def queued(load: float, passed_s: float | None, pace: tuple[int, float] | None = None) -> Judged:
    """A level of three seconds with a queue that grew beyond 250 ms at `passed_s`; None: it did not."""
    against = 0 if passed_s is None else 100
    seen = PartEvidence(
        NAME, LIMIT, 600, against, bunches=int(against > 0), crowded=against, settled_s=1.0, watched_s=3.0,
        passed_s=passed_s, pace=pace, limit_s=0.25,
    )  # fmt: skip
    return Judged(load, 0, "broke" if against else "held", (seen,), CALM)


QUEUE = [queued(900, None), queued(950, None), queued(1_050, 1.5), queued(1_100, 0.5)]


def test_it_lies_between_the_levels_that_held_and_those_that_broke() -> None:
    found = interval(levels([900, 960, 980, 985], [1_015, 1_020, 1_040, 1_100]))
    assert 900 < found.low < found.estimate < found.high < 1_040
    assert (found.confidence, found.n) == (0.95, 1)


def test_the_unit_of_the_load_does_not_matter() -> None:
    small = interval(levels([9, 9.6], [10.2, 11]))
    large = interval(levels([9_000, 9_600], [10_200, 11_000]))
    assert large.estimate == pytest.approx(1_000 * small.estimate, rel=1e-3)
    assert large.high == pytest.approx(1_000 * small.high, rel=2e-3)


def test_more_levels_narrow_the_interval_and_contradictions_widen_it() -> None:
    few, held, broke = levels([950], [1_050]), [950, 980, 990, 985, 992], [1_050, 1_012, 1_020, 1_008, 1_010]
    torn = levels([950, 980, 1_030, 985, 1_020], [1_050, 970, 1_040, 960, 1_010])
    many = levels(held, broke)  # type: ignore[arg-type]
    assert width(many) < 0.7 * width(few) and width(many) < 0.7 * width(torn)


@pytest.mark.parametrize("slip", [judged(700, "broke"), judged(1_300, "held")], ids=["below", "above"])
def test_one_contradicting_level_does_not_move_it(slip: Judged) -> None:
    clear = levels([900, 950, 980, 985, 990], [1_010, 1_015, 1_020, 1_050])
    clean, with_slip = interval(clear), interval([*clear, slip])
    assert with_slip.estimate == pytest.approx(clean.estimate, rel=0.02)
    assert with_slip.low == pytest.approx(clean.low, rel=0.03)
    assert with_slip.high == pytest.approx(clean.high, rel=0.03)


def test_starts_with_different_breaking_points_widen_the_interval() -> None:
    alike = [level for start in range(3) for level in levels([980, 990], [1_010, 1_020], start)]
    apart = [
        level
        for start, factor in enumerate((0.9, 1.0, 1.1))
        for level in levels([980 * factor, 990 * factor], [1_010 * factor, 1_020 * factor], start)
    ]
    assert interval(apart).n == interval(alike).n == 3
    assert width(apart) > 2 * width(alike)


def test_a_start_that_was_not_measured_has_a_wider_interval() -> None:
    known = posterior([level for start in (0, 1) for level in levels([980, 990], [1_010, 1_020], start)])
    ends = {start: known.of_start(start, (0.1, 0.9)) for start in (1, 2)}
    assert ends[2][0] < ends[1][0] and ends[2][1] > ends[1][1]


def test_levels_tell_most_above_the_breaking_point() -> None:
    known = posterior(levels([900, 950], [1_050, 1_100]))
    (telling,), (plain,) = known.of_start(0, [0.5], telling=True), known.of_start(0, [0.5])
    assert plain < telling < 1.3 * plain


def test_with_a_sharp_edge_the_next_load_halves_the_bracket() -> None:
    low, middle, high = narrowed([(500, True), (800, False)], 0.9)
    assert 500 < low < middle < high < 800
    assert middle == pytest.approx(math.sqrt(500 * 800), rel=0.05)


def test_without_evidence_against_the_objective_no_part_binds() -> None:
    assert binding(levels([900, 1_000], []), None) is None


def test_the_part_that_breaks_first_binds() -> None:
    def both(load: float, failed: int) -> Judged:
        plain = judged(load, "broke" if load > 1_000 else "held")
        failures = PartEvidence("failed<0.1%", 0.001, 4_000, failed, bunches=failed)
        outcome = "broke" if failed else plain.outcome
        return replace(plain, outcome=outcome, evidence=(*plain.evidence, failures))

    early = binding([both(600, 0), both(700, 0), both(800, 100), both(1_100, 200)], None)
    late = binding([both(600, 0), both(900, 0), both(1_100, 0), both(1_200, 0)], None)
    assert early is not None and early.name == "failed<0.1%" and not early.queue
    assert early.posterior.interval.high < 1_000
    assert late is not None and late.name == NAME


def test_how_failures_come_far_beyond_the_limit_says_nothing_of_levels_without_any() -> None:
    # Connections are refused in crowds once a queue overflows, and none before.
    def failing(load: float, failed: int, excess: float = 0.0) -> Judged:
        seen = PartEvidence(
            "failed<0.1%", 0.001, 3_000, failed, int(failed > 0), Dispersion(excess, 3 if excess else 0)
        )
        return Judged(load, 0, "broke" if failed else "held", (seen,))

    held = [failing(load, 0) for load in (1_080, 1_440, 1_530, 1_730, 1_920, 2_010, 2_770, 3_050, 3_350)]
    broke = [failing(3_690, 470, 900.0), failing(4_060, 1_030, 1_400.0), failing(7_100, 1_320, 700.0)]
    found = binding([*held, *broke], None)
    assert found is not None and 3_000 < found.posterior.interval.estimate < 3_900
    assert found.posterior.interval.low > 2_000
    of_few = [each.evidence[0] for each in (failing(900, 2, 9.0), failing(1_000, 4, 5.0))]
    assert together(of_few) == together([*of_few, broke[0].evidence[0]]) > 1.0


def test_what_is_known_of_levels_as_a_whole_only_counts_where_it_is_lower() -> None:
    def dies(load: float) -> Judged:
        gone = PartEvidence("stays alive", 0.5, 1, 1, bunches=1)
        return replace(judged(load, "broke"), evidence=(gone, *judged(load, "broke").evidence))

    held = levels([500, 600], [])
    above = binding([*held, judged(800, "broke"), dies(900)], None)
    below = binding(
        [*held, Judged(700, 0, "broke", (PartEvidence("stays alive", 0.5, 1, 1, 1),)), dies(900)], None
    )
    assert above is not None and above.name == NAME
    assert below is not None and below.name == "stays alive"


def test_clustered_slow_answers_indicate_a_queue() -> None:
    found = binding(QUEUE, 1.0, CALM)
    assert found is not None and found.queue
    # A level that held says little of a load slightly below the capacity.
    assert found.posterior.interval.low < 950 and found.posterior.interval.high < 1_100


@pytest.mark.parametrize("why", ["closed", "not calm", "one by one", "no room", "keeps its pace"])
def test_no_queue_is_inferred(why: str) -> None:
    arrivals, calm, of = (None if why == "closed" else 1.0), CALM, QUEUE
    if why == "not calm":
        calm, of = None, [replace(level, base=None) for level in QUEUE]
    if why == "one by one":
        of = [replace(each, evidence=(replace(each.evidence[0], crowded=0),)) for each in QUEUE]
    if why == "no room":
        calm = Base(median_s=0.24, variation=1.0)
    if why == "keeps its pace":
        of = [*QUEUE, queued(2_000, -0.5, pace=(2_000, 1.0))]
    found = binding(of, arrivals, calm)
    assert found is not None and not found.queue


def test_a_throughput_that_falls_behind_the_rate_indicates_a_queue() -> None:
    found = binding([*QUEUE, queued(2_000, -0.5, pace=(1_000, 1.0))], 1.0, CALM)
    assert found is not None and found.queue


def test_without_an_unloaded_measurement_the_lowest_level_stands_in() -> None:
    with_look, without = binding(QUEUE, 1.0, CALM), binding(QUEUE, 1.0)
    assert with_look is not None and without is not None and without.queue
    assert without.posterior.interval == with_look.posterior.interval


def test_if_few_requests_fit_into_the_limit_levels_may_hold_above_the_lasting_load() -> None:
    def scaled(load: float, passed_s: float | None) -> Judged:
        return queued(load / 50, passed_s)

    few = [scaled(900, None), scaled(950, None), scaled(1_050, 1.5), scaled(1_100, 0.5)]
    found = binding(few, 1.0, CALM)
    assert found is not None and found.queue
    gap = Queue(LIMIT, 0.25, CALM, 1.0, 3.0, near=1_050 / 50).gap
    assert found.posterior.interval == Posterior(few, NAME, of_shares(LIMIT, 1.0, gap)).interval
    plain = posterior(few).interval
    assert found.posterior.interval.low < plain.low
    assert found.posterior.interval.high / found.posterior.interval.low > plain.high / plain.low


def test_a_level_that_held_far_beyond_the_interval_is_within_it() -> None:
    # Connections that are dropped now and then make levels break at loads below those that held.
    torn = [*levels([100, 150, 160], [200, 205, 210, 220, 240]), *levels([300], [])]
    found = binding(torn, None, CALM)
    assert found is not None and not found.queue
    assert found.posterior.interval.high < 300
    assert found.point(torn).high == 300 and found.point(torn).low == found.posterior.interval.low
    # One that held by chance just beyond is allowed for by the law, and so is one before a queue grew.
    near = [*torn[:-1], *levels([1.01 * found.posterior.interval.high], [])]
    there = binding(near, None, CALM)
    assert there is not None and there.point(near) == there.posterior.interval
    queue = [*QUEUE, queued(1_300, None)]
    of_queue = binding(queue, 1.0, CALM)
    assert of_queue is not None and of_queue.queue and of_queue.point(queue) == of_queue.posterior.interval
