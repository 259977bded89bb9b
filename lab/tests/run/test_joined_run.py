"""Shards that are joined are the whole run: its trials, bit by bit, and so what verdicts are made of."""

import random
from pathlib import Path
from typing import Any

import made_shards
import pytest
import synthetic_run
from crumple.errors import UsageError
from crumple.machine import facts
from crumple.record.figures import figures
from crumple.run import joined_run, run_file, runs
from crumple.run.report import host_rows, report_document, run_report
from crumple.run.report.view import view
from crumple.run.run_file import RunFile
from crumple.run.store import Failure, RunStore, StoredTrial


def _files(store: RunStore) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (store.folder / "trials").glob("*.json")}


def _fail(trial: StoredTrial) -> StoredTrial:
    failure = Failure(step="engine", message="the engine was killed")
    return trial.model_copy(update={"status": "failed", "failure": failure, "record": None})


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_joined_shards_are_the_whole_runs_input_of_verdicts_bit_by_bit(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    of = rng.randint(1, 5)
    made = made_shards.trials(of, seed)
    names = sorted(made)
    made |= {name: _fail(made[name]) for name in rng.sample(names, rng.randint(0, 4))}
    without = rng.sample(names, rng.randint(0, 3))
    whole, shards = made_shards.stored(tmp_path, of, made, without=without)
    rng.shuffle(shards)
    joined = joined_run.join(shards, tmp_path / "runs").store
    assert _files(joined) == _files(whole)
    was, now = (view(run_file.read(each), each.trials()) for each in (whole, joined))
    assert [figures(each.trial) for each in was.starts] == [figures(each.trial) for each in now.starts]
    skipped = {start.trial.trial.id for start in was.skipped}
    assert was.run.facts(skipped) == now.run.facts(skipped)
    assert was.verdicts == now.verdicts and was.left_out == now.left_out
    assert len(now.run.hosts) == (of if of > 1 else 0)
    # On one host verdicts may differ, but no pair of trials does.
    assert [(each.trial.trial, each.counts) for each in was.starts] == [
        (each.trial.trial, each.counts) for each in now.starts
    ]


@pytest.mark.parametrize(
    ("names", "change", "said"),
    [
        ((1, 3), {}, r"shard 2/3 is missing; name it too, or run: crumple run .* --seed \d+ --shard 2/3"),
        ((1,), {}, "shards 2/3 and 3/3 are missing"),
        ((1, 2, 3, 2), {}, "shard 2/3 is there 2 times: shard-2 and shard-2; name one of them"),
        ((1, 2, 3), {"seed": 7}, r"are shards of two runs: the seed is 7 in one, \d+ in the other; join"),
        ((1, 2, 3), {"scale": "full"}, "the scale is full in one, quick in the other"),
        ((1, 2, 3), {"only": ("node-http",)}, "--servers is node-http in one, not given in the other"),
        ((1, 2, 3), {"shard": None}, "shard-3 is no shard of a run; name runs of crumple run --shard"),
        ((1, 2, 3), {"twin": "node-http"}, "have other blocks, .* has its twin; run crumple setup"),
    ],
)
def test_what_is_missing_double_or_of_another_run_is_one_line_with_the_remedy(
    tmp_path: Path, names: tuple[int, ...], change: dict[str, Any], said: str
) -> None:
    def changed(file: RunFile) -> RunFile:
        if twin := change.get("twin"):
            study = file.study
            shared = study.experiments["shared"].model_copy(update={"twin": twin})
            moved = study.model_copy(update={"experiments": {**study.experiments, "shared": shared}})
            return file.model_copy(update={"study": moved})
        return file.model_copy(update=change)

    _, shards = made_shards.stored(tmp_path, 3, made_shards.trials(3), change=changed)
    with pytest.raises(UsageError, match=said) as refused:
        joined_run.join([shards[name - 1] for name in names], tmp_path / "runs")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("program", "what"), [("engine", "engine"), ("lab", "lab"), ("server", "server ")])
