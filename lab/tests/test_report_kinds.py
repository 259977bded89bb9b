"""Every kind of claim in every format of the report: the figure, interval and unit, or why there is none."""

import json
from functools import cache

import pytest
import synthetic_run
from crumple.run.report import run_sentences
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import RunView, view
from crumple.study.claim import Claim
from crumple.verdict.verdict import KINDS
from pydantic import TypeAdapter

TWO = ["go-nethttp", "node-http"]
CLAIMS = [
    {
        "id": "K-1",
        "kind": "share",
        "experiment": "separate",
        "servers": ["node-express-cluster"],
        "above": "1 %",
    },
    {"id": "K-2", "kind": "share", "experiment": "shared", "servers": TWO, "below": "1 %"},
    {
        "id": "K-3",
        "kind": "figure",
        "experiment": "shared",
        "metric": "response_p50",
        "servers": TWO,
        "published": "1..2 ms",
    },
    {"id": "K-4", "kind": "figure", "cost": "system_call", "published": "20 ns"},
    {"id": "K-5", "kind": "flatness", "experiment": "shared", "servers": TWO},
    {"id": "K-6", "kind": "knee", "experiment": "shared", "servers": TWO, "published": 340},
    {
        "id": "K-7",
        "kind": "growth",
        "experiments": ["shared", "separate"],
        "metric": "processes",
        "servers": TWO,
    },
    {"id": "K-8", "kind": "stall", "experiment": "shared", "servers": TWO},
    {"id": "K-9", "kind": "model", "experiment": "shared", "servers": TWO},
    {
        "id": "K-10",
        "kind": "order",
        "experiment": "separate",
        "against": "shared",
        "metric": "throughput",
        "tiers": [["go-nethttp"], ["node-http"]],
    },
    {
        "id": "K-11",
        "kind": "figure",
        "experiment": "shared",
        "metric": "memory",
        "servers": TWO,
        "published": "14..71 MiB",
    },
    {
        "id": "K-12",
        "kind": "ratio",
        "experiment": "shared",
        "metric": "throughput",
        "pairs": [{"of": "separate:node-http", "to": "node-http", "published": 0.71}],
    },
]


@cache
def seen() -> RunView:
    run = synthetic_run.run_file()
    claims = tuple(TypeAdapter(Claim).validate_python({"text": "A claim.", **claim}) for claim in CLAIMS)
    study = run.study.model_copy(update={"claims": claims})
    machine = {**run.machine, "costs": {"system_call": [19.8, 20.0, 20.3]}}
    return view(run.model_copy(update={"study": study, "machine": machine}), synthetic_run.trials())


def test_every_kind_is_shown() -> None:
    assert {verdict.kind for verdict in seen().verdicts} == set(KINDS)


@pytest.mark.usefixtures("without_charts")
def test_every_sentence_is_in_every_long_format() -> None:
    page, written = html(seen()), json.loads(as_json(seen()))
    for verdict, told in zip(seen().verdicts, written["claims"], strict=True):
        assert told["sentence"] == verdict.sentence
        assert verdict.claim_id in page
        assert run_sentences.answer(verdict) in page
    assert "the cost of a system call" in markdown(seen()).lower()


@pytest.mark.parametrize("width", [80, 110])
def test_text_stays_within_its_width(width: int) -> None:
    said = text(seen(), width=width, styled=False)
    assert max(len(line) for line in said.splitlines()) <= width
    for claim in CLAIMS:
        assert f" {claim['id']} " in said


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
