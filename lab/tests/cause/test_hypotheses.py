"""Hypotheses: what a reading says of one, what is believed of many, and which experiment is next."""

import inspect
import math
from dataclasses import replace
from pathlib import Path

import made_at_load
import numpy as np
import pytest
import simulated_causes
from crumple.cause import experiments, judged, next_experiment, reading_words, readings
from crumple.cause.belief import believed, in_favour
from crumple.cause.hypotheses import causes
from crumple.cause.hypotheses.usual import USUAL
from crumple.cause.hypothesis import ALL, ASTRAY, MOST, NONE, SAME, Range, Reading, Scene, Way, weight
from crumple.drawing.numerals import NARROW
from crumple.limit import what_if
from crumple.limit.finding import CAUSES, Finding, Unclear
from crumple.observation.at_load import Peer, Stage
from crumple.observation.outcome import Crowd, ExperimentOutcomes, LoadPairs, Longer, MeasuredRate
from crumple.observation.server_facts import ServerFacts


def server(cause: str, seed: int = 1) -> ServerFacts:
    """A simulated server with this cause whose requests wait."""
    random = np.random.default_rng(seed)
    while not (found := simulated_causes.drawn(cause, random)).is_harmed:
        pass
    return found


def test_a_reading_in_the_range_speaks_for_it_by_how_narrow_the_range_is() -> None:
    assert weight(Reading(0.0, 0.01), NONE) == pytest.approx(math.log(10), abs=0.02)
    assert weight(Reading(0.9, 0.01), ALL) == pytest.approx(math.log(5), abs=0.02)
    assert weight(Reading(0.0, 0.01, "ratio"), SAME) == pytest.approx(math.log(12), abs=0.02)
    assert weight(Reading(0.7, 0.01), Range(0.0, 1.0)) == pytest.approx(0.0, abs=0.01)


def test_a_reading_outside_speaks_against_it_but_never_rules_it_out() -> None:
    assert weight(Reading(0.9, 0.001), NONE) == pytest.approx(math.log(ASTRAY), abs=0.1)
    near, far = (weight(Reading(value, 0.05), NONE) for value in (0.2, 0.4))
    assert math.log(ASTRAY) < far < near < 0


def test_an_uncertain_reading_says_less() -> None:
    sure, unsure = (weight(Reading(0.05, sd), NONE) for sd in (0.01, 0.3))
    assert sure > unsure > 0


def test_the_end_of_a_scale_takes_nothing_from_a_range_that_reaches_it() -> None:
    assert weight(Reading(0.0, 0.1), NONE) > 0.9 * math.log(10)
    assert weight(Reading(1.0, 0.1), MOST) > 0.9 * math.log(2)


def test_all_probabilities_add_up_and_something_else_is_among_them() -> None:
    held = believed(causes.ALL, judged.scene_of(server("workers")))
    assert sum(each.probability for each in held) == pytest.approx(1.0)
    assert [each for each in held if each.hypothesis is None]
    assert [each.probability for each in held] == sorted((each.probability for each in held), reverse=True)


def test_what_was_not_read_says_nothing() -> None:
    scene = Scene(server("cpu"), {})
    assert in_favour(Way("", {"idle": NONE}), scene) == 0.0
    held = believed(causes.ALL, scene)
    usual = {each.hypothesis.odds for each in held if each.hypothesis is not None and each.probability > 0.1}
    assert usual == {1.0}


@pytest.mark.parametrize("cause", [*simulated_causes.CAUSES])
def test_every_reading_has_words(cause: str) -> None:
    read = readings.of(server(cause))
    assert {*read} <= {*reading_words.READINGS}


def test_every_expected_reading_has_words_and_every_experiment_is_expected_by_somebody() -> None:
    scene = judged.scene_of(server("workers"))
    expected = {name for each in causes.ALL for way in each.ways(scene) for name in way.expects} | {*USUAL}
    assert expected <= {*reading_words.READINGS}
    assert {*experiments.READINGS} <= expected


def test_every_cause_is_a_hypothesis_once() -> None:
    names = [each.cause for each in causes.ALL]
    assert len(names) == len({*names})
    assert {*names} | {"engine", "none"} == {*CAUSES}


