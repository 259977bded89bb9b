"""Doubt: half of a server's trials warn of the engine, or the engine used much of the shared cores."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from crumple.record.figures import Figures
from crumple.study.claim import Claim
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import judge
from made_figures import server
from pydantic import TypeAdapter


def run() -> list[Figures]:
    return [
        *server("go", 30_000),
        *server("java", 20_000, shift=2),
        *server("node", 11_000, shift=3),
        *server("express", 5_600, shift=1),
    ]


def claim(**written: object) -> Claim:
    known = {"id": "C", "text": "A claim.", "experiment": "shared", "metric": "throughput"}
    return TypeAdapter(Claim).validate_python(known | written)


def order(*tiers: Sequence[str], metric: str = "throughput") -> Claim:
    return claim(kind="order", tiers=tiers, metric=metric)


def ratio(*pairs: tuple[str, str, float]) -> Claim:
    meant = [{"of": of, "to": to, "published": published} for of, to, published in pairs]
    return claim(kind="ratio", pairs=meant)


NEAR = "the throughput is 81% (limit 70%) of the 37,000 /s that the engine reaches against its null server"
BUSY = "a thread of the engine used 92% of a core (limit 85%): it may have limited the throughput"


def warned(of: dict[str, int], warning: str = NEAR) -> list[Figures]:
    """Return the run with the warning in the first trials of servers; `of`: server → how many of its five."""
    return [
        replace(seen, warnings=("more than 1 % failed", warning))
        if seen.block <= of.get(seen.server, 0)
        else seen
        for seen in run()
    ]


@pytest.mark.parametrize("warning", [NEAR, BUSY])
def test_a_verdict_says_which_servers_the_engine_may_have_limited(warning: str) -> None:
    said = (
        "The engine may be part of that: it was near its own limit, or that of cores which it shares with "
        "the server, in 5 of 5 trials of go and 3 of 5 trials of java."
    )
    figures = warned({"go": 5, "java": 3, "node": 2}, warning)
    for meant in (order(["go"], ["java"], ["node"]), ratio(("go", "java", 1.5), ("go", "node", 2.7))):
        verdict = judge(meant, figures)
        assert (verdict.answer, verdict.doubt) == (VerdictWord.SUPPORTED, said)
        assert verdict.sentence.endswith(f" {said}")
    assert judge(ratio(("go", "express", 9.0)), figures).sentence.endswith("in 5 of 5 trials of go.")


def test_a_verdict_says_how_much_of_shared_cores_the_engine_took() -> None:
    shares = {"go": 0.304, "java": 0.25, "node": 0.12, "express": 0.068}
    figures = [replace(each, engine_took=shares.get(each.server)) for each in run()]
    verdict = judge(order(["go"], ["java", "node"], ["express"]), figures)
    assert verdict.doubt == (
        "The engine ran on the server's cores and took 30 % beside go, and 6.8 % beside express."
    )
    assert verdict.sentence.endswith(verdict.doubt)
    # A fifth and more is much, and on cores of its own it takes none from the server.
    assert judge(ratio(("node", "express", 2.0)), figures).doubt == ""
    assert judge(order(["go"], ["java"]), run()).doubt == ""
    alone = [replace(each, response_mean_ns=1e9 / each.throughput_per_s) for each in figures]
    figure = claim(kind="figure", metric="response_mean", servers=["go"], published="33 us")
    assert judge(figure, alone).doubt.endswith("took 30 % beside go.")


def test_no_doubt_if_less_than_half_of_the_trials_warn_or_the_engine_cannot_matter() -> None:
    assert judge(ratio(("node", "express", 2.0)), warned({"node": 2})).doubt == ""
    others = warned({"go": 5}, "a thread of the engine waited for a core 9% of the time (limit 5%)")
    assert judge(order(["go"], ["java"]), others).doubt == ""
    memory = [replace(each, memory_peak_bytes=1e6 * each.block) for each in warned({"go": 5})]
    assert judge(order(["go"], ["java"], metric="memory"), memory).doubt == ""
    unread = judge(order(["go"], ["java"], metric="response_p99"), warned({"go": 5}))
    assert (unread.answer, unread.doubt) == (VerdictWord.NOT_TESTABLE, "")
