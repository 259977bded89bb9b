"""Claims other than order and ratio: each kind supported and contradicted, and what makes one untestable."""

from dataclasses import replace
from typing import Any

import pytest
from crumple.machine.process_tree import Tree
from crumple.record.figures import Figures
from crumple.study.claim import quantity
from crumple.subject.effects import TreeSeen
from crumple.verdict.case import RunFacts
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import KINDS, Verdict, judge
from made_claims import CONTRADICTED, OPEN, SUPPORTED, UNTESTABLE, answer, claim
from made_figures import curve, ramp, server, trial, twins
from pydantic import ValidationError


def shares(**of_servers: float) -> list[Figures]:
    """Servers that fail these shares of their requests, which vary by a tenth from block to block."""
    return [
        trial(name, block, 1_000, failed_share=share * luck)
        for name, share in of_servers.items()
        for block, luck in enumerate((1.0, 1.1, 0.9, 1.05, 0.95), 1)
    ]


@pytest.mark.parametrize(
    ("at_least", "wanted"), [(1, SUPPORTED), (2, SUPPORTED), (3, CONTRADICTED), (None, CONTRADICTED)]
)
def test_a_share_counts_the_servers_beyond_the_bound(at_least: int | None, wanted: VerdictWord) -> None:
    figures = shares(php=0.2, java=0.03, go=0.0, node=0.001)
    meant = claim("share", experiment="shared", servers=["php", "java", "go", "node"], above="1 %",
                  at_least=at_least)  # fmt: skip
    assert answer(meant, figures) is wanted


def test_a_share_of_zero_is_below_every_bound() -> None:
    meant = claim("share", experiment="shared", servers=["go"], below="1 %")
    verdict = judge(meant, shares(go=0.0))
    assert verdict.answer is SUPPORTED
    assert verdict.sentence == (
        "Supported. The share of failed requests of go was 0 % (between 0 and 0.0074 %, 95 % interval, "
        "5 blocks); the whole interval lies below 1 %; its nearest end is a factor of 136 from the bound."
    )
    assert len(verdict.trials) == 5


def test_a_server_that_answers_nothing_counts_as_failing_all_requests() -> None:
    why = ("no answer was ok; 5,000 of 5,000 ended as refused",)
    silent = [trial("php", block, 1e-9, valid=False, problems=why) for block in range(1, 6)]
    silent = [replace(each, throughput_per_s=0.0, failed_share=1.0, ended=5_000) for each in silent]
    meant = claim("share", experiment="shared", servers=["php"], above="1 %")
    assert answer(meant, silent) is SUPPORTED
    both = [replace(each, problems=(*why, "the engine was late")) for each in silent]
    assert answer(meant, both) is UNTESTABLE
    for ended, unfinished in ((0, 5_000), (1, 4_999), (5, 0)):
        hardly = [replace(each, ended=ended, unfinished=unfinished) for each in silent]
        assert answer(meant, hardly) is UNTESTABLE


def test_a_share_whose_interval_crosses_the_bound_is_undecided() -> None:
    meant = claim("share", experiment="shared", servers=["a", "b"], above=0.01)
    assert answer(meant, shares(a=0.0102, b=0.5)) is OPEN
    assert answer(meant, shares(b=0.5)) is UNTESTABLE


def test_a_bound_that_is_reached_is_met() -> None:
    even = [trial("a", block, 1_000, cores_busy=0.1 + 0.2 - 0.2) for block in range(1, 6)]
    for side in ("above", "below"):
        written = {"metric": "cores_busy", "servers": ["a"], side: 0.1}
        verdict = judge(claim("share", experiment="shared", **written), even)
        assert verdict.answer is SUPPORTED
        assert f"the whole interval lies at or {side} 0.1 cores" in verdict.sentence
    one = [replace(each, processes_max=1) for each in even]
    meant = claim("share", experiment="shared", metric="processes", servers=["a"], below=1)
    assert answer(meant, one) is SUPPORTED


