"""The report of a run with a ramp and a canary: its text against golden files, its tables, its charts.

After an intended change: CRUMPLE_WRITE_GOLDEN=1 pytest lab/tests/run/test_report_ramp_run.py, then read the
difference.
"""

import re
from functools import cache

import pytest
import synthetic_ramp
from crumple.run.report import run_charts, run_tables
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import RunView, view
from crumple.verdict.effect import VerdictWord
from golden_file import as_golden
from synthetic_ramp import PHP_256

# Each test draws the pages of a run with ramps.
pytestmark = pytest.mark.long


@cache
def seen() -> RunView:
    return view(synthetic_ramp.run_file(), synthetic_ramp.trials())


@cache
def page() -> str:
    return html(seen())


@pytest.mark.parametrize("width", [80, 100, 110])
def test_text_equals_the_golden_file(width: int) -> None:
    said = text(seen(), width=width, styled=False)
    assert said == as_golden(f"users-{width}.txt", said)
    assert max(map(len, said.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 100, 110])
def test_every_claim_has_a_line_or_stands_with_those_that_wait(width: int) -> None:
    said = text(seen(), width=width, styled=False)
    for verdict in seen().verdicts:
        begin = " ".join(verdict.text.split()[:3])
        waits = verdict.answer is VerdictWord.NOT_TESTABLE
        assert f"({verdict.claim_id}" in said if waits else re.search(rf"{verdict.claim_id} +{begin}", said)


def test_a_variants_settings_are_not_read_as_markup() -> None:
    assert "php-apache[workers=256]" in text(seen(), width=110, styled=False)


def test_markdown_equals_the_golden_file() -> None:
    said = markdown(seen())
    assert said == as_golden("users.md", said)


def test_each_experiment_has_the_charts_of_its_kind() -> None:
    ramp, stall = (
        {kind.name for kind in run_charts.of_experiment(shown) if kind.draw(shown) is not None}
        for shown in seen().experiments
    )
    assert "ramp" in ramp and not ramp & {"canary", "over-time"}
    assert "canary" in stall and "ramp" not in stall
    for shown, name in zip(seen().experiments, ("ramp", "canary"), strict=True):
        assert f"charts/{shown.name}-{name}." in markdown(seen())


def test_costs_of_the_machine_are_a_line_each() -> None:
    facts = dict(run_tables.machine(seen()))
    plain = {name: said.replace("\u202f", " ") for name, said in facts.items() if name.startswith("cost")}
    assert plain == {
        "cost of a system call": "122 ns [120 – 124 ns in 3 readings]",
        "cost of a process": "155 µs, one reading",
    }


def test_chart_colours_follow_the_page() -> None:
    style, body = page().split("</style>", 1)
    for colour in set(re.findall(r'(?:fill|stroke)="(#[0-9a-fA-F]{3,6})"', body)):
        assert f'"{colour}"]' in style, f"{colour} stays as it is in the dark"


def test_ids_in_the_page_are_unique() -> None:
    ids = re.findall(r'\bid="([^"]+)"', page())
    assert len(ids) == len(set(ids))


def test_charts_label_variants_by_their_differing_settings() -> None:
    drawn = re.findall(r'<figure class="chart.*?</figure>', page(), re.S)
    assert not any(f">{PHP_256}</text>" in chart for chart in drawn)
    assert ">php-apache[workers=256]</text>" in drawn[0]
