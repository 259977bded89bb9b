"""Runs with stand-ins for servers and engine: their order, interruption and resumption, missing servers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import documents
import one_run
import pytest
import stand_ins
from crumple.commands import run
from crumple.commands.run import code_of
from crumple.drawing import numerals
from crumple.errors import EXIT_NOT_VALID, EngineFailed, Interrupted, NotFound, NotWritable, UsageError
from crumple.machine import alone, capacity, ceiling
from crumple.machine.ceiling import Ceiling
from crumple.run import run_file, runs
from crumple.run.run_live import LiveView
from crumple.run.session import Session
from crumple.run.store import RunStore
from crumple.study.study import Canary, Study
from crumple.study.study_load import ClosedShape
from crumple.subject import servers
from made_runs import Notes, begin
from rich.console import Console
from rich.text import Text
from stand_ins import Stage


def test_every_trial_runs_once_in_the_planned_order(acts: Stage, root: Path) -> None:
    begun, notes = begin(root), Notes()
    one_run.execute(begun, root, notes)
    assert notes.order == [trial.id for trial in begun.file.plan.trials]
    assert len(notes.order) == 20 and begun.store.ids() == set(notes.order)
    assert sorted(acts.built) == sorted(documents.KNOWN_SERVERS)
    file = run_file.read(begun.store)
    assert file.ended is not None and file.machine == {"cpu": "made up"}
    assert file.versions["go-nethttp"] == {"go": "1.26"}


@pytest.mark.long
def test_the_engines_ceiling_is_looked_up_after_each_trial(acts: Stage, root: Path) -> None:
    acts.ceiling = Ceiling(throughput_per_s=10_500)
    begun = begin(root)
    one_run.execute(begun, root, Notes())
    assert [spec.label for spec in acts.calibrated] == [trial.id for trial in begun.file.plan.trials]
    assert all("95.2% (limit 70%) of the 10,500 /s" in trial.warnings[0] for trial in begun.store.trials())


def test_without_a_ready_server_the_ceiling_is_not_looked_up(acts: Stage, root: Path) -> None:
    acts.missing = set(documents.KNOWN_SERVERS)
    one_run.execute(begin(root), root, Notes())
    assert acts.calibrated == []


def test_an_interrupted_run_continues_with_the_same_trials(acts: Stage, root: Path) -> None:
    begun, first = begin(root), Notes(interrupt_after=7)
    with pytest.raises(Interrupted):
        one_run.execute(begun, root, first)
    assert len(begun.store.ids()) == 7 and run_file.read(begun.store).ended is None
    again, second = runs.resume(begun.store, retry_failed=False), Notes()
    one_run.execute(again, root, second)
    assert first.order + second.order == [trial.id for trial in begun.file.plan.trials]
    assert run_file.read(begun.store).ended is not None
    assert runs.resume(begun.store, retry_failed=False).to_do == ()


@pytest.mark.long
def test_failed_trials_are_repeated_only_with_retry_failed(acts: Stage, root: Path) -> None:
    begun = begin(root)
    acts.fail_at = {"node-http": "start"}
    one_run.execute(begun, root, Notes())
    failed = [trial for trial in begun.store.trials() if trial.status == "failed"]
    assert len(failed) == 7  # 3 + 2 blocks, and the twin of two
    assert runs.resume(begun.store, retry_failed=False).to_do == ()
    acts.fail_at = {}
    again = runs.resume(begun.store, retry_failed=True)
    assert {trial.id for trial in again.to_do} == {trial.trial.id for trial in failed}
    one_run.execute(again, root, Notes())
    assert all(trial.status == "measured" for trial in begun.store.trials())


def test_a_missing_server_is_skipped_and_reported_once(acts: Stage, root: Path) -> None:
    acts.missing = {"go-nethttp"}
    begun, notes = begin(root), Notes()
    one_run.execute(begun, root, notes)
    assert notes.skips == [("go-nethttp", "go is not installed; run: crumple setup")]
    skipped = [trial for trial in begun.store.trials() if trial.trial.server == "go-nethttp"]
    assert len(skipped) == 5 and all(trial.skipped for trial in skipped)
    assert "go-nethttp" not in acts.built + acts.started


def test_a_skipped_servers_twin_moves_to_another_server(acts: Stage, root: Path) -> None:
    acts.missing = {"go-nethttp"}
    begun = begin(root)
    twins = {(trial.experiment, trial.server) for trial in begun.file.plan.trials if trial.twin}
    assert twins == {("shared", "node-http"), ("separate", "node-http")}
    assert "go-nethttp" in {trial.server for trial in begun.file.plan.trials}, "its trials say why"
    assert begin(root, only=("go-nethttp",)).file.study.experiments["shared"].twin == "go-nethttp"


@pytest.mark.long
def test_a_failed_build_fails_all_trials_and_is_tried_once(acts: Stage, root: Path) -> None:
    acts.fail_at = {"node-express": "build"}
    begun, notes = begin(root), Notes()
    one_run.execute(begun, root, notes)
    failures = [trial.failure for trial in begun.store.trials() if trial.failure]
    assert {(each.step, each.message, each.output_tail) for each in failures} == {
        ("build", "the compiler refused", ("main.go:1: no",))
    }
    assert acts.built.count("node-express") == 1
    # The trials count as failed, not as skipped.
    assert notes.unbuilt == [("node-express", "the compiler refused")] and not notes.skips
    assert code_of(begun.store.trials()) == EXIT_NOT_VALID


def test_run_json_says_which_io_models_nothing_checks(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = {name: stand_ins.description(name) for name in stand_ins.DESCRIBED}
    described["node-http"].model_is_checked = False
    monkeypatch.setattr(servers, "find", lambda _: described)
    notes = begin(root).file.servers
    assert {name for name, note in notes.items() if not note.model_is_checked} == {"node-http"}


def test_a_restricted_run_has_those_servers_and_a_twin(acts: Stage, root: Path) -> None:
    begun = begin(root, only=("node-http",))
    assert {(trial.server, trial.twin) for trial in begun.file.plan.trials} == {
        ("node-http", False),
        ("node-http", True),
    }
    assert begun.file.only == ("node-http",)


def test_one_trial_can_be_run_by_its_id(acts: Stage, root: Path) -> None:
    begun, notes = begin(root), Notes()
    one_run.execute(runs.narrow(begun, "shared/b02/go-nethttp~twin"), root, notes)
    assert notes.order == ["shared/b02/go-nethttp~twin"]
    assert run_file.read(begun.store).ended is None
    with pytest.raises(NotFound, match="its trials are"):
        runs.narrow(begun, "shared/b9/none")
    with pytest.raises(NotFound, match="already stored"):
        runs.narrow(runs.resume(begun.store, retry_failed=False), "shared/b02/go-nethttp~twin")


def test_runs_without_a_seed_have_different_seeds_and_folders(acts: Stage, root: Path) -> None:
    first, second = begin(root, seed=None), begin(root, seed=None)
    assert first.file.seed != second.file.seed
    assert first.store.folder != second.store.folder


def test_two_runs_begun_in_one_second_have_a_folder_each(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 11, 21, 6, 30, 12, tzinfo=UTC)
    monkeypatch.setattr(runs, "datetime", SimpleNamespace(now=lambda _: now))
    write, others = run_file.write, []

    def meanwhile(*arguments: Any) -> None:
        monkeypatch.setattr(run_file, "write", write)
        others.append(begin(root))
        write(*arguments)

    monkeypatch.setattr(run_file, "write", meanwhile)
    names = [each.store.name for each in (begin(root), *others)]
    assert names == ["demo-quick-20261121-063012", "demo-quick-20261121-063013"]


def _with_cost() -> Study:
    claim = {"id": "X-3", "text": "So much.", "kind": "figure", "cost": "thread", "published": "9 us"}
    written = {**documents.STUDY, "claims": [*documents.STUDY["claims"], claim]}
    return Study.model_validate({**written, "name": "demo"})


def test_costs_are_measured_while_no_other_crumple_measures(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    @contextmanager
    def turn(waiting: Callable[[], None]) -> Iterator[None]:
        waiting()
        yield
        said.append("over")

    def readings(*_: object) -> dict[str, tuple[float, ...]]:
        said.append("measured")
        return {"thread": (9.0,)}

    monkeypatch.setattr(alone, "turn", turn)
    monkeypatch.setattr(ceiling, "cost_readings", readings)
    begun = begin(root, asked=_with_cost(), waiting=lambda: said.append("waits"))
    assert said == ["waits", "measured", "over"] and begun.file.machine["costs"] == {"thread": (9.0,)}


def test_a_run_that_cannot_begin_leaves_no_folder(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise EngineFailed("costs did not end")

    monkeypatch.setattr(ceiling, "cost_readings", fails)
    with pytest.raises(EngineFailed):
        begin(root, asked=_with_cost())
    assert not list(root.glob("runs/*"))


def test_an_unavailable_lock_ends_the_run_and_fails_no_trial(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def turn(_: object) -> None:
        raise NotWritable("cannot write turns")

    monkeypatch.setattr(alone, "turn", turn)
    begun = begin(root)
    with pytest.raises(NotWritable):
        one_run.execute(begun, root, Notes())
    assert begun.store.ids() == set()


def test_a_run_in_progress_cannot_be_resumed(acts: Stage, root: Path) -> None:
    begun = begin(root)
    with begun.store.held(), pytest.raises(UsageError, match="being run by another"):
        one_run.execute(begun, root, Notes())


VARIANT = "go-nethttp[workers=9]"


def _with_variant() -> Study:
    demo = documents.study()
    shared = demo.experiments["shared"]
    shared = shared.model_copy(update={"servers": (*shared.servers, VARIANT), "twin": VARIANT})
    return demo.model_copy(update={"experiments": {**demo.experiments, "shared": shared}})


def test_a_variant_runs_with_its_settings_under_its_label(acts: Stage, root: Path) -> None:
    begun = begin(root, asked=_with_variant())
    one_run.execute(begun, root, Notes())
    stored = {trial.trial.id: trial for trial in begun.store.trials()}
    assert stored[f"shared/b01/{VARIANT}"].server.settings == {"workers": 9}
    assert stored[f"shared/b03/{VARIANT}~twin"].server.settings == {"workers": 9}
    assert stored["shared/b01/go-nethttp"].server.settings == {"workers": 4}
    assert begun.file.servers[VARIANT].title == "go-nethttp" and begun.file.versions[VARIANT] == {
        "go": "1.26"
    }
    assert acts.built.count("go-nethttp") == 1, "all variants are one program"
    assert runs.resume(begun.store, retry_failed=False).to_do == ()


def test_a_variant_that_the_study_does_not_list_replaces_its_server(acts: Stage, root: Path) -> None:
    begun = begin(root, only=(VARIANT, "node-http"))
    assert {trial.server for trial in begun.file.plan.trials} == {VARIANT, "node-http"}
    assert begun.file.study.experiments["shared"].twin == VARIANT


def test_retrying_a_variants_trial_keeps_the_earlier_attempts(acts: Stage, root: Path) -> None:
    begun = begin(root, asked=_with_variant())
    one = f"shared/b01/{VARIANT}"
    acts.fail_at = {"go-nethttp": "start"}
    for _ in range(3):
        one_run.execute(runs.narrow(runs.resume(begun.store, retry_failed=True), one), root, Notes())
    begun.store.set_aside(one)
    assert len(list((begun.store.folder / "trials" / "set-aside").iterdir())) == 3


def test_run_json_keeps_the_study_reduced_to_its_scale(acts: Stage, root: Path) -> None:
    demo = documents.study()
    shared = demo.experiments["shared"]
    quick = shared.scales["quick"].model_copy(
        update={"shape": ClosedShape(connections=4), "parameters": {"delay_ms": 3}}
    )
    shared = shared.model_copy(update={"scales": {"quick": quick}})
    demo = demo.model_copy(update={"experiments": {"shared": shared}})
    begun = begin(root, asked=demo)
    assert begun.file.study.experiments["shared"].shape == ClosedShape(connections=4)
    one_run.execute(runs.narrow(begun, "shared/b01/go-nethttp"), root, Notes())
    (stored,) = begun.store.trials()
    assert stored.record is not None
    assert stored.record.spec.shape.connections == 4  # type: ignore[union-attr]
    assert stored.record.spec.requests[0].path == "/hello?delay_ms=3"


def test_an_invalid_parameter_is_reported_before_any_trial(acts: Stage, root: Path) -> None:
    file = root / "contract" / "workloads" / "hello.toml"
    file.write_text(file.read_text().replace("default = 0", "default = 0\nleast = 0\nmost = 9"))
    canary = Canary(workload="hello", parameters={"delay_ms": 10})
    for changed in ({"parameters": {"delay_ms": 10}}, {"canary": canary}):
        shared = documents.study().experiments["shared"].model_copy(update=changed)
        demo = documents.study().model_copy(update={"experiments": {"shared": shared}})
        with pytest.raises(UsageError, match="demo: experiment shared: workload hello takes no delay_ms=10"):
            begin(root, asked=demo)
        assert not (root / "runs").exists()


def test_an_experiment_that_needs_more_cores_is_skipped(
    acts: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cores_for(placement: str, threads: int, server_cores: int | None) -> capacity.Cores:
        if server_cores == 64:
            raise UsageError("server_cores = 64, and 1 of this machine's cores may be the server's")
        return capacity.Cores(engine=(1,), server=(0,))

    monkeypatch.setattr(capacity, "cores_for", cores_for)
    demo = documents.study()
    many = demo.experiments["shared"].model_copy(update={"server_cores": 64})
    begun = begin(root, asked=demo.model_copy(update={"experiments": {**demo.experiments, "shared": many}}))
    notes = Notes()
    one_run.execute(begun, root, notes)
    assert notes.skips == [
        ("experiment shared", "server_cores = 64, and 1 of this machine's cores may be the server's")
    ]
    steps = {(trial.trial.experiment, trial.failure and trial.failure.step) for trial in begun.store.trials()}
    assert steps == {("shared", "setup"), ("separate", None)}


def test_the_view_counts_trials_and_shows_what_was_skipped(acts: Stage, root: Path) -> None:
    acts.missing = {"go-nethttp"}
    session = Session([begin(root)], root)
    for terminal in (False, True):
        console = Console(record=True, width=120, force_terminal=terminal, file=(root / "out").open("w"))
        with LiveView("documents", lambda: session.outlook, console) as view:
            if not terminal:
                session.conduct(view)
            else:
                for stored in RunStore(next((root / "runs").iterdir())).trials():
                    view.ended(stored)
            view.waiting()
            view.waiting()
        said = console.export_text()
        assert said.count("they take turns, trial by trial") == 1
        if not terminal:
            assert said.count("go-nethttp is skipped: go is not installed; run: crumple setup") == 1
            assert "20/20 " in said and "10,000 /s" in said and "not valid: Little" in said
            assert "(0:00 left)" in said


def test_of_several_runs_each_answer_is_shown_while_the_next_one_is_executed(
    acts: Stage, root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The golden record's histograms cannot be decoded.
    monkeypatch.setattr(run, "_answer", lambda begun: Text(f"the answer of {begun.file.id}"))
    both = [begin(root, only=("go-nethttp",)), begin(root, only=("node-http",), seed=7)]
    run.carry_out(both, root)
    told = capsys.readouterr().err.splitlines()
    answers = [at for at, line in enumerate(told) if line.startswith("the answer of ")]
    trials = [at for at, line in enumerate(told) if "/b01/" in line or "/b02/" in line]
    assert len(answers) == 2 and trials[0] < answers[0] < trials[-1] < answers[1], told
    run.carry_out([begin(root, only=("go-nethttp",), seed=8)], root)
    # The report of a single run follows at once.
    assert "the answer of " not in capsys.readouterr().err


@pytest.mark.long
def test_the_view_shows_the_time_left_for_all_runs_of_a_session(acts: Stage, root: Path) -> None:
    session = Session([begin(root), begin(root, seed=7)], root)
    console = Console(record=True, width=160, force_terminal=False, file=(root / "out").open("w"))
    with LiveView("2 studies", lambda: session.outlook, console) as view:
        session.conduct(view)
    lines = [line for line in console.export_text().splitlines() if "/40 " in line]
    assert len(lines) == 40 and "40/40" in lines[-1] and "(0:00 left)" in lines[-1]
    assert "(0:00 left)" not in lines[0]


def test_clock_formats() -> None:
    assert [numerals.clock(seconds) for seconds in (None, 5, 125, 3725)] == ["?", "0:05", "2:05", "1:02:05"]
