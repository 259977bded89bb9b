"""What limits the servers of a run, and where their time goes: joined over starts, in every format."""

import json
from collections.abc import Callable

import made_inside
import pytest
import synthetic_run
import test_stages
from crumple.contract import TrialRecord
from crumple.drawing import page
from crumple.run.report import run_charts, why, why_sentences
from crumple.run.report.markdown import markdown
from crumple.run.report.run_json import data
from crumple.run.report.run_page import html
from crumple.run.report.run_text import text
from crumple.run.report.view import RunView, view
from crumple.run.store import StoredTrial

MS = 1_000_000
Read = dict[str, int]


def watched(record: TrialRecord, read: Read, cores: float, ready: float) -> TrialRecord:
    """The record with readings that found requests there; so many cores busy, and threads ready to run."""
    at_ns = [record.warm_up_ns + record.measured_ns * row // 60 for row in range(60)]
    server = made_inside.server(record, 0.9 * cores, 0.1 * cores)
    tasks = made_inside.tasks(
        record, [(round(cores + ready), 0, 0)] * 60, run_queue_ns=round(ready * record.measured_ns)
    )
    stages = test_stages.readings([read] * 60, at_ns).model_copy(update={"cost_ns": (1_000,) * 60})
    probes = record.probes.model_copy(update={"stages": stages, "server": server, "tasks": tasks})
    return record.model_copy(update={"probes": probes})


def seen(of: Callable[[StoredTrial], tuple[Read, float, float] | None]) -> RunView:
    """The synthetic run with readings of each trial, on two cores; None: it was not watched."""
    trials = []
    for stored in synthetic_run.trials():
        found = of(stored) if stored.record is not None else None
        if found is not None and stored.record is not None:
            server = stored.server.model_copy(update={"cores": 2})
            update = {"record": watched(stored.record, *found), "server": server}
            stored = stored.model_copy(update=update)
        trials.append(stored)
    run = synthetic_run.run_file()
    claims = tuple(claim.model_copy(update={"argues_cause": True}) for claim in run.study.claims)
    study = run.study.model_copy(update={"claims": claims})
    return view(run.model_copy(update={"study": study}), trials)


def busy(stored: StoredTrial) -> tuple[Read, float, float] | None:
    """Node.js had a queue in front of idle cores; the others used all cores."""
    if stored.trial.server == "node-http":
        return {"inside": 4, "unread": 28}, 0.3, 0.0
    return {"inside": 32}, 1.9, 3.0


def of(run: RunView, experiment: str, server: str) -> why.ServerWhy:
    """What is known of one server."""
    shown = next(each for each in run.experiments if each.name == experiment)
    return next(each for each in why.servers(shown) if each.server.name == server)


def test_a_server_is_limited_by_what_comes_first_in_most_of_its_starts() -> None:
    run = seen(busy)
    go, node = of(run, "shared", "go-nethttp"), of(run, "shared", "node-http")
    assert go.limit is not None and go.limit.finding.cause == "cpu"
    assert (go.limit.starts, go.limit.judged) == (3, 3)
    assert node.limit is not None and node.limit.finding.cause == "workers"


def test_starts_that_differ_name_no_limit() -> None:
    def each_its_own(stored: StoredTrial) -> tuple[Read, float, float] | None:
        return [busy(stored), ({"inside": 4, "unread": 28}, 0.3, 0.0), ({"inside": 32}, 0.3, 0.0)][
            stored.trial.block - 1
        ]

    found = of(seen(each_its_own), "shared", "go-nethttp")
    assert found.limit is None
    assert found.no_limit == "its starts differ: cpu in 1 of 3, workers in 1 of 3"


def test_the_time_of_a_server_is_the_mean_over_its_starts() -> None:
    found = of(seen(busy), "shared", "node-http")
    assert found.time is not None
    inside = found.time.part("inside").mean_ns
    assert found.time.part("unread").mean_ns == pytest.approx(7 * inside, rel=0.01)
    assert found.time.readings == 3 * 60


def test_a_server_that_was_not_watched_is_not_spoken_of() -> None:
    run = seen(lambda _: None)
    assert all(not why.servers(shown) for shown in run.experiments)
    assert why_sentences.in_short(run.experiments[0]) == ""
    assert "What limits them" not in markdown(run)
    assert "limited by" not in text(run, 100, styled=False)


@pytest.mark.usefixtures("without_charts")
def test_every_format_names_the_limits() -> None:
    run = seen(busy)
    page, written, said = html(run), json.loads(data(run)), text(run, 110, styled=False)
    shown = next(each for each in written["experiments"] if each["name"] == "shared")
    assert shown["why"]["node-http"]["limit"]["cause"] == "workers"
    assert shown["why"]["go-nethttp"]["time"]["why"] is None
    for document in (page, markdown(run)):
        assert "What limits them" in document and "Limited here: " in document
    assert "workers (" in said and "limited by CPU (" in " ".join(said.split())


def test_the_chart_of_the_time_is_drawn_where_it_is_known() -> None:
    kind = next(each for each in run_charts.KINDS if each.name == "time")
    shown = seen(busy).experiments[0]
    drawn = kind.drawn(shown, page.WIDE_PX)
    assert drawn is not None
    drawn.to_dict(validate=True)
    assert kind.drawn(seen(lambda _: None).experiments[0], page.WIDE_PX) is None


def test_a_claim_that_argues_no_cause_names_no_limit() -> None:
    run = seen(busy)
    assert set(why.of_claims(run)) == {verdict.claim_id for verdict in run.asked}
    study = run.run.study
    claims = tuple(claim.model_copy(update={"argues_cause": False}) for claim in study.claims)
    quiet = view(run.run.model_copy(update={"study": study.model_copy(update={"claims": claims})}), [])
    assert why.of_claims(quiet) == {}
