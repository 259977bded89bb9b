"""A comparison as a whole, on synthetic servers: its blocks, its ends, what is lost and what is repeated."""

from collections import Counter
from dataclasses import replace

import documents
import numpy as np
import pytest
from crumple.contract import ClosedShapeSpec, OpenShapeSpec, RateSpec, Series, TrialRecord
from crumple.errors import NothingCompared, ServerFailed
from crumple.record import disturbance
from crumple.record.disturbance import Disturbance
from crumple.record.validity import Validity, Word
from crumple.stats.sequential import Looks
from crumple.versus import calibrating, lengths, standing, turn, versus_course
from crumple.versus.calibrating import Calibrated, SampleAnswer
from crumple.versus.letters import TWIN
from crumple.versus.standing import Rule
from crumple.versus.turn import PutOn, Turn, VersusBlock
from crumple.versus.versus_course import UnansweredVersion, VersionComparison
from synthetic_server import VALID, SyntheticServer
from synthetic_versions import LOADS, Machine, machine

NOTHING = Disturbance(others_share=0.0, steal_share=0.0)


@pytest.mark.long
@pytest.mark.long
def test_a_faster_server_is_found_and_the_comparison_ends() -> None:
    there = machine(1_000.0, 1_500.0)
    compared = there.compare()
    found = {each.figure: each for each in compared.ratios}
    assert found["throughput"].answer == found["cpu"].answer == found["p50"].answer == "different"
    throughput = found["throughput"].interval
    assert throughput is not None and throughput.low < 1.5 < throughput.high
    assert found["p50"].interval is not None and found["p50"].interval.high < 0.8
    assert compared.ending in ("decided", "no use") and compared.took_s < LOADS.budget_s