def test_no_number_of_requests_supports_that_nothing_is_ever_lost() -> None:
    some, none = (
        claim("share", experiment="shared", servers=["a"], above=0),
        claim("share", experiment="shared", servers=["a"], below=0),
    )
    nothing = shares(a=0.0)
    assert (answer(some, nothing), answer(none, nothing)) == (OPEN, OPEN)
    always = shares(a=0.1)
    assert (answer(some, always), answer(none, always)) == (SUPPORTED, CONTRADICTED)
    once = [replace(each, failed_share=0.02 if each.block == 1 else 0.0) for each in nothing]
    assert (answer(some, once), answer(none, once)) == (OPEN, OPEN)


def test_sixty_requests_without_a_loss_do_not_show_a_share_below_a_thousandth() -> None:
    meant = claim("share", experiment="shared", servers=["go"], below="0.1 %")
    few = [replace(each, ended=12) for each in shares(go=0.0)]
    verdict = judge(meant, few)
    assert verdict.answer is OPEN
    assert "not one of 60 requests, but it takes 3,688 without one to exclude 0.1 %" in verdict.sentence
    assert answer(meant, [replace(each, ended=800) for each in few]) is SUPPORTED
    all_lost = [replace(each, ended=3) for each in shares(go=1.0)]
    always = [replace(each, failed_share=1.0) for each in all_lost]
    assert answer(claim("share", experiment="shared", servers=["go"], above="90 %"), always) is OPEN


def test_cpu_time_may_be_claimed_as_a_share_of_a_core() -> None:
    idle = [replace(each, cores_busy=0.04 * each.throughput_per_s / 1_000) for each in server("php", 1_000)]
    assert answer(
        claim("share", experiment="shared", metric="cores_busy", servers=["php"], below=0.05), idle
    ) is (SUPPORTED)


def beside(name: str, canary_ns: float, heavy_us: float = 60_000) -> list[Figures]:
    return [
        replace(each, canary_ns={0.5: canary_ns * each.throughput_per_s / 1_000}, cpu_per_request_us=heavy_us)
        for each in server(name, 1_000)
    ]


def test_a_canary_that_waits_for_heavy_requests_is_stalled() -> None:
    node = claim("stall", experiment="shared", servers=["node"])
    verdict = judge(node, beside("node", 9e8))
    assert verdict.answer is SUPPORTED
    assert "was 900 ms (between" in verdict.sentence
    assert "above half of the CPU time of one heavy request (30 ms)" in verdict.sentence
    assert answer(node, beside("node", 5e6)) is CONTRADICTED
    go = claim("stall", experiment="shared", servers=["go"], stalls=False)
    assert answer(go, beside("go", 5e6)) is SUPPORTED
    assert answer(go, beside("go", 9e8)) is CONTRADICTED


@pytest.mark.parametrize("part", [0.5, 0.75, 0.95])
def test_waiting_for_half_a_heavy_request_contradicts_that_nothing_stalls(part: float) -> None:
    """A light request that always finds a heavy one in service waits for half of it on average."""
    go = claim("stall", experiment="shared", servers=["go"], stalls=False)
    assert answer(go, beside("go", part * 6e7)) is CONTRADICTED
    assert answer(go, beside("go", 0.05 * 6e7)) is SUPPORTED


def test_a_stall_is_measured_beyond_the_light_requests_own_time() -> None:
    """40 ms beside requests of 60 ms are no stall if the light request takes 38 ms by itself."""
    own = [replace(each, response_ns={0.5: 3.8e7}) for each in server("go", 1_000, experiment="light")]
    meant = claim("stall", experiment="shared", servers=["go"], stalls=False)
    assert answer(meant, beside("go", 4e7)) is CONTRADICTED
    beyond = meant.model_copy(update={"alone": "light"})
    assert answer(beyond, [*beside("go", 4e7), *own]) is SUPPORTED
    assert answer(beyond, [*beside("go", 9e7), *own]) is CONTRADICTED
    unknown = judge(beyond, beside("go", 4e7))
    assert unknown.answer is UNTESTABLE
    assert "own time in the same block of light, is not known" in unknown.sentence


