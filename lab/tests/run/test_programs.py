"""Each trial stores the programs it was measured with, and no run mixes programs unless asked to."""

from dataclasses import replace
from pathlib import Path

import documents
import one_run
import pytest
import tiny_servers
from crumple.commands.run import RunArguments, new
from crumple.engine import Engine
from crumple.errors import Interrupted, UsageError
from crumple.run import run_file, runs
from crumple.run.runs import Begun
from crumple.run.store import ProgramHashes, StoredTrial
from crumple.subject import server_toml, servers, workload
from made_runs import Notes, begin
from stand_ins import Stage


def _cut_off(root: Path, after: int = 7) -> Begun:
    begun = begin(root)
    with pytest.raises(Interrupted):
        one_run.execute(begun, root, Notes(interrupt_after=after))
    return begun


def _resumed(begun: Begun, root: Path, *, mixed: bool = False) -> Notes:
    notes = Notes()
    one_run.execute(runs.resume(begun.store, retry_failed=False, mixed=mixed), root, notes)
    return notes


def test_each_trial_stores_the_programs_it_was_measured_with(acts: Stage, root: Path) -> None:
    acts.programs = {"node-http": "another"}
    begun = begin(root)
    one_run.execute(begun, root, Notes())
    found = {each.trial.server: each.programs for each in begun.store.trials()}
    assert {name: each and each.server for name, each in found.items()} == {
        "go-nethttp": "as it was", "node-express": "as it was", "node-http": "another",
    }  # fmt: skip
    (rest,) = {each.model_copy(update={"server": ""}) for each in found.values() if each}
    assert all(len(each) == run_file.DIGITS for each in (rest.engine, rest.lab, rest.workload))


def test_a_run_resumes_with_unchanged_programs(acts: Stage, root: Path) -> None:
    begun = _cut_off(root)
    assert len(_resumed(begun, root).order) == 13
    assert not any(each.warnings for each in begun.store.trials())


def test_with_a_changed_server_resuming_is_refused_before_any_trial(acts: Stage, root: Path) -> None:
    begun = _cut_off(root)
    acts.programs = {"node-http": "changed"}
    acts.built.clear()
    with pytest.raises(UsageError) as refused:
        _resumed(begun, root)
    assert str(refused.value) == (
        f"since {begun.store.name} was begun, this changed: server node-http; "
        "restore it, start a new run, or continue with --mixed, which marks the trials that follow"
    )
    assert acts.built == [] and len(begun.store.ids()) == 7


def test_with_mixed_the_later_trials_are_marked(acts: Stage, root: Path) -> None:
    begun = _cut_off(root)
    acts.programs = {"node-http": "changed"}
    later = _resumed(begun, root, mixed=True).order
    marked = {each.trial.id for each in begun.store.trials() if each.warnings}
    assert marked == {each for each in later if "node-http" in each}
    stored = {each.trial.id: each for each in begun.store.trials()}
    assert all(
        stored[each].warnings == ("measured with another server node-http than earlier trials of the run",)
        for each in marked
    )


def test_a_changed_engine_or_workload_is_noticed_too(acts: Stage, root: Path, tmp_path: Path) -> None:
    begun = _cut_off(root)
    documents.fake_engine(tmp_path, "# another build")
    with pytest.raises(UsageError, match="this changed: engine; "):
        _resumed(begun, root)
    documents.fake_engine(tmp_path)
    file = root / "contract" / "workloads" / "hello.toml"
    file.write_text(file.read_text().replace("Hello, World!", "Hello, Earth!"))
    with pytest.raises(UsageError, match="this changed: workload of s"):
        _resumed(begun, root)


def test_an_engine_built_during_the_run_marks_the_trials_that_follow(
    acts: Stage, root: Path, tmp_path: Path
) -> None:
    class Builds(Notes):
        def ended(self, stored: StoredTrial) -> None:
            super().ended(stored)
            if len(self.order) == 5:
                documents.fake_engine(tmp_path, "# another build")

    begun, notes = begin(root), Builds()
    one_run.execute(begun, root, notes)
    stored = {each.trial.id: each.warnings for each in begun.store.trials()}
    marked = [any("another engine" in warning for warning in stored[each]) for each in notes.order]
    assert marked == [False] * 5 + [True] * 15


def test_a_finished_run_resumes_without_any_check(acts: Stage, root: Path) -> None:
    begun = begin(root)
    one_run.execute(begun, root, Notes())
    acts.programs = {"node-http": "changed"}
    assert _resumed(begun, root).order == []


def test_trials_without_stored_programs_are_not_compared() -> None:
    now = ProgramHashes(server="a", workload="b", engine="c", lab="d", kernel="6.1")
    stored = documents.stored()
    assert run_file.changes([stored], stored.trial, now) == []
    before = stored.model_copy(update={"programs": now.model_copy(update={"kernel": "5.15"})})
    assert run_file.changes([before], stored.trial, now) == ["kernel (5.15, now 6.1)"]
    other = stored.trial.model_copy(update={"server": "node-http", "experiment": "separate"})
    others = stored.model_copy(update={"programs": replace_server(now)})
    assert run_file.changes([others], other, now) == [], "the other trial has another server and workload"


def replace_server(of: ProgramHashes) -> ProgramHashes:
    return of.model_copy(update={"server": "z", "workload": "z"})


@pytest.mark.starts
@pytest.mark.parallel
def test_a_servers_hash_covers_its_sources_and_how_it_is_started(tmp_path: Path) -> None:
    described = tiny_servers.described(tmp_path)
    first = servers.program(described)
    (described.folder / "node_modules").mkdir()
    (described.folder / "node_modules" / "left").write_text("by a build of its user's")
    assert servers.program(described) == first
    file = described.folder / server_toml.FILE
    file.write_text(file.read_text() + "\n# started otherwise\n")
    started = servers.program(described)
    (described.folder / "more.py").write_text("pass")
    assert len({first, started, servers.program(described)}) == 3


def test_the_labs_hash_leaves_out_what_only_shows_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in ("run", "report"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "one.py").write_text("1")
    monkeypatch.setattr(run_file, "PACKAGE", tmp_path)
    monkeypatch.setattr(run_file, "MEASURES", ("run",))
    hashed = run_file.lab.__wrapped__
    first = hashed()
    (tmp_path / "report" / "one.py").write_text("2")
    assert hashed() == first
    (tmp_path / "run" / "one.py").write_text("2")
    assert hashed() != first
    monkeypatch.undo()
    assert all((run_file.PACKAGE / name).exists() for name in run_file.MEASURES)


def test_a_rebuilt_engine_has_another_hash(tmp_path: Path) -> None:
    file = tmp_path / "hello.toml"
    file.write_text(documents.WORKLOAD_TOML)
    asked = [workload.load(file)]
    engine = Engine(tmp_path / "engine", "0.1.0")
    found = []
    for content in ("one", "another"):
        engine.path.write_text(content)
        found.append(run_file.programs("", asked, engine).engine)
    assert found[0] != found[1]
    assert run_file.programs("", asked, replace(engine, version="9")).engine == found[1]


def test_mixed_is_refused_for_a_new_run() -> None:
    with pytest.raises(UsageError, match="--mixed needs a run to resume; name it with --resume"):
        new(RunArguments(studies=["todo-json"], mixed=True), as_json=False)