@pytest.mark.long
def test_each_block_has_a_turn_of_every_version_and_of_the_twin_in_random_order() -> None:
    there = machine(800.0, 800.0, 900.0)
    compared = there.compare()
    orders = [[each.letter for each in block.turns] for block in compared.blocks]
    assert len(orders) >= 3 and all(Counter(order) == Counter(["A", TWIN, "B", "C"]) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert {each.letter for each in compared.ratios} == {"B", "C"}


def test_each_turn_is_a_fresh_start_of_that_version() -> None:
    there = machine(1_000.0, 1_000.0)
    compared = there.compare()
    blocks = len(compared.blocks)
    # The first start of each is for the calibration; A has a twin.
    assert there.opened == {"A": 1 + 2 * blocks, "B": 1 + blocks}


def test_the_turns_of_a_block_have_the_same_loads_and_the_same_arrivals() -> None:
    there = machine(1_000.0, 1_500.0)
    compared = there.compare()
    loads = [spec for spec in there.specs if "/" in spec.label]
    of_first = [spec for spec in loads if spec.label.split("/")[1] == "1"]
    assert len(of_first) == 6 and len({spec.seed for spec in of_first}) == 1
    assert len({spec.seed for spec in loads}) == len(compared.blocks)
    rates = {spec.shape.rates[0].from_per_s for spec in loads if isinstance(spec.shape, OpenShapeSpec)}
    assert rates == {compared.rate_per_s}
    assert {spec.shape.connections for spec in loads if isinstance(spec.shape, ClosedShapeSpec)} == {16}


@pytest.mark.long
def test_the_rate_is_a_share_of_what_the_slowest_takes_unless_it_is_given() -> None:
    assert machine(1_000.0, 400.0).compare().rate_per_s == pytest.approx(200.0, rel=0.15)
    given = machine(1_000.0, 400.0).compare(replace(LOADS, rate_per_s=77.0))
    assert given.rate_per_s == 77.0


def test_of_servers_that_are_alike_nothing_is_called_different() -> None:
    compared = machine(1_000.0, 1_000.0).compare()
    assert {each.answer for each in compared.ratios} <= {"alike", "undecided"}


def test_when_blocks_take_longer_than_planned_the_last_look_has_the_rest_of_the_error() -> None:
    there = machine(1_000.0, 1_010.0)
    plain = versus_course._VersusCourse._turn

    def slower(self: versus_course._VersusCourse, letter: str, number: int) -> turn.Turn:
        there.paused_s += 3.0
        return plain(self, letter, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versus_course._VersusCourse, "_turn", slower)
        compared = there.compare(replace(LOADS, tolerance=0.001))
    assert there.watcher.rule is not None and len(compared.blocks) < there.watcher.rule.looks.most
    assert compared.ending == "budget" and compared.took_s < LOADS.budget_s + 1.0
    done = len(compared.blocks)
    assert compared.seen[-1].blocks == done
    last = compared.seen[-1].ratios[0].interval
    planned = 1 - there.watcher.rule.looks.confidence(done, 1 - 0.02 / there.watcher.rule.comparisons)
    assert last is not None and 1 - last.confidence > planned


@pytest.mark.long
@pytest.mark.parametrize("start_s", [0.1, 2.0, 8.0])
@pytest.mark.parametrize("rate_per_s", [None, 20.0, 100.0])
def test_a_budget_that_is_too_short_is_refused_and_the_one_that_is_named_is_enough(
    start_s: float, rate_per_s: float | None
) -> None:
    def compared(budget_s: float) -> VersionComparison:
        there = machine(1_000.0, 7_000.0)
        for server in there.servers.values():
            server.start_s = start_s
        return there.compare(replace(LOADS, budget_s=budget_s, rate_per_s=rate_per_s))

    budget_s = 10.0
    with pytest.raises(
        NothingCompared,
        match=r"a block takes \d+ s, \d+ s of the budget are left, and it takes 4 blocks; write --budget \d",
    ) as refused:
        compared(budget_s)
    assert refused.value.exit_code == 3
    named_s = float(str(refused.value.remedy).split("--budget ")[1].split("s")[0])
    found = compared(named_s)
    assert len(found.blocks) >= lengths.LEAST and found.took_s <= named_s
    throughput = next(each for each in found.ratios if each.figure == "throughput")
    assert throughput.answer == "different" and throughput.interval is not None
    assert throughput.interval.low > 2


def test_a_version_that_is_not_answered_as_expected_ends_it_at_once() -> None:
    there = Machine({"A": SyntheticServer(1_000.0), "B": SyntheticServer(1_000.0, refuses=True)})
    with pytest.raises(UnansweredVersion) as nothing:
        there.compare()
    assert nothing.value.letter == "B" and not there.watcher.turns


def test_a_version_that_does_not_start_is_named() -> None:
    with pytest.raises(ServerFailed, match=r"^B, synthetic, did not start: it ended with code 1 before it"):
        machine(1_000.0, 1_500.0, refuses_at={"B": 1}).compare()


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"ends_at": {"B": 4}}, "B was lost in block 3 before 06:30:12 UTC: its process 7 ended with code 1"),
        (
            {"refuses_at": {"B": 4}},
            "B did not start again in block 3: it ended with code 1 before it answered",
        ),
    ],
)
def test_what_was_measured_stays_when_a_version_is_lost(
    changes: dict[str, dict[str, int]], gone: str
) -> None:
    compared = machine(1_000.0, 1_500.0, **changes).compare()
    assert (compared.ending, compared.gone, len(compared.blocks)) == ("gone", gone, 2)
    assert compared.ratios and all(each.answer == "undecided" for each in compared.ratios)


def test_a_version_that_answers_nothing_any_more_is_lost() -> None:
    there = machine(1_000.0, 1_500.0)
    there.servers["B"].dies_above_per_s = 10.0
    compared = there.compare()
    assert compared.ending == "gone" and not compared.blocks
    lost = "B was lost in block 1 before 06:30:12 UTC: nobody listens at 127.0.0.1:66 any more"
    assert compared.gone == lost


def test_an_interruption_keeps_the_blocks_that_are_over() -> None:
    compared = machine(1_000.0, 1_500.0, interrupted_at={"B": 4}).compare()
    assert (compared.ending, len(compared.blocks)) == ("interrupted", 2)
    assert all(each.interval is not None for each in compared.ratios)
    early = machine(1_000.0, 1_500.0, interrupted_at={"B": 1}).compare()
    assert (early.ending, early.blocks, early.rule, early.ratios) == ("interrupted", (), None, ())


@pytest.mark.long
@pytest.mark.parametrize(("word", "ending"), [("disturbed", "budget"), ("unsteady", "no use")])
def test_disturbed_blocks_are_no_reason_to_give_up(word: Word, ending: str) -> None:
    refused = Validity(word, ("made up",), ())
    # With loads that are as short as these, more blocks fit than are waited for.
    there = machine(8_000.0, 8_000.0, judged=lambda _: refused)
    compared = there.compare(replace(LOADS, budget_s=240.0))
    assert compared.rule is not None and compared.rule.looks.most > 8
    assert compared.ending == ending