def test_requests_that_wait_in_front_of_a_server_are_no_standstill() -> None:
    first, *_ = judged.held_by(made_at_load.IDLE_CONNECTIONS)
    assert first.cause == "idle-connections"


def test_how_long_a_request_alone_waits_is_said_also_if_an_experiment_timed_it() -> None:
    facts = server("dependency", seed=4)
    assert facts.seen.work is not None and facts.peers
    unread = replace(facts.seen, work=replace(facts.seen.work, waits_s={}))
    timed = replace(unread, outcomes=ExperimentOutcomes(slower={facts.peers[0].address: 0.0123}))
    (dependency,) = (each for each in causes.ALL if each.cause == "dependency")
    for seen, is_said in ((unread, False), (timed, True)):
        said = dependency.words(judged.scene_of(replace(facts, seen=seen))).evidence.replace(NARROW, " ")
        assert ("alone it is 12.3 ms" in said) == is_said


def with_half_sent(facts: ServerFacts, ratio: float) -> ServerFacts:
    crowd = Crowd(others=2, connections=32, paired=LoadPairs(ratio, 0.02, 4))
    return replace(facts, seen=replace(facts.seen, outcomes=ExperimentOutcomes(half_sent=crowd)))


def test_an_experiment_refutes_workers_and_confirms_them() -> None:
    facts = server("workers", seed=2)
    scene = judged.scene_of(facts)
    left = 1 - 2 / scene.inside
    (before,) = (each for each in judged.held_by(with_half_sent(facts, left)) if each.cause == "workers")
    (after,) = (each for each in judged.held_by(with_half_sent(facts, 1.0)) if each.cause == "workers")
    assert scene.inside < 16 and before.probability > after.probability + 0.01


def test_only_what_an_experiment_could_have_refuted_is_tested() -> None:
    facts = server("workers", seed=2)
    untested = replace(facts, seen=replace(facts.seen, outcomes=ExperimentOutcomes()))
    for each, sure in (
        (untested, "likely"),
        (with_half_sent(facts, 1 - 2 / judged.scene_of(facts).inside), "tested"),
    ):
        first = judged.judged(each)[0]
        assert isinstance(first, Finding) and (first.cause, first.sure) == ("workers", sure)


def test_where_two_causes_fit_neither_is_named_and_no_advice_is_given() -> None:
    facts = server("gate", seed=3)
    facts = replace(facts, beyond=replace(facts.beyond, stage=None, threads=None, light=None, peers=None))
    first = judged.judged(facts)[0]
    assert isinstance(first, Unclear) and "fits several causes: " in first.why


def test_the_next_experiment_is_one_that_the_likely_causes_expect_differently() -> None:
    facts = server("workers", seed=2)
    facts = replace(facts, seen=replace(facts.seen, outcomes=ExperimentOutcomes()))
    # Nothing tells workers from a gate.
    facts = replace(facts, beyond=replace(facts.beyond, stage=None, threads=None, light=None))
    scene, held = judged.scene_of(facts), judged.held_by(facts)
    planned = next_experiment.chosen(causes.ALL, held, scene, experiments.ALL, 60.0)
    assert planned is not None and planned.experiment.name in (
        "half_sent",
        "spaced",
        "waiting",
        "stuck",
        "sources",
    )
    assert planned.settles_per_s > 0
    allowed = [each for each in experiments.ALL if each.name == "falls"]
    nothing = next_experiment.chosen(causes.ALL, held, scene, allowed, 60.0)
    assert nothing is None or nothing.settles_per_s < planned.settles_per_s


def test_an_experiment_for_which_no_time_is_left_is_not_chosen() -> None:
    facts = server("gate", seed=3)
    scene, held = judged.scene_of(facts), judged.held_by(facts)
    assert next_experiment.chosen(causes.ALL, held, scene, experiments.ALL, 3.0) is None


SERVERS = 60
# Causes that look alike where an experiment was not made, or what tells them could not be read.
NAMED_LEAST = {"contention": 0.0, "throttled": 0.1, "switches": 0.3, "accept-queue": 0.5}


