"""The host is a factor: what is compared is of one host, and a figure has one value for each host."""

import math

import made_figures
import numpy as np
import pytest
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats.estimate import Estimate
from crumple.study.claim import FigureClaim, OrderClaim, ShareClaim
from crumple.verdict import opinions
from crumple.verdict.case import RunFacts
from crumple.verdict.effect import VerdictWord
from crumple.verdict.evidence import Evidence
from crumple.verdict.verdict import judge
from numpy.random import Generator

HOSTS = ("a", "b", "c")


def _trials(
    faster: float, hosts: tuple[str, ...] = HOSTS, level: float = 0.2, own: float = 0.0, seed: int = 1
) -> list[Figures]:
    """Two blocks of each host, of x and y; x is `faster`, and hosts differ by `level`, and by `own` in x."""
    random, found = np.random.default_rng(seed), []
    for at, host in enumerate(hosts):
        for block in (2 * at + 1, 2 * at + 2):
            swing = level * (at - 1)
            for server, log in (("x", math.log(faster) + own * (at - 1)), ("y", 0.0)):
                speed = 1_000 * math.exp(swing + log + random.normal(0, 0.01))
                found.append(made_figures.trial(server, block, float(speed), host=host, failed_share=0.0))
    return found


def _ratio(figures: list[Figures]) -> Estimate:
    evidence = Evidence("shared", METRICS["throughput"], tuple(figures), {})
    return opinions.ratio(evidence, "x", "y", evidence.paired("x", "y"))


def _without_hosts(figures: list[Figures]) -> list[Figures]:
    return [made_figures.trial(each.server, each.block, each.throughput_per_s) for each in figures]


def test_what_a_host_does_to_both_servers_cancels_in_their_ratio() -> None:
    apart, alike = (_ratio(_trials(1.3, level=level)) for level in (0.2, 0.0))
    assert apart.interval().low == pytest.approx(alike.interval().low)
    assert apart.interval() == _ratio(_without_hosts(_trials(1.3))).interval()


def test_a_ratio_that_differs_between_hosts_has_one_value_for_each() -> None:
    figures = _trials(1.3, own=0.2)
    logs = [math.log(1.3) + 0.2 * (at - 1) for at in range(3)]
    found = _ratio(figures).interval()
    assert found.high / found.low > math.exp(2 * 4.3 * np.std(logs, ddof=1) / math.sqrt(3) * 0.9)
    claim = OrderClaim(
        id="S", text="x is faster.", kind="order", experiment="shared", metric="throughput",
        tiers=(("x",), ("y",)),
    )  # fmt: skip
    assert judge(claim, figures).answer is VerdictWord.UNDECIDED
    # If all were of one host, six blocks would show it.
    assert judge(claim, _without_hosts(figures)).answer is VerdictWord.SUPPORTED


FIGURE = FigureClaim(
    id="S", text="x answers 1,000.", kind="figure", experiment="shared", metric="throughput",
    servers=("x",), published=1_000, tolerance=0.15,
)  # fmt: skip


def test_a_figure_is_not_decided_by_many_blocks_of_hosts_that_differ() -> None:
    figures = _trials(1.0)
    assert judge(FIGURE, figures).answer is VerdictWord.UNDECIDED
    assert judge(FIGURE, _trials(1.0, level=0.0)).answer is VerdictWord.SUPPORTED


def test_a_figure_of_several_hosts_counts_each_once() -> None:
    figures = _trials(1.0)
    # A fourth block of the slowest host changes nothing about how often it counts.
    more = [*figures, made_figures.trial("x", 7, figures[0].throughput_per_s, host="a")]
    (one, *_), (other, *_) = (judge(FIGURE, each).effects for each in (figures, more))
    assert one.value is not None and other.value is not None
    assert other.value.estimate == pytest.approx(one.value.estimate, rel=0.01)


def test_no_failed_request_on_any_host_is_decided_by_their_number() -> None:
    claim = ShareClaim(
        id="S", text="x never fails.", kind="share", experiment="shared", metric="failed_share",
        servers=("x",), below=0.01,
    )  # fmt: skip
    assert judge(claim, _trials(1.0)).answer is VerdictWord.SUPPORTED


