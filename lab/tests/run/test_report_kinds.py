"""Every kind of claim in every format of the report: the figure, interval and unit, or why there is none."""

import json
import re

import pytest
from crumple.drawing.page import NO_BREAK
from crumple.run.report import run_sentences
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.verdict.verdict import KINDS
from made_kinds import CLAIMS, seen


def test_every_kind_is_shown() -> None:
    assert {verdict.kind for verdict in seen().verdicts} == set(KINDS)


def test_every_sentence_is_in_every_long_format() -> None:
    page, written = html(seen()), json.loads(as_json(seen()))
    for verdict, told in zip(seen().verdicts, written["claims"], strict=True):
        assert told["sentence"] == verdict.sentence
        assert verdict.claim_id in page
        assert run_sentences.reason(verdict) in page.replace(NO_BREAK, " ")
    assert "the cost of a system call" in markdown(seen()).lower()


@pytest.mark.parametrize("width", [80, 110])
def test_text_stays_within_its_width(width: int) -> None:
    said = text(seen(), width=width, styled=False)
    assert max(len(line) for line in said.splitlines()) <= width
    for claim in CLAIMS:
        assert re.search(rf"\b{claim['id']}\b", said)


def test_every_measured_figure_has_unit_interval_and_bound() -> None:
    told = {claim["id"]: claim["effects"] for claim in json.loads(as_json(seen()))["claims"]}
    (cost,) = told["K-4"]
    assert (cost["unit"], cost["bound"], cost["ratio"]) == ("ns", "20 ns", None)
    assert cost["value"]["low"] < 20 < cost["value"]["high"]
    assert {effect["unit"] for effect in told["K-11"]} == {"bytes"}
    table = markdown(seen())
    assert "14 to 71 MiB" in table
    assert f"20.0{run_sentences.NARROW}ns \\[" in table


def test_a_sentence_needs_no_statistics() -> None:
    for verdict in seen().verdicts:
        assert verdict.sentence.endswith(".") and "None" not in verdict.sentence
        assert not any(word in verdict.sentence for word in ("null", "hypothesis", "p-value", "nan"))
