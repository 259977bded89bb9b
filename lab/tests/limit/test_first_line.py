"""The first line of a diagnosis, which other programs read: its form does not change."""

import re
from dataclasses import replace

import pytest
from crumple.cause import judged
from crumple.limit import first_line
from crumple.limit.finding import Cause, Finding, Said, Unclear
from crumple.observation.server_facts import ServerFacts
from made_at_load import CAUSES, CONNECTION_POOL, CPU, LOCK, NOTHING, ONE_LOOP, WORKERS, facts

FORM = re.compile(
    r"limit=[a-z-]+( k=[\d.]+)?( p=0\.\d\d (tested|likely))?( gain=\d+\.\dx)?|"
    r"limit=unknown( between=[a-z-]+:0\.\d\d(,[a-z-]+:0\.\d\d)*)?"
)


def finding(cause: Cause, probability: float = 0.97) -> list[Said]:
    return [Finding(cause, "tested", probability, None, "", "")]


@pytest.mark.parametrize(
    ("seen", "said", "line"),
    [
        (WORKERS, finding("workers"), "limit=workers k=8 p=0.97 tested gain=2.0x"),
        (facts(WORKERS, cores=1.0), finding("workers"), "limit=workers k=8 p=0.97 tested gain=1.9x"),
        (LOCK, finding("gate", 0.9999), "limit=gate k=1 p=0.99 tested gain=2.0x"),
        (CONNECTION_POOL, finding("connection-pool"), "limit=connection-pool k=4 p=0.97 tested gain=2.0x"),
        (ONE_LOOP, finding("one-loop"), "limit=one-loop k=1 p=0.97 tested gain=2.0x"),
        (CPU, finding("cpu"), "limit=cpu p=0.97 tested gain=2.0x"),
        (WORKERS, finding("descriptors"), "limit=descriptors p=0.97 tested"),
        (NOTHING, finding("none", 1.0), "limit=none"),
        (None, [], "limit=unknown"),
        (WORKERS, [Unclear("none", "others disturbed it")], "limit=unknown"),
        (
            WORKERS,
            [Unclear("none", "", {"gate": 0.48, "workers": 0.41, "none": 0.11})],
            "limit=unknown between=gate:0.48,workers:0.41,other:0.11",
        ),
    ],
)
def test_the_line(seen: ServerFacts | None, said: list[Said], line: str) -> None:
    assert first_line.line(seen, said) == line


def test_the_line_of_whatever_is_judged_has_its_form() -> None:
    for seen in CAUSES.values():
        line = first_line.line(seen, judged.judged(seen))
        assert FORM.fullmatch(line), line


def test_what_cannot_be_told_has_the_probabilities_that_its_words_have() -> None:
    blind = facts(WORKERS, stage=None, threads=None, cores=None)
    unclear = [each for each in judged.judged(blind) if isinstance(each, Unclear) and each.between]
    assert len(unclear) == 1 and sum(unclear[0].between.values()) <= 1.0 + 1e-9
    assert first_line.line(blind, judged.judged(blind)).startswith("limit=unknown between=")
    assert replace(unclear[0], between={}) != unclear[0]
