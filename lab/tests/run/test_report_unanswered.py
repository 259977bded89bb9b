"""Users who got no answer are in every table of a run: 56 of 64 of them must not show as "failed 0 %"."""

import json

import documents
import pytest
import synthetic_run
from crumple.run import run_live as live
from crumple.run.report import report_document, run_report, run_tables
from crumple.run.report.view import RunView, view
from crumple.run.store import StoredTrial

STARVED = ("shared", 1, "node-http")


def starved(trial: StoredTrial) -> StoredTrial:
    """Return the trial with 56 of 64 users who waited for 3.5 s in vain; the others' median is far below."""
    record = trial.record
    assert record is not None
    times = record.histograms.model_copy(update={"unfinished_age": documents.histogram({3_500_000_000: 56})})
    update = {"users": 64, "users_unanswered": 56, "histograms": times}
    return trial.model_copy(update={"record": record.model_copy(update=update)})


@pytest.fixture(scope="module")
def trials() -> dict[str, StoredTrial]:
    made = synthetic_run.trials()
    return {
        each.trial.id: starved(each)
        if (each.trial.experiment, each.trial.block, each.trial.server) == STARVED and not each.trial.twin
        else each
        for each in made
    }


@pytest.fixture(scope="module")
def seen(trials: dict[str, StoredTrial]) -> RunView:
    return view(synthetic_run.run_file(), list(trials.values()))


def test_the_live_line_shows_unanswered_users(trials: dict[str, StoredTrial]) -> None:
    line, colour = live.result(trials["shared/b01/node-http"])
    assert "56 of 64 users unanswered" in line and colour == "yellow"
    assert "unanswered" not in live.result(trials["shared/b02/node-http"])[0]


def test_the_tables_show_unanswered_users_beside_failed_requests(seen: RunView) -> None:
    shown = next(each for each in seen.experiments if each.name == "shared")
    rows = {row.server.name: row.remark for row in run_tables.servers(shown)}
    assert rows.pop("node-http") == ("56 of 64 connections got no answer in b01; quantiles are of the others")
    assert not any("no answer" in remark for remark in rows.values())
    lines = {row.id: row.failed for row in run_tables.trials(seen)}
    assert lines["shared/b01/node-http"].endswith(", 56 of 64 users unanswered")
    assert sum("unanswered" in failed for failed in lines.values()) == 1


def test_every_format_shows_unanswered_users(seen: RunView) -> None:
    said = "56 of 64 connections got no answer in b01"
    assert said in run_report.text(seen, width=100, styled=False)
    assert said in run_report.markdown(seen) and "56 of 64 users unanswered" in run_report.markdown(seen)
    assert said in run_report.html(seen) and "56 of 64 users unanswered" in run_report.html(seen)


def test_json_has_unanswered_users(seen: RunView) -> None:
    document = json.loads(report_document.as_json(seen))
    shared = next(each for each in document["experiments"] if each["name"] == "shared")
    rows = {row["server"]: row["unanswered"] for row in shared["servers"] if not row["twin"]}
    assert rows["node-http"] == ["shared/b01/node-http"]
    assert not any(rows[name] for name in rows if name != "node-http")
    (trial,) = [each for each in document["trials"] if each["id"] == "shared/b01/node-http"]
    assert (trial["users"], trial["users_unanswered"]) == (64, 56)