@pytest.mark.parametrize("cause", [*simulated_causes.CAUSES])
def test_simulated_servers_are_named_or_left_open_but_hardly_ever_wrong(cause: str) -> None:
    random = np.random.default_rng(17)
    firsts = [judged.judged(simulated_causes.drawn(cause, random))[0] for _ in range(SERVERS)]
    named = [each.cause for each in firsts if isinstance(each, Finding) and each.cause != "none"]
    assert named.count(cause) >= NAMED_LEAST.get(cause, 0.7) * SERVERS
    assert len(named) - named.count(cause) <= 0.1 * SERVERS


def test_several_threads_that_compute_all_the_time_are_workers_and_no_single_thread() -> None:
    random = np.random.default_rng(3)
    named: list[str] = []
    for _ in range(20):
        server = simulated_causes.Drawn(random, cores=16)
        simulated_causes.computing_workers(server)
        first = judged.judged(server.facts())[0]
        named += [first.cause] if isinstance(first, Finding) else []
    assert {*named} == {"workers"} and len(named) >= 18


def named_right(cores: int, others: float) -> float:
    """The share of simulated servers of all causes whose cause is named."""
    right = 0
    for cause in simulated_causes.CAUSES:
        random = np.random.default_rng(29)
        for _ in range(SERVERS):
            first = judged.judged(simulated_causes.drawn(cause, random, cores, others))[0]
            right += isinstance(first, Finding) and first.cause == cause
    return right / (SERVERS * len(simulated_causes.CAUSES))


@pytest.mark.long
def test_more_cores_and_other_programs_leave_a_server_as_well_known() -> None:
    calm = named_right(cores=2, others=0.0)
    assert calm > 0.75
    for cores, others in ((2, 0.3), (16, 0.0), (16, 0.3)):
        assert named_right(cores, others) >= calm - 0.05, (cores, others)


@pytest.mark.long
def test_what_is_said_to_be_probable_is_true_as_often() -> None:
    random = np.random.default_rng(23)
    said: list[tuple[float, bool]] = []
    for cause in [*simulated_causes.CAUSES, "none of them"]:
        for _ in range(150):
            facts = (
                simulated_causes.drawn(cause, random)
                if cause in simulated_causes.CAUSES
                else simulated_causes.of_none(random)
            )
            if facts.is_harmed:
                first = judged.held_by(facts)[0]
                said.append((first.probability, first.cause == cause))
    for low, high in ((0.8, 0.95), (0.95, 1.01)):
        right = [is_right for probability, is_right in said if low <= probability < high]
        assert len(right) > 100 and sum(right) / len(right) >= low


@pytest.mark.parametrize(("processes", "is_said"), [(None, False), (8, True), (12, False)])
def test_a_dependency_that_answers_as_many_at_a_time_as_it_has_processes_needs_more(
    processes: int | None, is_said: bool
) -> None:
    facts = server("dependency", seed=4)
    (dependency,) = (each for each in causes.ALL if each.cause == "dependency")
    assert facts.peers and facts.seen.work is not None
    peer = replace(max(facts.peers, key=lambda each: each.waiting), processes=processes)
    alone_s = 8 / facts.beyond.per_s
    work = replace(facts.seen.work, waits_s={peer.listener or peer.address: alone_s})
    facts = replace(
        facts, seen=replace(facts.seen, work=work), beyond=replace(facts.beyond, peers=(peer,), unread={})
    )
    said = dependency.words(judged.scene_of(facts))
    assert ("more processes" in said.change) == is_said


def test_a_slow_server_whose_requests_have_no_answer_yet_does_not_stand_still() -> None:
    """One at a time takes a second: of 64 in flight most have no answer within five seconds."""
    lock = made_at_load.LOCK
    work = replace(made_at_load.alone(1000, 0.5), answers=5)
    seen = replace(lock.seen, work=work)
    slow = replace(
        lock,
        seen=seen,
        alone_s=1.0,
        beyond=replace(lock.beyond, answers=5, per_s=1.0, mean_s=2.5, unanswered=59, spent_s=5.0),
    )
    causes_ = [each.cause for each in judged.held_by(slow)[:1]]
    assert causes_ == ["gate"]
    still = replace(slow, beyond=replace(slow.beyond, answers=0, per_s=0.0, unanswered=64, cores=0.0))
    assert judged.held_by(still)[0].cause == "standstill"


