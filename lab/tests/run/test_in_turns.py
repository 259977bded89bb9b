"""Trials in slices: all servers of a block are started, and each is loaded while the others are suspended."""

import os
from pathlib import Path
from typing import Any

import documents
import one_run
import pytest
import tiny_runs
import tiny_servers
from crumple.contract import DurationStopSpec
from crumple.engine import LoadingEngine
from crumple.errors import Interrupted, UsageError
from crumple.machine import process_tree
from crumple.run import runs, slices
from crumple.run.runs import Begun
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.study import Experiment, Study
from crumple.subject import workload
from pydantic import ValidationError

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

SLICES, SLICE_S, WARM_UP_S = 3, 0.2, 0.3


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return tiny_runs.project(monkeypatch, tmp_path)


def _study() -> Study:
    study = tiny_runs.study()
    shared = study.experiments["shared"]
    scale = {
        "blocks": 1,
        "slices": SLICES,
        "warm_up": {"duration_s": WARM_UP_S},
        "stop": {"duration_s": SLICES * SLICE_S},
    }
    quick = shared.scales["quick"].model_validate(scale)
    return study.model_copy(
        update={"experiments": {"shared": shared.model_copy(update={"scales": {"quick": quick}})}}
    )


class Order(tiny_runs.Quiet):
    """Notes in order which trial began or had a slice."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, int]] = []
        self.ended_trials: list[StoredTrial] = []

    def began(self, trial: TrialIdentity) -> None:
        self.turns.append((trial.id, 0))

    def slice(self, trial: TrialIdentity, number: int, of: int) -> None:
        self.turns.append((trial.id, number))
        assert of == SLICES

    def ended(self, stored: StoredTrial) -> None:
        self.ended_trials.append(stored)


def _begun(root: Path) -> Begun:
    return tiny_runs.begin(root, asked=_study())


def test_the_slices_of_one_start_become_one_valid_record(root: Path) -> None:
    begun = _begun(root)
    one_run.execute(begun, root, tiny_runs.Quiet())
    stored = begun.store.trials()
    assert [each.trial.id for each in stored] == ["shared/b01/tiny", "shared/b01/tiny~twin"]
    for each in stored:
        assert each.failure is None and each.record is not None
        assert each.record.measured_ns == pytest.approx(SLICES * SLICE_S * 1e9, rel=0.2)
        warm_up = each.record.spec.warm_up
        assert warm_up is not None and isinstance(warm_up.stop, DurationStopSpec)
        assert warm_up.stop.duration_s >= WARM_UP_S + slices.REWARM_S[0]
        assert each.record.outcomes.ok > 0 and not each.record.outcomes.failed
        assert each.disturbance is not None and each.disturbance.others_share is not None


def test_all_servers_start_before_they_take_turns_slice_by_slice(root: Path) -> None:
    begun, order = _begun(root), Order()
    one_run.execute(begun, root, order)
    ids = {"shared/b01/tiny", "shared/b01/tiny~twin"}
    assert [number for _, number in order.turns] == [0, 0, 1, 1, 2, 2, 3, 3]
    in_pairs = zip(order.turns[::2], order.turns[1::2], strict=True)
    assert all({one, other} == ids for (one, _), (other, _) in in_pairs)
    assert len(order.ended_trials) == 2


def test_servers_warm_up_in_turns_so_that_none_waits_for_the_longest_warm_up(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "WARM_UP_PART_S", 0.1)
    turns: list[tuple[str, float]] = []
    turn = LoadingEngine.turn

    def noted(running: LoadingEngine) -> None:
        spec = running.spec
        measured_s = (
            spec.turns[sum(label == spec.label for label, _ in turns)].measured_s if spec.turns else 0
        )
        turns.append((spec.label, measured_s))
        turn(running)

    monkeypatch.setattr(LoadingEngine, "turn", noted)
    one_run.execute(_begun(root), root, tiny_runs.Quiet())
    # The engine's own ceiling is measured afterwards if a slow moment made a trial look near it.
    ids = {"shared/b01/tiny", "shared/b01/tiny~twin"}
    of_trials = [each for each in turns if each[0] in ids]
    parts = round(WARM_UP_S / 0.1)
    assert [seconds > 0 for _, seconds in of_trials] == [False] * 2 * parts + [True] * 2 * SLICES
    labels = [label for label, _ in of_trials]
    assert all({*pair} == ids for pair in zip(labels[::2], labels[1::2], strict=True))


def test_a_failed_trial_does_not_delay_or_fail_the_others(root: Path) -> None:
    tiny_servers.write(root, "mute", program="import time; time.sleep(0.3); raise SystemExit('no')")
    study = _study()
    shared = study.experiments["shared"].model_copy(update={"servers": ("tiny", "mute")})
    begun = tiny_runs.begin(root, asked=study.model_copy(update={"experiments": {"shared": shared}}))
    one_run.execute(begun, root, tiny_runs.Quiet())
    by_id = {each.trial.id: each for each in begun.store.trials()}
    assert by_id["shared/b01/mute"].failure is not None
    assert by_id["shared/b01/tiny"].failure is None and by_id["shared/b01/tiny~twin"].failure is None


def test_an_interruption_ends_every_server_that_was_started(root: Path) -> None:
    class Impatient(Order):
        def slice(self, trial: TrialIdentity, number: int, of: int) -> None:
            if number == 2:
                raise Interrupted("SIGINT")

    begun, before = _begun(root), {*process_tree.descendants(os.getpid())}
    with pytest.raises(Interrupted):
        one_run.execute(begun, root, Impatient())
    assert {*process_tree.descendants(os.getpid())} <= before
    assert begun.store.trials() == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"stop": {"requests": 10, "within_s": 1}}, "slices a load that its requests end"),
        ({"warm_up": {"requests": 10, "within_s": 1}}, "whose warm-up its requests end"),
        ({"stop": {"duration_s": 0.3}}, "has slices of 0.1 s, and 0.2 s is the least"),
        ({"shape": {"kind": "closed", "connections": 2, "pause_ms": 5}}, "without pauses"),
        ({"shape": {"kind": "ramp", "to": 9}}, "without pauses"),
    ],
)
def test_a_shape_that_changes_over_time_cannot_be_sliced(changes: dict[str, Any], problem: str) -> None:
    experiment = documents.study().experiments["shared"].model_dump(by_alias=True)
    scale = {"blocks": 1, "slices": SLICES, "stop": {"duration_s": 1.0}, **changes}
    with pytest.raises(ValidationError, match=problem):
        Experiment.model_validate({**experiment, "scales": {"quick": scale}})


@pytest.mark.parametrize(
    ("asked", "parameters", "why"),
    [("rows", {}, "cannot tell the servers"), ("hello", {"delay_ms": 50}, "cut off whole rounds")],
)
def test_some_workloads_cannot_be_sliced(asked: str, parameters: dict[str, Any], why: str) -> None:
    study = _study()
    update = {"workload": asked, "parameters": parameters}
    shared = study.experiments["shared"].model_copy(update=update)
    sliced = study.model_copy(update={"experiments": {"shared": shared}})
    with pytest.raises(UsageError, match=f"{why}.*; leave slices out"):
        runs.choose(sliced, "quick", {}, workload.find(tiny_runs.ROOT), only=())