def test_a_load_that_is_not_valid_counts_in_no_figure_of_its_own() -> None:
    limited = Validity("engine-limited", ("the engine used 90% of its cores",), ())

    def judged(record: TrialRecord) -> Validity:
        return limited if isinstance(record.spec.shape, ClosedShapeSpec) else VALID

    compared = machine(1_000.0, 1_500.0, judged=judged).compare()
    found = {each.figure: each for each in compared.ratios}
    assert found["throughput"].interval is None and found["cpu"].interval is None
    assert found["p50"].answer == "different"


def test_a_server_that_fails_requests_is_not_compared_by_its_speed() -> None:
    record = documents.record(outcomes=documents.outcomes(ok=9_000, wrong_status=1_000))
    failing = turn.load_by_connections(record, VALID, NOTHING)
    assert not failing.counts and "10.0% of the requests failed" in failing.against[0]
    assert turn.load_by_connections(documents.record(), VALID, NOTHING).counts


def test_without_the_process_cpu_time_is_not_compared() -> None:
    compared = machine(1_000.0, 1_500.0, watched=False).compare()
    assert compared.rule is not None and "cpu" not in compared.rule.figures
    assert {each.figure for each in compared.ratios} == {*compared.rule.figures}


@pytest.mark.long
def test_processes_that_ran_already_have_a_short_warm_up() -> None:
    running, fresh = (machine(1_000.0, 1_500.0, afresh=afresh) for afresh in (False, True))
    assert {each.warm_up_s for each in running.compare().known.values()} == {calibrating.REWARM_S}
    assert {each.warm_up_s for each in fresh.compare().known.values()} == {calibrating.WARM_UP_S_MIN}
    given = machine(1_000.0, 1_500.0).compare(replace(LOADS, warm_up_s=1.5))
    assert {each.warm_up_s for each in given.known.values()} == {1.5}


def series(*ok: int) -> Series:
    """A series of tenths of a second with so many answers each."""
    rows = len(ok)
    nothing: tuple[None, ...] = (None,) * rows
    return documents.record().series.model_copy(
        update={
            "at_ns": tuple(at * 100_000_000 for at in range(rows)),
            "duration_ns": (100_000_000,) * rows,
            "ok": ok,
            "failed": (0,) * rows,
            "p50_ns": nothing,
        }
    )


@pytest.mark.parametrize(
    ("ok", "settled_s"),
    [
        ([100] * 40, 0.0),
        ([20] * 5 + [100] * 35, 0.5),
        ([20] * 5 + [50] * 5 + [80] * 5 + [100] * 25, 1.5),
        ([100] * 4, 0.0),
        ([], 0.0),
    ],
)
def test_the_throughput_has_settled_when_it_rises_no_more(ok: list[int], settled_s: float) -> None:
    assert calibrating.settled(series(*ok)) == settled_s


def test_the_throughput_is_that_after_it_had_settled() -> None:
    record = documents.record(series=series(*[20] * 10, *[100] * 10))
    assert calibrating.per_s(record, 1.0) == pytest.approx(1_000.0)
    assert calibrating.per_s(record, 5.0) == pytest.approx(10_000.0)
    assert calibrating.per_s(documents.record(), 0.0) == pytest.approx(10_000.0)


WITHOUT_ANSWER = {"p50": 1e6, "p90": 1e6, "p99": 9e8}


def known(per_s: float, warm_up_s: float = 0.5, beside_s: float = 0.3) -> Calibrated:
    return Calibrated((), per_s, warm_up_s, beside_s)


def test_a_load_at_the_rate_lasts_until_it_has_the_answers_for_p99() -> None:
    fast = lengths.lengths((known(4_000.0), known(4_000.0)), 2_000.0, 120.0)
    assert (fast.rate_s, fast.closed_s) == (lengths.RATE_S, lengths.CLOSED_S)
    assert fast.quantiles == ("p50", "p90", "p99")
    slower = lengths.lengths((known(1_000.0), known(1_000.0)), 500.0, 120.0)
    assert slower.rate_s == pytest.approx(2.2) and slower.quantiles == ("p50", "p90", "p99")
    slow = lengths.lengths((known(100.0), known(100.0)), 50.0, 120.0)
    assert slow.quantiles == ("p50", "p90") and slow.rate_s == pytest.approx(2.2)
    assert slow.closed_s == lengths.CLOSED_S_MAX
    slowest = lengths.lengths((known(4.0), known(4.0)), 2.0, 120.0)
    assert slowest.quantiles == () and slowest.rate_s == lengths.RATE_S


