"""Trials that could not be tried on this machine are called skipped in every format, and never failed."""

import json

import pytest
import synthetic_run
from crumple.run.report import report_document, run_report, run_sentences, run_tables
from crumple.run.report.view import RunView, view
from crumple.run.store import Failure, StoredTrial

GONE = "node-cluster"
WHY = "node is not installed; run: crumple setup node-cluster"


def skipped(trial: StoredTrial) -> StoredTrial:
    """Return a trial as it is stored if a runtime is missing."""
    failure = Failure(step="setup", message=WHY)
    return trial.model_copy(
        update={"status": "failed", "failure": failure, "record": None, "problems": (), "warnings": ()}
    )


@pytest.fixture(scope="module")
def seen() -> RunView:
    trials = [skipped(each) if each.trial.server == GONE else each for each in synthetic_run.trials()]
    return view(synthetic_run.run_file(), trials)


def test_skipped_trials_are_counted_apart_from_failed_ones(seen: RunView) -> None:
    assert run_sentences.trials(seen) == "48 trials: 41 count (1 with a warning), 6 were skipped, 1 failed."
    assert run_sentences.skips(seen) == [f"{GONE}: 6 trials were skipped: {WHY}"]
    assert {start.trial.trial.server for start in seen.failed} == {"java-grizzly-worker"}


def test_a_server_that_never_ran_is_marked_as_skipped(seen: RunView) -> None:
    rows = {row.name: run_sentences.marks(row) for row in seen.experiments[0].rows}
    assert rows[GONE] == "skipped" and rows["java-grizzly-worker"] == "b02 did not run"


def test_every_format_gives_the_reason_once(seen: RunView) -> None:
    for said in (
        run_report.text(seen, width=200, styled=False),
        run_report.markdown(seen),
        run_report.html(seen),
    ):
        assert said.count(f"{GONE}: 6 trials were skipped: node is not installed") == 1


def test_each_skipped_trial_is_marked(seen: RunView) -> None:
    rows = [row for row in run_tables.trials(seen) if f"/{GONE}" in row.id]
    assert {row.status for row in rows} == {"skipped"} and len(rows) == 6
    assert {row.remark for row in rows} == {f"skipped: {WHY}"}
    trials = json.loads(report_document.as_json(seen))["trials"]
    assert {each["server"] for each in trials if each["skipped"]} == {GONE}
