"""The whole search, with a simulated server: on queues whose breaking point is known beforehand."""

import math

import pytest
from crumple import contract
from crumple.find.conduct import find
from crumple.find.level import Level
from crumple.find.search import Guess
from crumple.find.seen import Base
from crumple.load import lost, objective
from crumple.load.site import NothingAnswered
from crumple.record.loss import Lost
from crumple.record.outage import Gap
from made_questions import Notes, question, searched, usual
from synthetic_server import DIED, SyntheticServer

pytestmark = [pytest.mark.weighs, pytest.mark.long]

# An M/M/1 queue has a p99 of ln(100) / (capacity - rate): 250 ms at 18.4 per second below its capacity.
EDGE_BELOW_CAPACITY_PER_S = 18.42


@pytest.mark.parametrize("capacity_per_s", [400.0, 2_000.0])
def test_it_finds_the_breaking_point_of_a_queue(capacity_per_s: float) -> None:
    found = usual()[1] if capacity_per_s == 2_000 else searched(SyntheticServer(capacity_per_s))[0]
    edge = capacity_per_s - EDGE_BELOW_CAPACITY_PER_S
    assert found.ending == "found" and found.point is not None
    assert found.point.low <= edge <= found.point.high
    assert found.point.high < 1.3 * found.point.low


def test_it_keeps_its_budget_including_start_up() -> None:
    for budget_s in (30.0, 90.0):
        server = SyntheticServer(2_000.0, start_s=2.0)
        found, notes = searched(server, budget_s=budget_s)
        assert 0.75 * budget_s < found.took_s <= budget_s and min(notes.left_s) >= 0


def test_it_measures_several_starts_each_a_new_process() -> None:
    server = SyntheticServer(2_000.0, spread=0.02)
    found, notes = searched(server)
    assert found.point is not None and found.point.n == server.starts == len(notes.starts) >= 3
    assert {level.start for level in found.levels} == set(range(server.starts))


def test_a_running_process_is_never_started_again() -> None:
    server, found, _ = usual(afresh=False)
    assert server.starts == 1 and found.point is not None and found.point.n == 1


def test_each_load_has_its_own_seed_and_a_repeated_search_the_same_seeds() -> None:
    first, second = SyntheticServer(2_000.0), SyntheticServer(2_000.0)
    for server in (first, second):
        searched(server, budget_s=30.0)
    seeds = [spec.seed for spec in first.loads]
    assert len(set(seeds)) == len(seeds)
    assert [spec.model_dump() for spec in first.loads] == [spec.model_dump() for spec in second.loads]


def test_the_first_guess_is_closed_and_levels_are_open_with_a_warm_up() -> None:
    server, found, notes = usual()
    guess, over, calm, first, *_ = server.loads
    assert guess.shape.kind == "closed" and notes.guesses == [64]
    assert found.guess and guess.warm_up and guess.warm_up.stop.duration_s == 2.0  # type: ignore[union-attr]
    # The backlog of the guess is answered before the first level.
    assert [spec.stop.requests for spec in (over, calm)] == [1, 20]  # type: ignore[union-attr]
    assert over.shape.connections == calm.shape.connections == 1  # type: ignore[union-attr]
    assert first.shape.kind == "open" and first.warm_up
    assert first.shape.rates[0].from_per_s == pytest.approx(0.75 * found.guess.per_s)


def test_by_connections_the_load_is_closed() -> None:
    # Each of n connections waits for the others: the median is 250 ms at n = 250 ms x capacity.
    server = SyntheticServer(400.0)
    found, notes = searched(server, by="connections", objective=objective.parse("p50<250ms"))
    assert not notes.guesses and found.guess is None
    assert {spec.shape.kind for spec in server.loads} == {"closed"}
    assert found.point is not None and found.point.low <= 100 <= found.point.high
    assert all(level.load == round(level.load) for level in found.levels)


@pytest.mark.parametrize("afresh", [True, False])
def test_a_server_that_dies_has_no_breaking_point(afresh: bool) -> None:
    server = SyntheticServer(1_500.0, dies_above_per_s=1_200.0)
    found, _ = searched(server, afresh=afresh)
    assert (found.ending, found.point, server.starts) == ("gone", None, 1)
    *before, died = found.levels
    assert all(level.outcome == "held" for level in before)
    assert (died.outcome, died.word, died.parts, died.judged.evidence) == ("limited", "lost", (), ())
    assert (died.throughput_per_s, died.p50_ns, died.failures) == (0.0, None, {})
    assert found.lost is not None and found.lost_at == died.load > 1_200
    assert found.lost.end == (DIED if afresh else None) and found.lost.refuses is not afresh


