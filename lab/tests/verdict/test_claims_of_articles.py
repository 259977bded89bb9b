"""The source of a claim: its place, its conditions, and whether its figure is published or expected."""

import json
from dataclasses import replace
from typing import Any

import pytest
import synthetic_run
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import RunView, view
from crumple.study.claim import Claim, quantity
from crumple.verdict.case import RunFacts
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import judge
from made_figures import server, trial
from pydantic import TypeAdapter, ValidationError

ONE = {"id": "C", "text": "A claim.", "kind": "ratio", "experiment": "shared", "metric": "throughput"}


def claim(**written: Any) -> Claim:
    return TypeAdapter(Claim).validate_python(ONE | written)


def pair(**held_against: float) -> list[dict[str, Any]]:
    return [{"of": "php", "to": "go", **held_against}]


FIGURES = [*server("php", 2_000), *server("go", 1_000, shift=1)]


def test_a_pair_has_either_a_published_or_an_expected_ratio() -> None:
    for held in ({}, {"published": 2.0, "expected": 2.0}, {"expected": 2.0, "at_least": 1.5}):
        with pytest.raises(ValidationError, match="needs published, expected or at_least"):
            claim(pairs=pair(**held))


def test_an_expected_ratio_is_judged_like_a_published_one_and_not_called_published() -> None:
    expected = judge(claim(pairs=pair(expected=2.0)), FIGURES)
    published = judge(claim(pairs=pair(published=2.0)), FIGURES)
    assert expected.answer is published.answer is VerdictWord.SUPPORTED
    ((effect,), (other,)) = expected.effects, published.effects
    assert (effect.published, effect.expected) == (None, 2.0)
    assert (other.published, other.expected) == (2.0, None)
    assert "expects a ratio of 2" in expected.sentence and "expected size" in expected.sentence
    assert "published" not in expected.sentence


@pytest.mark.parametrize(
    ("at_least", "wanted"),
    [(1.5, VerdictWord.SUPPORTED), (4.0, VerdictWord.CONTRADICTED), (1.9, VerdictWord.SUPPORTED)],
)
def test_much_more_is_a_bound_without_an_upper_end(at_least: float, wanted: VerdictWord) -> None:
    verdict = judge(claim(pairs=pair(at_least=at_least)), FIGURES)
    assert verdict.answer is wanted
    assert verdict.effects[0].bound == f"at least {at_least:g} times"


def test_a_figure_may_have_no_upper_end() -> None:
    assert quantity("100.. ns") == (100, float("inf"))
    meant = claim(kind="figure", cost="thread_switch", published="100.. ns", tolerance=1.0, metric=None,
                  experiment=None)  # fmt: skip

    def judged(ns: float) -> VerdictWord:
        return judge(meant, [], facts=RunFacts(costs={"thread_switch": (ns, 1.01 * ns, 0.99 * ns)})).answer

    assert [judged(20), judged(120), judged(50_000)] == [
        VerdictWord.CONTRADICTED,
        VerdictWord.SUPPORTED,
        VerdictWord.SUPPORTED,
    ]
    said = judge(meant, [], facts=RunFacts(costs={"thread_switch": (9e4, 9.1e4, 9.2e4)}))
    assert said.effects[0].bound == "100 ns or more"
    with pytest.raises(ValidationError):
        claim(kind="share", servers=["go"], metric="failed_share", above="1.. %")


def test_a_figure_may_be_expected() -> None:
    meant = {"kind": "figure", "servers": ["go"], "metric": "response_mean"}
    with pytest.raises(ValidationError, match="needs either published or expected"):
        claim(**meant)
    verdict = judge(claim(**meant, expected="1 ms"), FIGURES)
    assert verdict.answer is VerdictWord.SUPPORTED
    assert verdict.effects[0].bound == "expected 1 ms"


def test_switches_are_compared() -> None:
    figures = [
        trial(name, block, 1_000, switches_per_request=switches * luck)
        for name, switches in (("few", 2.0), ("many", 9.0))
        for block, luck in enumerate((1.0, 1.02, 0.98, 1.01, 0.99), 1)
    ]
    meant = claim(kind="order", metric="switches", tiers=[["few"], ["many"]])
    verdict = judge(meant, figures)
    assert verdict.answer is VerdictWord.SUPPORTED
    assert "he number of context switches per request of few was" in verdict.sentence


def conditioned(**written: Any) -> RunView:
    """Return a run whose first claim is from the article's second chart, and holds for kept connections."""
    run = synthetic_run.run_file()
    first, *others = run.study.claims
    update = {"place": "second chart", "conditions": ("users keep <their> connections", "PHP 8.2")}
    claims = (first.model_copy(update=update | written), *others)
    study = run.study.model_copy(update={"claims": claims})
    return view(run.model_copy(update={"study": study}), synthetic_run.trials())


@pytest.mark.long
def test_place_and_conditions_are_shown_beside_the_verdict() -> None:
    seen = conditioned()
    said = "In the article: second chart. It rests on: users keep {}their> connections; PHP 8.2."
    assert said.format("\\<") in markdown(seen)
    assert "In the article: second chart." in html(seen)
    assert "It rests on: users keep &lt;their&gt; connections; PHP 8.2." in html(seen)
    first = json.loads(as_json(seen))["claims"][0]
    assert first["place"] == "second chart"
    assert first["conditions"] == ["users keep <their> connections", "PHP 8.2"]


@pytest.mark.long
@pytest.mark.long
def test_a_claim_without_place_and_conditions_shows_none() -> None:
    bare = conditioned(place=None, conditions=())
    assert "In the article:" not in markdown(bare) and "It rests on" not in markdown(bare)


@pytest.mark.long
def test_an_expected_ratio_is_shown_as_such_in_every_format() -> None:
    seen = view(synthetic_run.run_file(), synthetic_run.trials())
    (index, verdict), *_ = (
        (index, each) for index, each in enumerate(seen.verdicts) if each.kind == "ratio" and each.effects
    )
    effects = tuple(replace(each, published=None, expected=7.5) for each in verdict.effects)
    verdicts = [*seen.verdicts]
    verdicts[index] = replace(verdict, effects=effects)
    seen = replace(seen, verdicts=tuple(verdicts))
    assert "| expected 7.5 |" in markdown(seen)
    assert 'data-label="Claimed">expected 7.5<' in html(seen)
    shown = text(seen, width=110, styled=False)
    assert "  7.5*\n" in shown and "* is what the study expects" in shown
    assert {each["expected"] for each in json.loads(as_json(seen))["claims"][index]["effects"]} == {7.5}
