"""What a run left: claims that --servers leaves out, claims that are undecided, blocks that were not run."""

import json
from dataclasses import replace
from functools import cache

import pytest
import synthetic_run
from crumple.run.report import left_sentences, run_sentences, run_tables, runs_report
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import RunView, trial_s, view
from crumple.run.run_file import TIME_OVER
from crumple.run.run_plan import plan
from crumple.study.which_servers import restrict
from crumple.verdict.effect import VerdictWord

KEPT = ("go-nethttp", "node-express")
DECIDED = "the claims that rest on it are decided"


@cache
def of_two_servers() -> RunView:
    """Return the run as --servers restricts it to two."""
    run = synthetic_run.run_file()
    study = restrict(run.study, KEPT, {name: {} for name in run.study.servers})
    kept = run.model_copy(update={"study": study, "only": KEPT, "plan": plan(study, run.scale, run.seed)})
    return view(kept, [each for each in synthetic_run.trials() if each.trial.server in KEPT])


def test_a_claim_whose_servers_the_user_left_out_is_not_asked() -> None:
    seen = of_two_servers()
    assert "TJ-4" in {each.claim_id for each in seen.asked}
    rows = {row.claim_id: row.why for row in run_tables.claims_not_asked(seen)}
    assert rows["TJ-3"] == "--servers leaves out node-http"
    assert rows["TJ-6"] == "--servers leaves out java-grizzly-same and java-grizzly-worker"
    assert all(each.answer is not VerdictWord.NOT_TESTABLE for each in seen.asked)
    said = run_sentences.summary(seen)
    assert "not testable" not in said and "larger scale" not in said
    assert f"{len(rows)} more claims are not asked, because --servers leaves out " in said


def test_without_servers_left_out_such_claims_stay_asked() -> None:
    run = synthetic_run.run_file()
    seen = view(run, [each for each in synthetic_run.trials() if each.trial.server in KEPT])
    assert {each.claim_id for each in seen.asked} == {claim.id for claim in run.study.claims}
    assert "not testable here" in run_sentences.summary(seen) and left_sentences.by_servers([seen]) == ""


def adaptive(stopped: dict[str, str], undecided: dict[str, str]) -> RunView:
    """Return the run with a scale that looks after two blocks and each further one up to nine."""
    run = synthetic_run.run_file()
    experiments = {
        name: each.model_copy(
            update={
                "scales": {
                    run.scale: each.scales[run.scale].model_copy(update={"least_blocks": 2, "blocks": 9})
                }
            }
        )
        for name, each in run.study.experiments.items()
    }
    study = run.study.model_copy(update={"experiments": experiments})
    changes = {"study": study, "stopped": stopped, "undecided": undecided}
    return view(run.model_copy(update=changes), synthetic_run.trials())


def undecided(seen: RunView, claim: str = "TJ-6") -> RunView:
    """Return the run with that claim undecided."""
    changed = tuple(
        replace(each, answer=VerdictWord.UNDECIDED) if each.claim_id == claim else each
        for each in seen.verdicts
    )
    return replace(seen, verdicts=changed)


@pytest.mark.long
@pytest.mark.long
def test_every_format_says_why_blocks_were_not_run_and_claims_not_decided() -> None:
    stopped = {"shared": DECIDED, "separate": TIME_OVER}
    claim = "TJ-6"
    seen = undecided(adaptive(stopped, {claim: "it has had all 9 blocks of this scale"}), claim)
    why = f"Not all planned blocks were run: shared ({DECIDED}), separate ({TIME_OVER})."
    left = f"Left undecided: {claim} (it has had all 9 blocks of this scale)"
    for said in (text(seen, width=300, styled=False), markdown(seen), html(seen)):
        assert why in said and left in said
    document = json.loads(as_json(seen))
    assert document["stopped"] == stopped
    assert {each["id"]: each["left"] for each in document["claims"]}[claim].startswith("it has had all 9")
    assert why.replace("shared (", "todo-json (").partition(" (")[0] in runs_report.text([seen], width=300)


def test_experiments_and_claims_are_named_once_for_each_reason() -> None:
    seen = adaptive({"shared": TIME_OVER, "separate": TIME_OVER}, {})
    said = left_sentences.blocks_not_run(seen)
    assert said == f"Not all planned blocks were run: shared and separate ({TIME_OVER})."
    other = adaptive({"shared": "more blocks would not help: it is so"}, {})
    other = replace(other, run=other.run.model_copy(update={"id": "another"}))
    assert left_sentences.blocks_not_run_of([seen, other]) == (
        f"Not all planned blocks were run: {seen.run.id} ({TIME_OVER}), another (more blocks would not help)."
    )


def test_a_run_with_all_its_blocks_says_nothing() -> None:
    seen = view(synthetic_run.run_file(), synthetic_run.trials())
    assert left_sentences.blocks_not_run(seen) == left_sentences.blocks_not_run_of([seen]) == ""


def test_an_undecided_claim_of_a_fixed_design_was_left_by_its_scale() -> None:
    seen = undecided(view(synthetic_run.run_file(), synthetic_run.trials()))
    assert left_sentences.claims_undecided(seen) == f"Left undecided: TJ-6 ({left_sentences.FIXED})."
    # A run that goes on has not said why yet.
    assert left_sentences.claims_undecided(undecided(adaptive({}, {}))) == ""


def test_the_seconds_of_a_trial_are_known_for_each_server() -> None:
    """A block of eight trials does not tell how long one of two servers takes."""
    seen = view(synthetic_run.run_file(), synthetic_run.trials())
    known = trial_s(seen.starts)
    assert known["shared", "go-nethttp"] == pytest.approx(0.12 + 0.31 + 1.5 + 2.0)
    assert known["separate", "java-grizzly-same"] == pytest.approx(0.8 + 0.31 + 1.5 + 2.0)
    assert len(known) == 2 * 7