def test_costs_of_several_machines_have_one_value_for_each() -> None:
    claim = FigureClaim(
        id="S", text="A switch takes 1 µs.", kind="figure", cost="thread_switch", published="1us",
        tolerance=0.1,
    )  # fmt: skip
    readings = (900.0, 901.0, 902.0, 1_100.0, 1_101.0, 1_102.0)
    facts = RunFacts(costs={"thread_switch": readings})
    each = RunFacts(costs=facts.costs, cost_hosts={"thread_switch": ("a",) * 3 + ("b",) * 3})
    narrow, wide = (judge(claim, [], facts=of).effects[0].value for of in (facts, each))
    assert narrow is not None and wide is not None
    assert wide.high / wide.low > 2 > narrow.high / narrow.low


def test_a_change_from_one_experiment_to_another_is_of_one_host() -> None:
    changed = [
        made_figures.trial("x", each.block, each.throughput_per_s * 2, host=each.host, experiment="other")
        for each in _trials(1.0)
        if each.server == "x"
    ]
    figures = [*_trials(1.0), *changed]
    claim = ShareClaim(
        id="S", text="x doubles.", kind="share", experiment="other", metric="throughput", against="shared",
        servers=("x",), above=1.9,
    )  # fmt: skip
    assert judge(claim, figures).answer is VerdictWord.SUPPORTED


def test_trials_of_one_block_that_two_hosts_measured_are_not_compared() -> None:
    apart = [made_figures.trial("x", 7, 9_000, host="a"), made_figures.trial("y", 7, 1_000, host="b")]
    evidence = Evidence("shared", METRICS["throughput"], (*_trials(1.3), *apart), {})
    assert evidence.paired("x", "y").blocks == (1, 2, 3, 4, 5, 6)
    doubled = [
        made_figures.trial("x", each.block, 2 * each.throughput_per_s, host=each.host, experiment="other")
        for each in _trials(1.3)
        if each.server == "x"
    ]
    elsewhere = made_figures.trial("x", 7, 9_000, host="b", experiment="other")
    change = Evidence("other", METRICS["throughput"], (*evidence.trials, *doubled, elsewhere), {}, "shared")
    assert [each.block for each in change.alone("x").figures] == [1, 2, 3, 4, 5, 6]


def test_what_others_took_counts_for_each_host_once() -> None:
    values, hosts = (1.0, 1.0, 1.0, 2.0), ("a", "a", "a", "b")
    factors = ((0.5, 1.0),) * 3 + ((1.0, 1.0),)
    found = opinions.value(values, factors, hosts)
    assert found.off == pytest.approx((math.log(0.5) / 2, 0.0))


STUDIES = 1_000


def _studied(random: Generator, hosts: int, blocks: int, own: float) -> tuple[Estimate, Estimate]:
    """Return the ratio of two equal servers and the figure of one; hosts differ by 20 %, blocks by 10 %."""
    levels, kinds = random.normal(0, 0.2, hosts), random.normal(0, own, (hosts, 5))
    found = []
    for block in range(hosts * blocks):
        host = block % hosts
        swing = levels[host] + random.normal(0, 0.1)
        for server in range(5):
            speed = 1_000 * math.exp(swing + kinds[host, server] + random.normal(0, 0.05))
            found.append(made_figures.trial(f"s{server}", block + 1, float(speed), host=f"{host}"))
    evidence = Evidence("shared", METRICS["throughput"], tuple(found), {})
    alone = evidence.alone("s0")
    ratio = opinions.ratio(evidence, "s0", "s1", evidence.paired("s0", "s1"))
    return ratio, opinions.value(alone.values, alone.factors, alone.hosts)


@pytest.mark.long
@pytest.mark.parametrize(("hosts", "blocks"), [(2, 6), (3, 2), (5, 4)])
@pytest.mark.parametrize("own", [0.0, 0.02, 0.2])
def test_intervals_hold_where_hosts_differ_by_a_fifth(hosts: int, blocks: int, own: float) -> None:
    random = np.random.default_rng([hosts, blocks, round(100 * own)])
    held = np.zeros(2)
    for _ in range(STUDIES):
        for at, (estimate, truth) in enumerate(
            zip(_studied(random, hosts, blocks, own), (1, 1_000), strict=True)
        ):
            held[at] += estimate.interval().low <= truth <= estimate.interval().high
    ratio, figure = held / STUDIES
    # Where hosts change each server on its own, two of them hardly tell whether, and do not tell by how much.
    assert (0.92 if own else 0.93) <= ratio <= (0.995 if own else 0.975)
    assert 0.93 <= figure <= 0.97