def test_the_interval_of_a_stall_is_the_one_that_decided() -> None:
    """Where the machine is slower, the wait and the heavy request take longer alike."""
    (one,) = server("node", 1_000)[:1]
    stalled = [
        replace(
            one,
            block=block,
            canary_ns={0.5: (2 + block / 100) * pace * 3e7},
            cpu_per_request_us=6e4 * pace,
        )
        for block, pace in enumerate((1.0, 1.6), 1)
    ]
    verdict = judge(claim("stall", experiment="shared", servers=["node"]), stalled)
    assert verdict.answer is SUPPORTED
    (effect,) = verdict.effects
    assert effect.value is not None and effect.bounds[0] < effect.value.low
    # The geometric mean of both waits.
    assert effect.value.estimate == pytest.approx(2.015 * 3e7 * 1.6**0.5, rel=0.001)


def test_a_stall_needs_a_bound_or_known_cpu_time() -> None:
    meant = claim("stall", experiment="shared", servers=["go"], bound="2 ms")
    assert answer(meant, beside("go", 5e6)) is SUPPORTED
    unknown = [replace(each, cpu_per_request_us=None) for each in beside("go", 5e6)]
    assert answer(claim("stall", experiment="shared", servers=["go"]), unknown) is UNTESTABLE
    assert answer(meant, server("go", 1_000)) is UNTESTABLE


@pytest.mark.parametrize(
    ("published", "wanted"),
    [("20 ns", SUPPORTED), ("100..1000 ns", CONTRADICTED), ("15..18 ns", SUPPORTED), ("24.9 ns", OPEN)],
)
def test_a_cost_of_the_machine(published: str, wanted: VerdictWord) -> None:
    costs = RunFacts(costs={"system_call": (19.8, 20.1, 20.0, 20.3, 19.9)})
    meant = claim("figure", cost="system_call", published=published)
    verdict = judge(meant, [], facts=costs)
    assert verdict.answer is wanted
    assert "The cost of a system call of this machine was 20" in verdict.sentence
    assert answer(meant, []) is UNTESTABLE


def test_a_figure_of_a_server() -> None:
    timed = [
        replace(each, response_ns={0.5: 3.2e11 / each.throughput_per_s}) for each in server("php", 1_000)
    ]
    written = {"experiment": "shared", "metric": "response_p50", "servers": ["php"]}
    assert answer(claim("figure", published="320 ms", **written), timed) is SUPPORTED
    assert answer(claim("figure", published="320 us", **written), timed) is CONTRADICTED


def test_a_model_is_checked_against_processes_and_threads() -> None:
    threads = TreeSeen(Tree(1, 8), Tree(1, 108), 100, 100)
    loop = TreeSeen(Tree(1, 8), Tree(1, 8), 100, 100)
    meant = claim("model", experiment="shared", servers=["java"])
    seen = [replace(each, waiting=threads) for each in server("java", 1_000)]
    assert answer(meant, seen, RunFacts(models={"java": "thread-per-connection"})) is SUPPORTED
    verdict = judge(meant, seen, facts=RunFacts(models={"java": "thread-per-connection"}))
    assert (
        "from 1 process with 8 threads to 1 process with 108 threads while 100 requests wait, "
        "as thread-per-connection has it (thread-pool, hybrid too)" in verdict.sentence
    )
    assert answer(meant, seen, RunFacts(models={"java": "event-loop"})) is CONTRADICTED
    mixed = [replace(each, waiting=loop if each.block == 1 else threads) for each in seen]
    assert answer(meant, mixed, RunFacts(models={"java": "thread-per-connection"})) is OPEN
    assert answer(meant, seen) is UNTESTABLE
    assert answer(meant, server("java", 1_000), RunFacts(models={"java": "event-loop"})) is UNTESTABLE


def light_and_heavy(**slowdowns: float) -> list[Figures]:
    """Servers of different speed at light load, each slower by its factor at heavy load."""
    figures = []
    for index, (name, slowdown) in enumerate(slowdowns.items()):
        speed = 1_000 * (index + 1)
        figures += server(name, speed, experiment="light", shift=index)
        figures += server(name, speed / slowdown, experiment="heavy", shift=index + 1)
    return figures