def test_what_was_found_before_a_server_dies_is_kept() -> None:
    server = SyntheticServer(2_000.0)
    server.dies_at = lambda _: len(server.loads) > 15
    found, _ = searched(server, afresh=False)
    *before, last = found.levels
    assert found.ending == "gone" and {level.outcome for level in before} >= {"held", "broke"}
    assert last.outcome == "limited" and found.lost_at == last.load
    assert found.point is not None and found.point.low < 2_000 < 1.2 * found.point.high


def test_a_server_that_answers_later_than_the_timeout_is_asked_with_more_patience() -> None:
    server = SyntheticServer(400.0)
    searched(server, budget_s=30.0)
    alone = [each for each in server.loads if each.stop.kind == "requests" and each.stop.requests == 1]
    assert alone and all(each.timeouts.request_s >= each.stop.within_s for each in alone)  # type: ignore[union-attr]


def test_a_server_that_is_started_again_within_a_level_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, gap = SyntheticServer(2_000.0), Gap(0.5, 1.4, 500, 8)
    seen = [None, None, Lost(gaps=(gap,))]
    monkeypatch.setattr(lost, "find_restart", lambda _: seen.pop(0))
    found, _ = searched(server, afresh=False)
    assert found.ending == "gone" and found.lost is not None and found.lost.gaps == (gap,)
    assert [level.word for level in found.levels] == ["valid", "valid", "lost"]
    assert found.lost_at == found.levels[-1].load


def test_a_server_that_dies_in_the_guess_has_no_guess() -> None:
    server = SyntheticServer(2_000.0)

    def ends(spec: contract.TrialSpec) -> bool:
        return len(server.loads) == 2

    server.dies_at = ends
    found, _ = searched(server, afresh=False)
    assert (found.ending, found.guess, found.levels, found.point) == ("gone", None, (), None)
    assert found.lost is not None and found.lost.refuses and found.lost_at is None


def test_a_server_that_is_asked_no_more_as_the_time_is_over_is_not_gone() -> None:
    server = SyntheticServer(400.0)

    class Slow(Notes):
        def tried(self, level: Level, left_s: float) -> None:
            super().tried(level, left_s)
            if level.outcome == "broke":
                server.now_s += 90.0

    notes = Slow()
    found = find(question(), server.site(afresh=False), server.run, server.clock, notes)
    assert [each.outcome for each in notes.levels].count("broke") == 1
    assert found.ending != "gone"


def test_without_any_answer_the_search_ends_at_once() -> None:
    server = SyntheticServer(5_000.0, refuses=True)
    with pytest.raises(NothingAnswered) as said:
        searched(server)
    assert said.value.record.outcomes.refused == 100 and len(server.loads) == 1
    with pytest.raises(NothingAnswered):
        searched(SyntheticServer(5_000.0, refuses=True), by="connections")


def test_the_engine_reaches_its_limit_first() -> None:
    found, _ = searched(SyntheticServer(20_000.0, engine_limit_per_s=6_000.0))
    assert found.ending == "engine" and found.point is None
    # A level of seconds may hold slightly above the engine's limit.
    assert found.highest_held is not None and 5_000 < found.highest_held <= 6_300


def test_an_objective_that_no_load_meets() -> None:
    found, _ = searched(SyntheticServer(400.0), objective=objective.parse("p50<1us"))
    assert found.ending == "never" and found.point is None and found.highest_held is None


def test_a_slow_server_gets_a_result_within_the_budget() -> None:
    found, _ = searched(SyntheticServer(60.0), budget_s=60.0, objective=objective.parse("p90<250ms"))
    edge = 60 - math.log(10) / 0.25
    assert found.ending == "found" and found.point is not None
    assert found.point.low <= edge <= found.point.high < 2 * found.point.low


def test_a_level_without_a_slow_answer_holds_after_a_known_number_of_answers() -> None:
    _, notes = searched(SyntheticServer(200.0), budget_s=60.0, objective=objective.parse("p99<250ms"))
    held = [level for level in notes.levels if level.outcome == "held"]
    assert held and all(level.ok >= 300 for level in held)
    slow = [level for level in notes.levels if level.measured_s < 1.7]
    assert all(level.outcome == "broke" or level.load > 150 for level in slow)


def test_a_level_ends_once_it_is_decided() -> None:
    server = SyntheticServer(2_000.0)
    _, notes = searched(server, budget_s=60.0, objective=objective.parse("p99<250ms"))
    planned = {step.load: step.measure_s for step in notes.steps}
    early = [level for level in notes.levels if level.measured_s < 0.9 * planned[level.load]]
    assert {level.outcome for level in early} >= {"held", "broke"} and notes.lines > 100
    spec = next(spec for spec in server.loads if spec.shape.kind == "open")
    assert (spec.progress.every_ms, spec.progress.slower_than_ns) == (100, (250_000_000,))


