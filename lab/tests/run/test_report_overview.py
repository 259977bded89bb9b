"""Several runs on one page and in one text, compared with golden files; and the links of the page.

After an intended change: CRUMPLE_WRITE_GOLDEN=1 pytest lab/tests/run/test_report_overview.py, then read the
difference.
"""

import json
import re
from functools import cache

import own_scripts
import pytest
import synthetic_ramp
import synthetic_run
from crumple.drawing.page import unbroken as shown_on_pages
from crumple.run.report import run_sentences, runs_report
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown
from crumple.run.report.view import RunView, view
from golden_file import as_golden


@cache
def seen() -> tuple[RunView, ...]:
    made = (synthetic_run, synthetic_ramp)
    return tuple(view(run.run_file(), run.trials()) for run in made)


@cache
def page() -> str:
    return runs_report.html(seen(), {shown.run.id: f"{shown.run.id}/report.html" for shown in seen()})


@pytest.mark.long
@pytest.mark.parametrize("width", [80, 100, 110])
def test_text_equals_the_golden_file(width: int) -> None:
    said = runs_report.text(seen(), width=width, styled=False)
    assert said == as_golden(f"overview-{width}.txt", said)
    assert max(map(len, said.splitlines())) <= width


def test_markdown_equals_the_golden_file() -> None:
    said = runs_report.markdown(seen())
    assert said == as_golden("overview.md", said)
    assert all(f"| {verdict.claim_id} " in said for shown in seen() for verdict in shown.verdicts)


def test_the_page_equals_the_golden_file() -> None:
    said = re.sub(r"<style>.*?</style>| script-src .*?&#39;;", "", own_scripts.without(page()), flags=re.S)
    assert said == as_golden("overview.html", said)


def test_every_claim_of_the_scale_and_every_report_is_on_the_page() -> None:
    for shown in seen():
        assert f'href="{shown.run.id}/report.html"' in page()
        for verdict in shown.asked:
            for said in (verdict.text, run_sentences.reason(verdict)):
                assert shown_on_pages(said) in page()


def test_ids_are_unique_and_no_internal_link_is_broken() -> None:
    twice = runs_report.html([*seen(), seen()[0].__class__(
        seen()[0].run.model_copy(update={"id": "another"}), seen()[0].experiments, seen()[0].verdicts
    )], {**{shown.run.id: "" for shown in seen()}, "another": ""})  # fmt: skip
    for said in (page(), twice):
        ids = re.findall(r'\bid="([^"]+)"', said)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'href="#([^"]+)"', said)) <= set(ids)


def test_answers_are_counted_over_all_runs() -> None:
    assert runs_report.summary(seen()) == (
        "11 claims of 2 studies: ✗ 3 contradicted, ↗ 2 contradicted in size only, ✓ 5 supported, "
        "– 1 not judged."
    )
    assert runs_report.summary(()) == "no claims of no studies: none judged."
    assert "1 study at scale quick" in runs_report.html(seen()[:1], {seen()[0].run.id: ""})


@cache
def asking_less() -> RunView:
    """Return the made-up run with a scale that may not answer the study's first claim."""
    shown = seen()[0]
    first, *others = shown.run.study.claims
    larger = first.model_copy(update={"scales": ("full", "published")})
    study = shown.run.study.model_copy(update={"claims": (larger, *others)})
    return view(shown.run.model_copy(update={"study": study}), synthetic_run.trials())


def test_claims_outside_the_scale_are_one_line_on_the_screen() -> None:
    asked = asking_less()
    assert [verdict.claim_id for verdict in asked.not_asked] == ["TJ-1"]
    said = runs_report.text([asked], width=110, styled=False)
    assert "Go is fastest." not in said and "1 more claim is not asked at scale quick" in said
    assert "1 more is asked at a larger scale." in run_sentences.summary(asked)


def test_claims_outside_the_scale_are_folded_on_the_page_without_a_verdict() -> None:
    asked = asking_less()
    link = {asked.run.id: "report.html"}
    for said in (
        html(asked),
        runs_report.html([asked], link),
        markdown(asked),
        runs_report.markdown([asked]),
    ):
        shown, _, folded = said.partition("<summary>1 more claim is not asked at scale quick</summary>")
        folded = folded.partition("</details>")[0]
        assert "Go is fastest." in folded and "TJ-1" in folded
        assert "Go is fastest." not in said.replace(folded, "") and "Java on Grizzly is second." in shown
        assert '<span class="badge not-testable-here">' not in said and "**not testable here**" not in said
    told = {claim["id"]: claim["asked"] for claim in json.loads(as_json(asked))["claims"]}
    assert told == {"TJ-1": False} | {f"TJ-{number}": True for number in range(2, 7)}


def test_a_claim_belongs_to_a_scale_if_all_its_experiments_are_run() -> None:
    shown = seen()[0]
    first, *others = shown.run.study.claims
    elsewhere = first.model_copy(update={"against": "separate"})
    study = shown.run.study.model_copy(update={"claims": (elsewhere, *others)})
    plan = shown.run.plan.model_copy(
        update={"blocks": tuple(each for each in shown.run.plan.blocks if each.experiment == "shared")}
    )
    asked = view(shown.run.model_copy(update={"study": study, "plan": plan}), synthetic_run.trials())
    assert [verdict.claim_id for verdict in asked.not_asked] == ["TJ-1", "TJ-6"]