def test_slowdowns_are_compared_across_experiments() -> None:
    figures = light_and_heavy(go=10, java=11, node=40)
    written = {"experiment": "heavy", "against": "light", "metric": "response_mean"}
    verdict = judge(claim("order", tiers=[["go", "java"], ["node"]], **written), figures)
    assert verdict.answer is SUPPORTED
    assert "the change of mean response time from light to heavy of java" in verdict.sentence
    assert {name.split("/")[0] for name in verdict.trials} == {"light", "heavy"}
    ratio = claim("ratio", pairs=[{"of": "node", "to": "go", "published": 4.0}], **written)
    assert answer(ratio, figures) is SUPPORTED
    assert answer(ratio, [each for each in figures if each.experiment == "heavy"]) is UNTESTABLE


def test_a_name_may_include_its_experiment() -> None:
    figures = [
        *server("cluster", 1_000, experiment="one"), *server("cluster", 1_900, experiment="two", shift=1),
        *server("node", 1_000, experiment="one"), *server("node", 1_010, experiment="two", shift=1),
    ]  # fmt: skip
    pairs = [
        {"of": "two:cluster", "to": "one:cluster", "published": 2.0},
        {"of": "two:node", "to": "node", "published": 1.0},
    ]
    verdict = judge(claim("ratio", experiment="one", metric="throughput", pairs=pairs), figures)
    assert (verdict.answer, verdict.in_size_only) == (SUPPORTED, False)


def test_a_metric_may_be_claimed_at_a_number_of_users() -> None:
    def dear(name: str, per_user: float) -> list[Figures]:
        return ramp(name, lambda users: 1e6, memory_bytes=lambda users: 1e7 + per_user * users)

    meant = claim("order", experiment="ramp", metric="memory", users=[290, 310], tiers=[["node"], ["php"]])
    verdict = judge(meant, dear("node", 1e4) + dear("php", 1e7))
    assert verdict.answer is SUPPORTED
    assert "peak memory at 290 to 310 users" in verdict.sentence


def test_a_server_that_fails_in_half_of_its_starts_is_not_judged_by_the_others() -> None:
    alive = [each for each in server("php", 2_000) if each.block > 3]
    failed = {f"shared/b{block:02}/php": "it ended" for block in (1, 2, 3)}
    meant = claim("ratio", experiment="shared", metric="throughput",
                  pairs=[{"of": "php", "to": "go", "published": 2.0}])  # fmt: skip
    verdict = judge(meant, [*alive, *server("go", 1_000)], failed)
    assert verdict.answer is UNTESTABLE
    assert (
        "php failed in blocks 1, 2 and 3 (it ended), and a server that fails is not ranked"
        in verdict.sentence
    )
    two = {name: why for name, why in failed.items() if "b03" not in name}
    more = [*alive, trial("php", 3, 2_000), *server("go", 1_000)]
    assert judge(meant, more, two).answer is SUPPORTED
    assert "left out: php failed in blocks 1 and 2 (it ended)" in judge(meant, more, two).sentence


def test_half_of_the_starts_means_half_of_the_planned_starts() -> None:
    alive = [each for each in server("php", 2_000) if each.block > 2][:2]
    failed = {f"shared/b{block:02}/php": "it ended" for block in (1, 2)}
    meant = claim("ratio", experiment="shared", metric="throughput",
                  pairs=[{"of": "php", "to": "go", "published": 2.0}])  # fmt: skip
    others = [trial("go", block, 1_000) for block in range(1, 9)]
    assert judge(meant, [*alive, *others], failed).answer is UNTESTABLE


def test_a_server_that_fails_in_the_compared_experiment_is_not_ranked() -> None:
    light = [replace(each, failed_share=0.6) for each in server("node", 1_000, experiment="light")]
    figures = [
        *light, *server("go", 1_000, experiment="light"),
        *server("node", 100, experiment="heavy"), *server("go", 500, experiment="heavy"),
    ]  # fmt: skip
    meant = claim("order", experiment="heavy", against="light", metric="response_mean",
                  tiers=[["go"], ["node"]])  # fmt: skip
    verdict = judge(meant, figures)
    assert verdict.answer is UNTESTABLE
    assert "node failed more than 1 % of its requests" in verdict.sentence
    sound = [replace(each, failed_share=0.0) for each in figures]
    assert answer(meant, sound) is SUPPORTED


