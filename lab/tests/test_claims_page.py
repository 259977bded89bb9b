"""docs/claims.md: every example is a claim, every kind has one, and every metric is in the table."""

import re
import tomllib
from pathlib import Path

from crumple.record.metrics import METRICS
from crumple.study.claim import Claim
from crumple.verdict.verdict import KINDS
from pydantic import TypeAdapter

PAGE = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")


def test_every_example_is_a_claim_and_every_kind_has_one() -> None:
    written = [
        claim
        for block in re.findall(r"```toml\n(.*?)```", PAGE, re.S)
        for claim in tomllib.loads(block)["claims"]
    ]
    meant = [TypeAdapter(Claim).validate_python(claim) for claim in written]
    assert {claim.kind for claim in meant} == set(KINDS)
    assert {claim["metric"] for claim in written if "metric" in claim} <= set(METRICS)


def test_every_metric_is_in_the_table() -> None:
    table = PAGE.split("## Metrics")[1].split("## ")[0]
    assert set(re.findall(r"`([a-z0-9_]+)`", table)) == set(METRICS)
