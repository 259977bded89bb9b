"""docs/claims.md: every example is a claim, every kind has one, and every metric is in the table."""

import re
import tomllib
from pathlib import Path

from crumple.record.metrics import METRICS
from crumple.stats.sequential import Looks
from crumple.study.claim import Claim, RatioClaim, RatioPair
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import KINDS, Verdict, judge
from made_figures import trial
from pydantic import TypeAdapter

PAGE = (Path(__file__).parents[3] / "docs" / "claims.md").read_text(encoding="utf-8")


def test_every_example_is_a_claim_and_every_kind_has_one() -> None:
    written = [
        claim
        for block in re.findall(r"```toml\n(.*?)```", PAGE, re.S)
        for claim in tomllib.loads(block)["claims"]
    ]
    meant = [TypeAdapter(Claim).validate_python(claim) for claim in written]
    assert {claim.kind for claim in meant} == set(KINDS)
    assert {claim["metric"] for claim in written if "metric" in claim} <= set(METRICS)


def test_the_worked_verdict_follows_from_its_blocks() -> None:
    worked = PAGE.split("## One verdict, from blocks to word\n")[1].split("\n## ")[0]
    table = worked.partition("**Estimate.**")[0]
    heads, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line[:1] == "|"
    )
    servers = [head.removesuffix(" /s") for head in heads[1:4]]
    blocks = [[float(cell.replace(",", "")) for cell in row[1:]] for row in rows]
    assert all(round(node / flask, 2) == ratio for node, flask, _, ratio in blocks)
    pair = RatioPair(of="node-express", to="python-flask", published=4.23)
    claim = RatioClaim(
        id="NP-2", text="T", kind="ratio", experiment="shared", metric="throughput", pairs=(pair,)
    )

    def judged(flask: float = 1.0) -> Verdict:
        factors = (1.0, flask, 1.0)
        seen = [
            trial(server, block, speed * factor)
            for block, row in enumerate(blocks, 1)
            for server, speed, factor in zip(servers, row, factors, strict=False)
        ]
        return judge(claim, seen, looks={"shared": Looks(3, 6)})

    quoted = " ".join(line.removeprefix("> ") for line in worked.splitlines() if line.startswith(">"))
    assert judged().sentence == quoted
    slower = judged(flask=1.25)
    assert slower.answer is VerdictWord.UNDECIDED and slower.in_size_only
    margin = judged().effects[0].margin
    assert margin is not None and f"a factor of {margin:.2f} " in worked


def test_every_metric_is_in_the_table() -> None:
    table = PAGE.split("## Metrics")[1].split("## ")[0]
    assert set(re.findall(r"`([a-z0-9_]+)`", table)) == set(METRICS)