@pytest.mark.parametrize("name", ["MEMORY", "SWITCHES"])
def test_one_core_leaves_half_where_garbage_or_switches_use_two(name: str) -> None:
    facts: ServerFacts = getattr(made_at_load, name)
    before = judged.held_by(facts)[0]
    outcomes = replace(facts.seen.outcomes, one_core=LoadPairs(0.52, 0.02, 4))
    after = judged.held_by(replace(facts, seen=replace(facts.seen, outcomes=outcomes)))[0]
    assert (before.cause, after.cause) == (before.cause, before.cause) and after.probability > 0.5


def test_nothing_is_throttled_where_nothing_was_read_of_it() -> None:
    facts = server("workers", seed=2)
    unread = judged.scene_of(replace(facts, beyond=replace(facts.beyond, throttled_share=None)))
    (throttled,) = (each for each in causes.ALL if each.cause == "throttled")
    assert [way.name for way in throttled.ways(unread)] == ["its threads are stopped"]


@pytest.mark.parametrize(("used", "is_it"), [(0.5, True), (0.1, False)])
def test_a_control_group_limits_a_server_only_if_it_uses_what_it_may(used: float, is_it: bool) -> None:
    lock = made_at_load.LOCK
    facts = replace(
        lock,
        seen=replace(lock.seen, limits=made_at_load.QUOTA),
        beyond=replace(lock.beyond, throttled_share=0.2, cores=used),
    )
    probability = next(each.probability for each in judged.held_by(facts) if each.cause == "throttled")
    assert (probability > 0.5) == is_it


def test_connections_that_an_experiment_holds_take_open_files() -> None:
    """With 40 of 40 files open, eight half-sent requests take a quarter of the throughput, as of workers."""
    facts = server("descriptors", seed=1)
    crowd = Crowd(others=8, connections=32, paired=LoadPairs(0.78, 0.02, 4))
    tried = replace(
        facts, seen=replace(facts.seen, outcomes=ExperimentOutcomes(half_sent=crowd, silent=crowd))
    )
    assert judged.held_by(tried)[0].cause == "descriptors"


def test_the_same_load_for_longer_tells_a_pool_that_grows_from_a_full_one() -> None:
    facts = server("slow-pool", seed=1)
    said = {}
    for times in (1.0, 1.6):
        longer = Longer(MeasuredRate(100.0, 2.0), MeasuredRate(100.0 * times, 2.0), None, None)
        tried = replace(facts, seen=replace(facts.seen, outcomes=ExperimentOutcomes(longer=longer)))
        said[times] = {each.cause: each.probability for each in judged.held_by(tried)}["slow-pool"]
    assert said[1.6] > said[1.0] + 0.01


def test_the_only_thread_asleep_in_a_call_is_a_loop_that_is_stopped_and_no_pool_of_workers() -> None:
    """A loop has read 16 requests, and waits 20 ms for a database with one of them."""
    lock = made_at_load.LOCK
    threads = replace(
        made_at_load.threads(number=1, busiest=0.05, places={"wait_woken": 0.95}), busiest_at="wait_woken"
    )
    work = made_at_load.alone(20, 0.5)
    beyond = replace(
        lock.beyond,
        per_s=48.8,
        answers=244,
        mean_s=64 / 48.8,
        cores=0.03,
        threads=threads,
        stage=Stage(not_accepted=0, unread=48, inside=16, other=0),
        peers=(Peer("127.0.0.1:5433", "python", 1, 0.97, 1),),
    )
    facts = replace(lock, seen=replace(lock.seen, work=work), alone_s=0.02, beyond=beyond)
    first, *_ = judged.held_by(facts)
    assert first.cause == "one-loop" and first.probability > 0.8
    faster = what_if.of_cause(facts, "one-loop", {"dependency": 0.01})
    assert faster.low > 1.8 * beyond.per_s


def test_the_file_of_a_hypothesis_has_the_name_of_its_cause() -> None:
    files = {Path(inspect.getfile(each.ways)).stem for each in causes.ALL}
    assert files == {each.cause.replace("-", "_") for each in causes.ALL}
