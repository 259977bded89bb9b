"""Predicted durations: as configured, else as measured before; zero for a trial that is skipped."""

from typing import Any

import documents
import pytest
from crumple.run import run_plan
from crumple.run.pace import LAB_S, START_S, TrialPace
from crumple.run.store import Failure, StoredServer, StoredTrial, TrialIdentity

STUDY = documents.study()
TRIALS = run_plan.plan(STUDY, "quick", 1).trials


def _left(pace: TrialPace, *trial_ids: str) -> float | None:
    return pace.left_s(STUDY, "quick", [each for each in TRIALS if each.id in trial_ids])


def _stored(trial_id: str, *, start_s: float = 2.0, load_s: float = 3.0, lab_s: float = 0.5) -> StoredTrial:
    record = documents.record(warm_up_ns=0, measured_ns=round(load_s * 1e9))
    return documents.stored(trial_id, record=record, server=StoredServer(start_s=start_s), overhead_s=lab_s)


def test_before_the_first_trial_the_configured_durations_count() -> None:
    one = _left(TrialPace(), "shared/b01/go-nethttp")
    assert one == pytest.approx(START_S + 1 + 1 + LAB_S)
    three = _left(TrialPace(), "shared/b01/go-nethttp", "shared/b02/go-nethttp", "shared/b01/node-http")
    assert three == pytest.approx(3 * (one or 0.0))


def test_a_phase_that_ends_by_requests_is_unknown_until_one_was_measured() -> None:
    pace = TrialPace()
    assert _left(pace, "separate/b01/go-nethttp") is None
    assert _left(pace, "shared/b01/go-nethttp", "separate/b01/go-nethttp") is None
    pace.ended(_stored("separate/b01/node-http", load_s=4.0))
    assert _left(pace, "separate/b02/node-http") == pytest.approx(2 + 4 + 0.5)
    # Until this server was measured, the mean of the other servers is expected.
    assert _left(pace, "separate/b01/go-nethttp") == pytest.approx(2 + 4 + 0.5)
    pace.ended(_stored("separate/b01/go-nethttp", load_s=1.0))
    assert _left(pace, "separate/b02/go-nethttp") == pytest.approx(2 + 1 + 0.5)


def test_start_times_are_learned_per_server() -> None:
    pace = TrialPace()
    pace.ended(_stored("shared/b01/go-nethttp", start_s=0.1, lab_s=0.4))
    pace.ended(_stored("shared/b01/node-http", start_s=9.9, lab_s=0.4))
    assert _left(pace, "shared/b02/go-nethttp") == pytest.approx(0.1 + 2 + 0.4)
    assert _left(pace, "shared/b02/node-http") == pytest.approx(9.9 + 2 + 0.4)
    assert _left(pace, "shared/b02/node-express") == pytest.approx(5.0 + 2 + 0.4)


def test_a_minute_after_one_servers_load_is_not_expected_of_the_others() -> None:
    """With 20,000 clients, a server with few threads still works on requests long after the load."""
    pace = TrialPace()
    for server, lab_s in {"go-nethttp": 0.4, "node-http": 0.5, "node-express": 60.0}.items():
        pace.ended(_stored(f"shared/b01/{server}", start_s=0.1, lab_s=lab_s))
    assert _left(pace, "shared/b02/node-express") == pytest.approx(0.1 + 2 + 60.0)
    pace.ended(_stored("separate/b01/node-http", start_s=0.1, load_s=4.0, lab_s=0.7))
    # The lab's time in the same experiment counts more than in others.
    assert _left(pace, "separate/b01/node-express") == pytest.approx(0.1 + 4 + 0.7)
    pace = TrialPace()
    for trial, lab_s in (("separate/b01/go-nethttp", 60.0), ("shared/b01/go-nethttp", 0.5)):
        pace.ended(_stored(trial, start_s=0.1, lab_s=lab_s))
    assert _left(pace, "shared/b01/node-http") == pytest.approx(0.1 + 2 + 0.5)


def test_a_skipped_trial_takes_no_time_and_a_failing_one_takes_as_long_again() -> None:
    pace = TrialPace()
    failed: dict[str, Any] = {"status": "failed", "record": None}
    refused = Failure(step="setup", message="go is not installed")
    pace.ended(documents.stored("shared/b01/go-nethttp", failure=refused, **failed))
    assert _left(pace, "shared/b02/go-nethttp") == 0.0
    silent = Failure(step="start", message="it did not answer")
    pace.ended(documents.stored("shared/b01/node-http", failure=silent, overhead_s=30.0, **failed))
    assert _left(pace, "shared/b02/node-http") == 30.0
    pace.ended(_stored("shared/b02/node-http"))
    assert _left(pace, "shared/b03/node-http") == pytest.approx(2 + 2 + 0.5)


def test_after_one_trial_per_server_the_prediction_is_within_a_third() -> None:
    """The simulated machine takes 0.2 to 6 s for a start and 1 to 5 s for the requests, at random."""
    starts = {"go-nethttp": 0.2, "node-http": 0.6, "node-express": 6.0}

    def took(trial: TrialIdentity) -> StoredTrial:
        jitter = 0.8 + 0.4 * (trial.seed % 1000) / 1000
        load_s = 2.0 if trial.experiment == "shared" else jitter * (1 + len(trial.server) / 4)
        return _stored(trial.id, start_s=jitter * starts[trial.server], load_s=load_s, lab_s=jitter * 0.7)

    pace, stored = TrialPace(), [took(each) for each in TRIALS]
    for trial in stored[:8]:
        pace.ended(trial)
    left_s = sum(
        (each.server.start_s or 0) + each.record.measured_ns / 1e9 + each.overhead_s
        for each in stored[8:]
        if each.record
    )
    assert pace.left_s(STUDY, "quick", TRIALS[8:]) == pytest.approx(left_s, rel=1 / 3)
