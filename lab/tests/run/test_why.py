"""What limits the servers of a run, and where their time goes: joined over starts, in every format."""

import json
import re
from collections.abc import Callable
from typing import Any

import documents
import made_inside
import made_stages
import pytest
import synthetic_run
from crumple.contract import TrialRecord
from crumple.record import disturbance
from crumple.record.disturbance import Disturbance
from crumple.run.report import run_charts, why, why_sentences
from crumple.run.report.report_document import as_json
from crumple.run.report.run_report import html, markdown, text
from crumple.run.report.view import RunView, view
from crumple.run.store import StoredTrial


@pytest.fixture(autouse=True)
def named_though_a_rival_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loads here are too plain to tell causes apart; what is made of a named one is tested."""
    monkeypatch.setattr("crumple.cause.judged.LIKELY", 0.3)


MS = 1_000_000
Read = dict[str, int]


def watched(record: TrialRecord, read: Read, cores: float, ready: float, rows: int = 60) -> TrialRecord:
    """The record with readings that found requests there; so many cores busy, and threads ready to run."""
    at_ns = [record.warm_up_ns + record.measured_ns * row // rows for row in range(rows)]
    server = made_inside.server(record, 0.9 * cores, 0.1 * cores)
    tasks = made_inside.tasks(
        record,
        [(round(cores + ready), 0, 0)] * rows,
        cores=cores,
        run_queue_ns=round(ready * record.measured_ns),
    )
    stages = made_stages.readings([read] * rows, at_ns).model_copy(update={"cost_ns": (1_000,) * rows})
    probes = record.probes.model_copy(update={"stages": stages, "server": server, "tasks": tasks})
    return record.model_copy(update={"probes": probes})


def on_machine(record: TrialRecord, cores: int, busy: float) -> TrialRecord:
    """The record of a machine of so many cores, of which so many were busy."""
    machine = documents.machine(round(busy * record.measured_ns), cores=cores, span_ns=record.measured_ns)
    return record.model_copy(update={"probes": record.probes.model_copy(update={"machine": machine})})


def seen(
    of: Callable[[StoredTrial], tuple[Read, float, float] | None],
    disturbed: Callable[[StoredTrial], Disturbance | None] = lambda _: None,
    machine: tuple[int, float] | None = None,
    rows: int = 60,
) -> RunView:
    """The synthetic run with readings of each trial, on two cores; None: it was not watched.

    `disturbed`: what was found of others; None: as it is. `machine`: its cores, and how many were busy.
    `rows`: how many readings each start has.
    """
    trials = []
    for stored in synthetic_run.trials():
        found = of(stored) if stored.record is not None else None
        if found is not None and stored.record is not None:
            server = stored.server.model_copy(update={"cores": 2})
            record = watched(stored.record, *found, rows)
            if machine is not None:
                record = on_machine(record, *machine)
            update: dict[str, Any] = {"record": record, "server": server}
            if (others := disturbed(stored)) is not None:
                update["disturbance"] = others
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


def test_of_two_causes_in_as_many_starts_none_is_the_limit() -> None:
    def two(stored: StoredTrial) -> tuple[Read, float, float] | None:
        starts = [({"inside": 32}, 1.9, 3.0), ({"inside": 4, "unread": 28}, 0.3, 0.0), None]
        return starts[stored.trial.block - 1]

    found = of(seen(two), "shared", "go-nethttp")
    assert found.limit is None and found.no_limit == "its starts differ: cpu in 1 of 2, workers in 1 of 2"


def test_a_start_that_others_disturbed_does_not_count_against_what_limits_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disturbance, "SLOWDOWN_MAX", 2.0)
    monkeypatch.setattr(disturbance, "MENTIONED", 1.05)

    def often(stored: StoredTrial) -> Disturbance | None:
        loud = Disturbance(others_share=0.4, steal_share=0.0, taken_share=0.8, slowdown=5.0)
        return loud if stored.trial.block < 3 else None

    found = of(seen(busy, often), "shared", "go-nethttp")
    assert found.limit is not None and found.limit.finding.cause == "cpu"
    assert (found.limit.starts, found.limit.judged, found.limit.of) == (1, 1, 3)
    assert "in 1 of 1 starts; 2 more could not be judged" in why_sentences.limit(found)


def with_database(stored: StoredTrial) -> Disturbance:
    return Disturbance(others_share=0.01, steal_share=0.0)


@pytest.mark.long
def test_a_run_that_is_bound_to_two_of_many_cores_shares_these_with_its_load() -> None:
    def queued(stored: StoredTrial) -> tuple[Read, float, float] | None:
        return {"inside": 4, "unread": 28}, 1.42, 0.0

    found = of(seen(queued, machine=(64, 1.8)), "shared", "go-nethttp")
    assert found.limit is not None and found.limit.finding.cause == "cpu"


def test_of_how_many_starts_the_time_is_known_is_said() -> None:
    def one_is_idle(stored: StoredTrial) -> tuple[Read, float, float] | None:
        return ({"inside": 0}, 0.1, 0.0) if stored.trial.block == 2 else busy(stored)

    found = of(seen(one_is_idle), "shared", "go-nethttp")
    assert (found.timed, found.starts) == (2, 3)
    assert "in 2 of 3 starts, of the others it is not known: " in why_sentences.time(found)


def test_the_time_of_a_server_is_the_mean_over_its_starts() -> None:
    found = of(seen(busy), "shared", "node-http")
    assert found.time is not None
    inside = found.time.part("inside").mean_ns
    assert found.time.part("unread").mean_ns == pytest.approx(7 * inside, rel=0.01)
    assert found.time.readings == 3 * 60


@pytest.mark.parametrize(("rows", "known"), [(17, True), (16, False)])
def test_short_starts_have_readings_enough_together(rows: int, known: bool) -> None:
    found = of(seen(busy, rows=rows), "shared", "node-http")
    assert (found.time is not None) is known
    if not known:
        assert found.no_time.startswith(f"{rows} of the 50 readings that are needed")


def test_a_server_that_was_not_watched_is_not_spoken_of() -> None:
    run = seen(lambda _: None)
    assert all(not why.servers(shown) for shown in run.experiments)
    assert why_sentences.in_short(run.experiments[0]) == ""
    assert "What limits them" not in markdown(run)
    assert "limited by" not in text(run, 100, styled=False)


@pytest.mark.long
def test_every_format_names_the_limits() -> None:
    run = seen(busy)
    page, written, said = html(run), json.loads(as_json(run)), text(run, 110, styled=False)
    shown = next(each for each in written["experiments"] if each["name"] == "shared")
    assert shown["why"]["node-http"]["limit"]["cause"] == "workers"
    assert shown["why"]["go-nethttp"]["time"]["why"] is None
    for document in (page, markdown(run)):
        assert "What limits them" in document and "Limited here: " in document
    assert re.search(r"perhaps limited by CPU \(.*workers \(", " ".join(said.split()))


def test_the_chart_of_the_time_is_drawn_where_it_is_known() -> None:
    shown, without = seen(busy).experiments[0], seen(lambda _: None).experiments[0]
    assert run_charts.where_the_time_goes(shown) is not None
    assert "time" in {kind.name for kind in run_charts.of_experiment(shown)}
    assert "time" not in {kind.name for kind in run_charts.of_experiment(without)}


@pytest.mark.long
def test_a_claim_that_argues_no_cause_names_no_limit() -> None:
    run = seen(busy)
    assert set(why.of_claims(run)) == {verdict.claim_id for verdict in run.asked}
    study = run.run.study
    claims = tuple(claim.model_copy(update={"argues_cause": False}) for claim in study.claims)
    quiet = view(run.run.model_copy(update={"study": study.model_copy(update={"claims": claims})}), [])
    assert why.of_claims(quiet) == {}