def test_shards_of_other_programs_are_refused_unless_some_trials_are_of_the_same(
    tmp_path: Path, program: str, what: str
) -> None:
    made = made_shards.trials(2)
    other = {
        name: each.model_copy(update={"programs": each.programs.model_copy(update={program: "another"})})
        for name, each in made.items()
        if each.programs and each.programs.host == "host 2"
    }
    _, shards = made_shards.stored(tmp_path / "all", 2, made | other)
    with pytest.raises(UsageError, match=f"shard-2 was measured with another {what}.*than shard-1; run all"):
        joined_run.join(shards, tmp_path / "runs")
    # Resumed with --mixed, which marked the trials that followed.
    keys = sorted(other)
    some = {key: other[key] for key in keys[: len(keys) // 2]} if program != "server" else {}
    _, shards = made_shards.stored(tmp_path / "some", 2, made | some)
    assert joined_run.join(shards, tmp_path / "runs").missing == ()


def test_a_shard_that_lacks_trials_is_joined_and_named_with_the_remedy(tmp_path: Path) -> None:
    made = made_shards.trials(2)
    lost = [name for name, each in made.items() if each.programs and each.programs.host == "host 2"][:3]
    _, shards = made_shards.stored(tmp_path, 2, made, without=lost)
    joined = joined_run.join(shards, tmp_path / "runs")
    assert joined.missing == (
        "3 of 24 trials of shard 2/2 are missing; run them on its host (crumple run --resume shard-2), and "
        "join again",
    )
    assert len(joined.store.ids()) == len(made) - 3


def test_a_joined_run_resumes_only_blocks_that_no_other_host_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_shards.trials(2)
    file = synthetic_run.run_file()
    (first, second, *_) = (file.plan.blocks[place] for place in made_shards.dealt(file, 2)[0].blocks)
    lost = {*first.labels, min(second.labels)}
    _, shards = made_shards.stored(tmp_path, 2, made, without=lost)
    store = joined_run.join(shards, tmp_path / "runs").store
    monkeypatch.setattr(facts, "host_id", lambda: "host 2")
    begun = runs.resume(store, retry_failed=False)
    assert {each.id for each in begun.to_do} == first.labels and runs.left_elsewhere(begun) == 1
    monkeypatch.setattr(facts, "host_id", lambda: "host 1")
    assert {each.id for each in runs.resume(store, retry_failed=False).to_do} == lost


def test_nothing_is_left_of_a_join_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, shards = made_shards.stored(tmp_path, 2, made_shards.trials(2))
    monkeypatch.setattr(run_file, "write", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        joined_run.join(shards, tmp_path / "runs")
    assert [*(tmp_path / "runs").iterdir()] == []


def test_a_joined_run_says_which_hosts_are_alike_on_terminal_page_and_in_json(tmp_path: Path) -> None:
    _, shards = made_shards.stored(tmp_path, 2, made_shards.trials(2))
    store = joined_run.join(shards, tmp_path / "runs").store
    seen = view(run_file.read(store), store.trials())
    assert "2 hosts" in run_report.text(seen, 110, False)
    assert "on 2 cores under Linux 6.1 or 6.2" in run_report.text(seen, 110, False)
    assert "host 2 differs: kernel 6.2" in " ".join(run_report.text(seen, 110, False).split())
    assert host_rows.HOW_COMPARED in run_report.html(seen)
    first, second = report_document.document(seen).hosts
    assert (first.id, second.id, second.apart, second.alike) == ("host 1", "host 2", ("kernel 6.2",), False)
    assert first.blocks + second.blocks == len(seen.run.plan.blocks)


def test_a_shards_report_says_which_part_it_is(tmp_path: Path) -> None:
    _, (_, shard) = made_shards.stored(tmp_path, 2, made_shards.trials(2))
    seen = view(run_file.read(shard), shard.trials())
    assert seen.left_out == 0
    assert "shard 2/2" in run_report.text(seen, 110, False)
    assert report_document.document(seen).shard == "2/2"