def test_a_block_takes_what_its_turns_take() -> None:
    one, other = known(4_000.0, 0.5, 0.3), known(4_000.0, 2.0, 1.3)
    found = lengths.lengths((one, other), 2_000.0, 120.0)
    loads_s = calibrating.REWARM_S + lengths.ENGINE_S + found.closed_s + found.rate_s
    assert found.block_s == pytest.approx(2 * (0.8 + loads_s) + 3.3 + loads_s)


@pytest.mark.parametrize(("left_s", "least", "most"), [(100.0, 4, 10), (49.0, 4, 4), (10_000.0, 4, 60)])
def test_there_are_as_many_looks_as_blocks_fit(left_s: float, least: int, most: int) -> None:
    looks = lengths.looks(10.0, left_s)
    assert looks is not None and (looks.least, looks.most) == (least, most)


def test_four_blocks_are_the_fewest() -> None:
    assert lengths.looks(10.0, 39.0) is None


def test_loads_are_shorter_where_the_time_is_short_and_keep_the_answers_for_the_median() -> None:
    versions = (known(4_000.0), known(4_000.0))
    plain, short = (lengths.lengths(versions, 100.0, 30.0, left_s) for left_s in (100.0, 31.0))
    assert (plain.closed_s, plain.rate_s) == (lengths.CLOSED_S, lengths.RATE_S)
    assert lengths.CLOSED_S_LEAST <= short.closed_s < plain.closed_s and short.rate_s < plain.rate_s
    assert "p50" in short.quantiles and lengths.LEAST * short.block_s <= 31.0
    none = lengths.lengths(versions, 30.0, 30.0, 0.0)
    assert none.closed_s == lengths.CLOSED_S_LEAST and "p50" in none.quantiles


def test_answers_that_differ_are_noted() -> None:
    one = SampleAnswer("GET /", 200, "text/plain", 13)
    assert calibrating.differences((one,), (one,)) == []
    for change in ({"status": 201}, {"body_bytes": 14}, {"content_type": "text/html"}):
        other = replace(one, **change)  # type: ignore[arg-type]
        assert calibrating.differences((one,), (other,)) == [(one, other)]


def test_quantiles_that_are_not_the_servers_alone_are_left_out() -> None:
    times = documents.histogram({2_000_000: 9_000, 4_000_000: 1_000})
    late = documents.histogram({20_000_000: 600, 1_000: 9_400})
    plain = documents.record()
    histograms = plain.histograms.model_copy(update={"response_time": times, "engine_lateness": late})
    outcomes = documents.outcomes(ok=10_000)
    record = plain.model_copy(update={"histograms": histograms, "outcomes": outcomes})
    assert set(turn.load_at_rate(record, VALID, NOTHING).figures) == {"p50"}
    on_time = plain.histograms.model_copy(update={"response_time": times})
    record = plain.model_copy(update={"histograms": on_time, "outcomes": outcomes})
    assert set(turn.load_at_rate(record, VALID, NOTHING).figures) == {"p50", "p90", "p99"}


def test_a_version_that_leaves_slow_requests_unfinished_does_not_look_faster() -> None:
    plain = documents.record()
    shape = OpenShapeSpec(connections=32, rates=(RateSpec(from_per_s=500, to_per_s=500, duration_s=2),))
    times = {
        "response_time": documents.histogram({1_000_000: 1_940}),
        "unfinished_age": documents.histogram({900_000_000: 60}),
    }
    record = plain.model_copy(
        update={
            "spec": documents.spec(shape=shape),
            "histograms": plain.histograms.model_copy(update=times),
            "outcomes": documents.outcomes(ok=1_940, unfinished=60),
        }
    )
    load = turn.load_at_rate(record, VALID, NOTHING)
    assert load.figures == {name: pytest.approx(ns, rel=1e-3) for name, ns in WITHOUT_ANSWER.items()}
    assert load.at_least == ("p99",) and "had no answer when it ended" in load.warnings[0]
    block = VersusBlock((Turn("B", turn.load_by_connections(record, VALID, NOTHING), load),))
    assert turn.bounded([block, block]) == {"p99": {"B": [1, 2]}}


