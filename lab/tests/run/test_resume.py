"""Resuming a run: trials that failed before, trials that another crumple did meanwhile, missing files."""

from pathlib import Path

import documents
import one_run
import pytest
import tiny_runs
from crumple.errors import NotFound, UsageError
from crumple.record import disturbance
from crumple.record.disturbance import Disturbance
from crumple.run import run_file, runs
from crumple.run.runs import Begun
from stand_ins import Stage


def _ran(root: Path) -> Begun:
    begun = tiny_runs.begin(root, asked=documents.study())
    one_run.execute(begun, root, tiny_runs.Quiet())
    return begun


def _failed(begun: Begun) -> set[str]:
    return {stored.trial.id for stored in begun.store.trials() if stored.status == "failed"}


def test_only_trials_that_are_tried_again_are_set_aside(acts: Stage, root: Path) -> None:
    acts.fail_at = {"node-http": "start"}
    begun = _ran(root)
    failed, everything = _failed(begun), begun.store.ids()
    again = runs.resume(begun.store, retry_failed=True)
    with pytest.raises(NotFound, match="study demo plans no trial typo; its trials are "):
        runs.narrow(again, "typo")
    with begun.store.held(), pytest.raises(UsageError, match="being run by another"):
        one_run.execute(again, root, tiny_runs.Quiet())
    assert begun.store.ids() == everything and _failed(begun) == failed
    acts.fail_at = {}
    one = min(failed)
    one_run.execute(runs.narrow(again, one), root, tiny_runs.Quiet())
    assert begun.store.ids() == everything and _failed(begun) == failed - {one}


def test_of_two_processes_that_resume_a_run_the_second_finds_it_done(acts: Stage, root: Path) -> None:
    begun = tiny_runs.begin(root, asked=documents.study())
    both = [runs.resume(begun.store, retry_failed=False) for _ in range(2)]
    for each in both:
        one_run.execute(each, root, tiny_runs.Quiet())
    assert len(acts.started) == len(begun.file.plan.trials) == len(begun.store.ids())


def test_resuming_a_finished_run_keeps_its_end_time(acts: Stage, root: Path) -> None:
    acts.fail_at = {"node-http": "start"}
    begun = _ran(root)
    then = "2026-01-01T00:00:00+00:00"
    run_file.write(begun.store, begun.file.model_copy(update={"ended": then}))
    one_run.execute(runs.resume(begun.store, retry_failed=False), root, tiny_runs.Quiet())
    assert run_file.read(begun.store).ended == then
    one_run.execute(runs.resume(begun.store, retry_failed=True), root, tiny_runs.Quiet())
    assert run_file.read(begun.store).ended != then


def test_a_missing_workload_skips_its_experiments(acts: Stage, root: Path) -> None:
    begun = tiny_runs.begin(root, asked=documents.study())
    (root / "contract" / "workloads" / "hello.toml").unlink()
    one_run.execute(begun, root, tiny_runs.Quiet())
    failures = {
        stored.failure and (stored.failure.step, stored.failure.message) for stored in begun.store.trials()
    }
    assert failures == {("setup", "workload hello no longer exists; put its file back, or start a new run")}


def test_disturbed_trials_are_tried_again_with_retry_failed(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disturbance, "SLOWDOWN_MAX", 2.0)
    begun = _ran(root)
    stored = begun.store.trials()[0]
    taken = Disturbance(others_share=0.9, steal_share=0.0, taken_share=0.9, slowdown=9.0)
    begun.store.set_aside(stored.trial.id)
    begun.store.add(stored.model_copy(update={"disturbance": taken}))
    assert runs.resume(begun.store, retry_failed=False).to_do == ()
    again = runs.resume(begun.store, retry_failed=True)
    assert again.to_do == (stored.trial,)
    one_run.execute(again, root, tiny_runs.Quiet())
    assert not any(each.disturbance == taken for each in begun.store.trials())