def test_high_confidence_with_few_blocks_gives_an_unbounded_interval() -> None:
    apart = [trial("x", 1, 1_000), trial("x", 2, 50_000), trial("y", 1, 1_000), trial("y", 2, 1_000)]
    meant = claim("order", experiment="shared", metric="throughput", tiers=[["x"], ["y"]], confidence=0.999)
    verdict = judge(meant, apart)
    assert verdict.answer is OPEN
    assert "and infinity times, 99.9 % interval, 2 blocks" in verdict.sentence


def test_a_tolerance_smaller_than_the_noise_leaves_the_size_undecided() -> None:
    figures = [*twins(), *server("x", 20_000, shift=2), *server("y", 10_000)]
    narrow = judge(claim("ratio", experiment="shared", metric="throughput", tolerance=0.01,
                         pairs=[{"of": "x", "to": "y", "published": 2.0}]), figures)  # fmt: skip
    assert (narrow.answer, narrow.in_size_only) == (OPEN, True)
    assert "the direction holds but the size is open" in narrow.sentence


def test_too_few_blocks_for_the_confidence_are_reported_with_the_number_needed() -> None:
    blocks = [*server("x", 1_100, shift=2), *server("y", 1_000)]
    few = [each for each in blocks if each.block <= 3]
    written: dict[str, Any] = {"experiment": "shared", "metric": "throughput", "tiers": [["x"], ["y"]]}
    assert answer(claim("order", **written), few) is SUPPORTED
    strict = judge(claim("order", confidence=0.999, **written), few)
    assert strict.answer is OPEN
    assert "it would take about 4 blocks, 1 more" in strict.sentence
    assert "99.9 % interval" in strict.sentence


KINDS_WRITTEN: dict[str, dict[str, Any]] = {
    "order": {"experiment": "e", "metric": "throughput", "tiers": [["a"], ["b"]]},
    "ratio": {"experiment": "e", "metric": "throughput", "pairs": [{"of": "a", "to": "b", "published": 2.0}]},
    "share": {"experiment": "e", "servers": ["a"], "above": 0.01},
    "flatness": {"experiment": "e", "servers": ["a"]},
    "knee": {"experiment": "e", "servers": ["a"], "published": 340},
    "growth": {"experiment": "e", "servers": ["a"], "metric": "processes"},
    "stall": {"experiment": "e", "servers": ["a"]},
    "figure": {"experiment": "e", "servers": ["a"], "metric": "response_p50", "published": "320 ms"},
    "model": {"experiment": "e", "servers": ["a"]},
}


def test_every_kind_of_claim_has_a_test() -> None:
    assert set(KINDS_WRITTEN) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS_WRITTEN)
def test_without_measurements_every_kind_is_not_testable_and_says_why(kind: str) -> None:
    verdict: Verdict = judge(claim(kind, **KINDS_WRITTEN[kind]), [])
    assert verdict.answer is UNTESTABLE
    assert "not measured" in verdict.sentence or "declares none" in verdict.sentence
    assert verdict.trials == ()
    short = judge(claim(kind, scales=["full"], **KINDS_WRITTEN[kind]), [], scale="quick")
    assert "--scale full answers it" in short.sentence


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("share", {"above": 0.1, "below": 0.2}),
        ("share", {"above": None}),
        ("share", {"at_least": 2}),
        ("share", {"above": "1 furlong"}),
        ("flatness", {"users": [300, 20]}),
        ("growth", {"metric": "memory"}),
        ("growth", {"experiments": ["e", "f"]}),
        ("growth", {"grows": False, "up_to": 10}),
        ("figure", {"cost": "system_call"}),
        ("figure", {"published": "1000..100 ns"}),
        ("figure", {"published": 0}),
        ("figure", {"servers": None}),
    ],
)
def test_invalid_claims_are_refused(kind: str, written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        claim(kind, **(KINDS_WRITTEN[kind] | written))


def test_quantities() -> None:
    assert quantity("100..1000 ns") == (100, 1000)
    assert quantity("320ms") == (3.2e8, 3.2e8)
    assert quantity("5..10 %") == (0.05, 0.1)
    assert quantity("1.5 MiB") == (1.5 * 2**20, 1.5 * 2**20)
    assert quantity(340) == (340, 340)
    assert len(curve(lambda users: 1.0)) == 25