def test_a_figure_that_others_may_have_changed_wholly_is_left_out_of_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disturbance, "SLOWDOWN_MAX", 2.0)
    # One of 20 turns: nothing is known of its p50, and the other 19 decide.
    good = PutOn(
        figures={"p50": 5e6}, word="valid", against=(), warnings=(), failed_share=0.0, answered_share=1.0,
        times=documents.histogram({}),
    )  # fmt: skip
    bad = turn.with_factors(good, {"p50": (0.0, 1.0)})
    assert bad.disturbed == ("p50",) and bad.counts and bad.compared == {}
    assert turn.with_factors(good, {"p50": (0.6, 1.0)}).disturbed == ()
    empty = replace(good, figures={})
    slow = replace(good, figures={"p50": 1e7})
    blocks = [
        VersusBlock((Turn("A", empty, good), Turn("A′", empty, good), Turn("B", empty, slow)))
        for _ in range(19)
    ]
    blocks.insert(7, VersusBlock((Turn("A", empty, good), Turn("A′", empty, good), Turn("B", empty, bad))))
    assert 8 not in turn.rows(blocks)["p50"]["B"] and len(turn.rows(blocks)["p50"]["B"]) == 19
    assert "B" not in turn.factors(blocks).get("p50", {})
    assert blocks[7].by_letter["B"].against == ("others may have changed p50 by more than a factor of 2",)
    rule = Rule(("p50",), ("B",), Looks(5, 20), 0.05)
    (seen,) = standing.look(rule, turn.rows(blocks), 20, factors=turn.factors(blocks)).ratios
    assert seen.answer == "different"


def test_what_others_took_is_what_the_site_says_in_factors_too() -> None:
    taken = Disturbance(others_share=0.2, steal_share=0.0, taken_share=0.2, slowdown=1.25)
    record = documents.record()
    load = turn.load_by_connections(record, VALID, taken)
    assert load.slowdown == 1.25 and load.factors["throughput"] == (1.0, 1.25)
    there = machine(1_000.0, 1_500.0, taken=lambda _: taken)
    loads = [load for block in there.compare().blocks for each in block.turns for load in each.loads]
    assert {load.slowdown for load in loads} == {1.25}


CORES_APART = [[0], [1], [2]]


@pytest.mark.parametrize(
    ("engine", "server", "physical", "read"),
    [
        ((0,), (1, 2), CORES_APART, (1, 2)),
        ((), (1, 2), CORES_APART, ()),
        ((1,), (1, 2), CORES_APART, ()),
        ((0,), (1, 2), [[0], [1, 2]], ()),
        ((0,), (1,), [[0, 1], [2]], ()),
        ((0,), (2,), [[0, 1], [2]], (2,)),
    ],
    ids=["apart", "engine anywhere", "together", "siblings", "engine beside", "another physical core"],
)
def test_the_speed_of_the_servers_cores_is_read_where_that_delays_nobody_and_tells_of_the_core(
    monkeypatch: pytest.MonkeyPatch,
    engine: tuple[int, ...],
    server: tuple[int, ...],
    physical: list[list[int]],
    read: tuple[int, ...],
) -> None:
    monkeypatch.setattr(versus_course.facts, "physical_cores", lambda: physical)
    found = machine(1_000.0, 1_500.0, engine_cores=engine, server_cores=server)
    found.compare()
    asked = {spec.probe.speed_of_cores for spec in found.specs if spec.label != "calibration"}
    assert asked == {read}


def test_speeds_that_were_read_change_the_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versus_course.facts, "physical_cores", lambda: CORES_APART)
    random = np.random.default_rng(3)
    speeds = [float(each) for each in random.lognormal(9, 0.2, 1_000)]
    found = [
        machine(1_000.0, 1_050.0, engine_cores=(0,), server_cores=(1,), speed_per_s=speed).compare()
        for speed in (None, lambda load: speeds[load])
    ]
    without, with_speeds = ({each.figure: each.interval for each in one.ratios} for one in found)
    assert with_speeds["throughput"] != without["throughput"]
    assert found[1].blocks[0].turns[0].closed.speed_per_s in speeds


def test_it_does_not_end_early_while_the_slope_of_the_speed_is_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(versus_course.facts, "physical_cores", lambda: CORES_APART)
    monkeypatch.setattr(versus_course.standing, "goes_on", lambda *_: False)
    monkeypatch.setattr(versus_course, "LEARNED_BLOCKS", 5)
    for speed, blocks in ((lambda _: 1.0, 5), (None, lengths.LEAST)):
        found = machine(1_000.0, 1_050.0, engine_cores=(0,), server_cores=(1,), speed_per_s=speed).compare()
        assert (found.ending, len(found.blocks)) == ("no use", blocks)