def test_the_view_is_told_what_the_budget_can_reach() -> None:
    _, notes = searched(SyntheticServer(66.0), budget_s=60.0, objective=objective.parse("p99<250ms"))
    (outlook,) = notes.outlooks
    assert 8 <= outlook.levels <= 14 and outlook.load == pytest.approx(49, rel=0.2)
    assert (outlook.least_s, outlook.most_s) == (1.0, 6.0)
    half = objective.parse("p50<250ms")
    _, notes = searched(SyntheticServer(400.0), by="connections", objective=half, budget_s=20.0)
    assert notes.outlooks[0].load is None


def test_it_searches_far_below_the_first_level_that_broke() -> None:
    # A request alone takes 10 ms on average; the median is 6.9 ms.
    found, _ = searched(SyntheticServer(100.0), objective=objective.parse("p50<8ms"), afresh=False)
    edge = 100 - math.log(2) / 0.008
    first_broken = found.levels[0]
    assert first_broken.outcome == "broke" and first_broken.load > 5 * edge
    assert found.ending == "found" and found.point is not None and found.highest_held is not None
    assert edge / 2 < found.point.estimate < 2 * edge


def test_a_server_that_fails_at_every_level_never_holds() -> None:
    found, notes = searched(SyntheticServer(2_000.0, wrong_share=0.05))
    assert found.ending == "never" and found.point is None and found.highest_held is None
    assert all(level.statuses == {500: level.failures["wrong-status"]} for level in notes.levels)
    assert found.took_s < 45, "it need not use up its budget"


def test_a_server_that_fails_at_every_level_never_holds_even_if_the_engine_is_late() -> None:
    found, _ = searched(SyntheticServer(2_000.0, wrong_share=0.05, engine_limit_per_s=1.0))
    assert found.ending == "never"
    assert {level.word for level in found.levels} == {"schedule-missed"}
    assert "broke" in {level.outcome for level in found.levels}
    assert all(level.judged.leans_against for level in found.levels if level.outcome != "limited")
    assert {part.name for level in found.levels for part in level.broken} == {"failed<0.1%"}


def test_an_interrupted_search_keeps_its_levels() -> None:
    _, whole, _ = usual(afresh=False)
    loads = SyntheticServer(2_000.0, interrupted_at=12)
    found, notes = searched(loads, afresh=False)
    assert found.ending == "interrupted" and found.point is not None and whole.point is not None
    assert found.levels == tuple(notes.levels) and found.levels == whole.levels[: len(found.levels)]
    none, _ = searched(SyntheticServer(2_000.0, interrupted_at=1), afresh=False)
    assert none.ending == "interrupted" and not none.levels and none.point is None


def test_a_guess_limited_by_its_connections_is_not_at_capacity() -> None:
    bound = SyntheticServer(50_000.0, takes_s=0.05)
    found, _ = searched(bound, objective=objective.parse("p99<250ms"), budget_s=30.0)
    assert found.guess is not None and found.guess.per_s < 2_000 and not found.is_flat_out
    assert found.calm is not None and found.calm.pace is None


def test_a_guess_at_capacity_gives_the_prior_throughput() -> None:
    _, found, _ = usual()
    assert found.is_flat_out and found.guess is not None and found.calm is not None
    assert found.calm.pace == (found.guess.answers, found.guess.seconds)
    assert found.guess.per_s == pytest.approx(2_000, rel=0.1)


def test_a_guess_is_at_capacity_if_its_answers_take_twice_as_long_as_a_single_one() -> None:
    calm = Base(median_s=0.05, variation=0.0)
    assert Guess(1_000, 2.0, 64, 101e6).is_flat_out(calm)
    assert not Guess(1_000, 2.0, 64, 99e6).is_flat_out(calm)
    assert Guess(1_000, 2.0, 64, 99e6).per_s == 500


def test_one_disturbed_level_does_not_move_the_result() -> None:
    for slip in (1, 2, 4):
        found, _ = searched(SyntheticServer(2_000.0, slip_at=(slip,)), budget_s=60.0)
        assert found.point is not None
        assert found.point.low <= 2_000 - EDGE_BELOW_CAPACITY_PER_S <= found.point.high


def test_after_a_level_that_broke_it_waits_until_one_request_is_answered() -> None:
    server, *_ = usual()
    kinds = [spec.stop.kind for spec in server.loads]
    assert kinds.count("requests") == sum(1 for spec in server.loads if spec.stop.kind == "requests") > 3
    assert all(
        spec.shape.connections == 1  # type: ignore[union-attr]
        for spec in server.loads
        if spec.stop.kind == "requests"
    )
