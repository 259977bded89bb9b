"""One trial: what it stores if every step succeeds, and if any of them fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import documents
import pytest
import stand_ins
from crumple.contract import ProgressLine
from crumple.engine import Engine
from crumple.errors import NoAnswer, StorageFull
from crumple.machine.ceiling import Ceiling
from crumple.run import run_plan, store, trial
from crumple.run.store import RunStore, StoredTrial
from crumple.subject import answer_check, servers, workload
from stand_ins import Stage


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> Stage:
    stand_ins.engine_in_process(monkeypatch)
    return stand_ins.stage(monkeypatch)


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "run")


def _job(tmp_path: Path, experiment: str = "separate") -> trial.Job:
    study = documents.study()
    file = tmp_path / "hello.toml"
    file.write_text(documents.WORKLOAD_TOML)
    described: Any = stand_ins.description("go-nethttp")
    identity = next(
        each
        for each in run_plan.plan(study, "quick", 1).trials
        if each.experiment == experiment and each.server == "go-nethttp"
    )
    return trial.Job(
        trial=identity,
        experiment=study.experiments[experiment],
        scale=study.experiments[experiment].scales["quick"],
        workload=workload.load(file),
        built=servers.build(described),
        versions={"go": "1.26"},
        settings={"workers": 4},
    )


def _conduct(tmp_path: Path, run: RunStore, body: str = "") -> StoredTrial:
    seen: list[ProgressLine] = []
    engine = Engine(documents.fake_engine(tmp_path, body), "0.1.0")
    return stand_ins.conducted(_job(tmp_path), engine, run, seen.append)


# 8 connections at 10,000 answers per second: 0.8 ms each.
GOLDEN_SHAPE = "record['histograms']['response_time']['mean_ns'] = 800_000"


def test_a_trial_is_measured_and_stored(acts: Stage, tmp_path: Path, run: RunStore) -> None:
    stored = _conduct(tmp_path, run, GOLDEN_SHAPE)
    assert (stored.status, stored.failure, stored.problems, stored.valid) == ("measured", None, (), True)
    assert stored.warnings == ()
    assert stored.host == {"load_1m": 0.1, "problems": ["busy"]}
    assert stored.server.start_s == 0.05 and stored.server.settings == {"workers": 4}
    assert stored.record is not None and stored.record.spec.label == stored.trial.id
    assert run.trials() == [stored]
    assert (acts.asked, acts.open) == (2, 0)


def test_a_trial_near_the_engines_ceiling_is_stored_with_a_warning(
    acts: Stage, tmp_path: Path, run: RunStore
) -> None:
    engine = Engine(documents.fake_engine(tmp_path, GOLDEN_SHAPE), "0.1.0")
    job = replace(_job(tmp_path), ceiling=lambda _: Ceiling(throughput_per_s=12_500))
    stored = stand_ins.conducted(job, engine, run, lambda _: None)
    assert stored.valid and run.trials() == [stored]
    (warning,) = stored.warnings
    assert warning.startswith("the throughput is 80% (limit 70%) of the 12,500 /s")


def test_problems_are_stored_with_the_trial(acts: Stage, tmp_path: Path, run: RunStore) -> None:
    stored = _conduct(tmp_path, run)
    assert stored.status == "measured" and not stored.valid
    assert "Little's law" in stored.problems[0]


@pytest.mark.parametrize(
    ("at", "step", "tail"),
    [
        ("start", "start", "port taken"),
        ("answers", "answers", "what the server said"),
        ("death", "engine", "what the server said"),
        ("answers-after", "answers-after", "what the server said"),
        ("stop", "stop", None),
    ],
)
def test_every_error_becomes_a_stored_trial(
    acts: Stage, tmp_path: Path, run: RunStore, at: str, step: str, tail: str | None
) -> None:
    acts.fail_at = {"*": at}
    stored = _conduct(tmp_path, run, GOLDEN_SHAPE)
    assert stored.status == "failed" and stored.failure is not None
    assert stored.failure.step == step
    assert stored.failure.output_tail == ((tail,) if tail else ())
    assert run.trials() == [stored]
    assert acts.open == 0


@pytest.mark.parametrize(("patience_s", "stuck"), [(60.0, False), (-1.0, True)])
def test_a_server_gets_time_to_answer_again_after_the_load(
    acts: Stage,
    tmp_path: Path,
    run: RunStore,
    monkeypatch: pytest.MonkeyPatch,
    patience_s: float,
    stuck: bool,
) -> None:
    answers, silent = answer_check.answers, iter([False, True, True])

    def slow(*asked: Any, **how: Any) -> None:
        if next(silent, False):
            raise NoAnswer("GET /hello: no whole answer within 20 s")
        answers(*asked, **how)

    monkeypatch.setattr(answer_check, "answers", slow)
    monkeypatch.setattr(trial, "WORKED_OFF_S", patience_s)
    stored = _conduct(tmp_path, run, GOLDEN_SHAPE)
    assert stored.valid
    assert any("it may be stuck" in warning for warning in stored.warnings) is stuck


def test_a_server_that_leaves_files_behind_is_not_valid(acts: Stage, tmp_path: Path, run: RunStore) -> None:
    acts.files_left = 8
    assert _conduct(tmp_path, run, GOLDEN_SHAPE).valid
    acts.files_left = 9
    stored = _conduct(tmp_path, RunStore(tmp_path / "another"), GOLDEN_SHAPE)
    assert stored.status == "measured"
    assert stored.problems == ("the server left 9 of its files behind; it must remove each with its answer",)


@pytest.mark.starts
@pytest.mark.parallel
def test_an_engine_that_dies_fails_the_trial(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: RunStore
) -> None:
    acts = stand_ins.stage(monkeypatch)
    stored = _conduct(tmp_path, run, "sys.exit(1)")
    assert stored.failure is not None and stored.failure.step == "engine"
    assert stored.record is None and acts.open == 0


def test_a_bug_in_the_lab_fails_one_trial(
    acts: Stage, tmp_path: Path, run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "spec_of", lambda *_: 1 / 0)
    stored = _conduct(tmp_path, run)
    assert stored.failure is not None
    assert "ZeroDivisionError" in stored.failure.message and "bug in crumple" in stored.failure.message


def test_an_interruption_stores_no_trial_and_ends_the_server(
    acts: Stage, tmp_path: Path, run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trial, "spec_of", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _conduct(tmp_path, run)
    assert run.ids() == set() and (acts.started, acts.open) == (["go-nethttp"], 0)


def test_a_full_disk_is_raised_and_not_stored_as_a_failed_trial(
    acts: Stage, tmp_path: Path, run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(StorageFull):
        _conduct(tmp_path, run)


def test_the_spec_follows_the_experiment(acts: Stage, tmp_path: Path) -> None:
    spec = trial.spec_of(_job(tmp_path, "shared"), "127.0.0.1:9", 77, (0, 1))
    assert spec.shape.connections == 32 and spec.cores == (0, 1) and spec.probe.server_pid == 77
    (request,) = spec.requests
    assert request.path == "/hello?delay_ms=0" and request.expect.body_bytes == 13
    assert spec.warm_up is not None and spec.warm_up.connections is None
    assert trial.spec_of(_job(tmp_path), "127.0.0.1:9", 77, ()).warm_up is None
