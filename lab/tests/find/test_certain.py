"""What of a search is certainly the server's, where others took something from its levels."""

from dataclasses import replace

import pytest
from crumple.find.breaking_point import binding, on_a_calm_machine
from crumple.find.certain import certain
from crumple.find.seen import Base, Judged, PartEvidence
from made_levels import LIMIT, NAME, levels

CALM = Base(median_s=0.05, variation=1.0)


def broken(against: int, taken_share: float, slowdown: float, *, load: float = 1_000.0) -> Judged:
    """A level of four seconds and 1,000 answers, so many of which took longer than 250 ms."""
    seen = PartEvidence(
        NAME, LIMIT, 1_000, against, bunches=against, settled_s=1.0, watched_s=4.0, passed_s=1.0,
        pace=(3_600, 4.0), limit_s=0.25,
    )  # fmt: skip
    return Judged(load, 0, "broke", (seen,), CALM, taken_share, slowdown, 3 * taken_share)


def test_a_level_that_held_beside_others_holds_without_them() -> None:
    (held,) = levels([900], [])
    slowed = replace(held, taken_share=0.2, slowdown=1.25, delayed_share=0.6)
    assert certain([slowed], CALM) == [slowed]


def test_without_others_a_level_breaks_at_a_load_that_is_higher_by_the_slowdown() -> None:
    (level,) = certain([broken(800, 0.1, 1.2)], CALM)
    assert level.load == pytest.approx(1_200) and level.leans_against
    (evidence,) = level.evidence
    # Of three requests for each that came while others had the cores, none counts.
    assert evidence.against == 500 and evidence.passed_s == 1.0
    assert evidence.pace == (4_320, 4.0)


def test_slow_answers_that_others_may_have_made_slow_say_nothing() -> None:
    (level,) = certain([broken(200, 0.1, 1.2)], CALM)
    assert not level.evidence[0].leans_against and level.evidence[0].passed_s is None


def test_others_that_had_the_cores_for_less_than_a_request_has_left_made_none_slow() -> None:
    # They had them for 0.16 s in all, and a request has 0.2 s left until it counts as slow.
    (level,) = certain([broken(200, 0.04, 1.05)], CALM)
    assert level.evidence[0].against == 200
    assert certain([broken(200, 0.06, 1.05)], CALM)[0].evidence[0].against == 20


def test_a_level_that_nothing_was_taken_from_stays_as_it_is() -> None:
    assert certain([broken(200, 0.0, 1.0)], CALM) == [broken(200, 0.0, 1.0)]


@pytest.mark.weighs
def test_the_interval_reaches_to_where_it_breaks_certainly() -> None:
    calm = levels([900, 960, 980], [1_020, 1_040, 1_100])
    found = binding(calm, None, CALM)
    assert found is not None
    plain = on_a_calm_machine(found, calm, None, CALM)
    assert plain == found.point(calm)
    slowed = [replace(each, taken_share=0.1, slowdown=1.2, delayed_share=0.3) for each in calm]
    wider = on_a_calm_machine(found, slowed, None, CALM)
    assert plain is not None and wider is not None
    assert wider.low == plain.low and wider.high == pytest.approx(1.2 * plain.high, rel=0.05)


@pytest.mark.weighs
def test_where_others_may_have_broken_every_level_there_is_no_interval() -> None:
    (held,) = levels([500], [])
    seen = [held, *(broken(100, 0.2, 1.2, load=load) for load in (900.0, 1_000.0))]
    found = binding(seen, None, CALM)
    assert found is not None and on_a_calm_machine(found, seen, None, CALM) is None


def failing(load: float, against: int, taken_share: float = 0.05, slowdown: float = 1.053) -> Judged:
    """A level of four seconds in which so many requests failed, of which 0.1 % may."""
    known = round(4 * load)
    seen = PartEvidence("failed<0.1%", 0.001, known, against, bunches=min(1, against))
    return Judged(
        load, 0, "broke" if against else "held", (seen,), CALM, taken_share, slowdown, 3 * taken_share
    )


def test_failures_that_others_may_have_caused_say_nothing() -> None:
    # Others had the core for 0.2 s in a row: 160 requests came meanwhile, and a listen queue holds 128.
    (level,) = certain([failing(800, 32)], CALM)
    assert not level.evidence[0].leans_against
    (level,) = certain([failing(800, 1_600)], CALM)
    assert level.evidence[0].against == 1_600 - 480


@pytest.mark.weighs
def test_there_is_no_interval_where_what_was_taken_explains_all_failures() -> None:
    seen = [*(failing(load, 0) for load in (400, 500, 600)), failing(800, 32), failing(1_000, 72)]
    found = binding(seen, 1.0, CALM)
    assert found is not None and on_a_calm_machine(found, seen, 1.0, CALM) is None


@pytest.mark.parametrize("by_others", [True, False])
def test_a_level_as_a_whole_counts_unless_others_may_have_broken_it(by_others: bool) -> None:
    seen = PartEvidence("keeps up", 0.5, known=1, against=1, bunches=1, by_others=by_others)
    (level,) = certain([Judged(1_000.0, 0, "broke", (seen,), CALM, 0.2, 1.25)], CALM)
    assert level.evidence[0].leans_against is not by_others
