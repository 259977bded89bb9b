"""The store: each trial is complete or absent, and no error in a later trial damages an earlier one."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import documents
import pytest
from crumple.contract import CONTRACT_VERSION
from crumple.errors import NotStored, NotWritable, StorageFull, UsageError
from crumple.run import run_file, store
from crumple.run.store import RunStore


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    run = RunStore(tmp_path / "demo-quick-20261121-063012")
    run.write_run("{}")
    return run


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a file system that is really full needs root to mount it")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_trial_comes_back_as_it_was_stored(run: RunStore) -> None:
    trial = documents.stored("shared/b01/go-nethttp~twin")
    path = run.add(trial)
    assert path.name == "shared__b01__go-nethttp~twin.json"
    assert run.trials() == [trial]
    assert run.ids() == {"shared/b01/go-nethttp~twin"}


def test_a_stored_trial_never_changes(run: RunStore) -> None:
    path = run.add(documents.stored())
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        run.add(documents.stored(overhead_s=9.0))
    assert path.read_bytes() == before


def test_an_attempt_set_aside_is_kept_and_not_counted(run: RunStore) -> None:
    for overhead_s in (1.0, 2.0):
        run.add(documents.stored(overhead_s=overhead_s))
        run.set_aside("shared/b01/go-nethttp")
    assert run.ids() == set() and run.trials() == []
    kept = sorted((run.folder / "trials" / "set-aside").iterdir())
    assert [path.name for path in kept] == [f"shared__b01__go-nethttp.{n}.json" for n in (1, 2)]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_earlier_trials_intact(
    run: RunStore, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    run.add(documents.stored())

    def full(*_: object) -> None:
        raise OSError(number, "no space")

    monkeypatch.setattr(*((os, "fsync") if call == "fsync" else (Path, "replace")), full)
    with pytest.raises(StorageFull, match="every trial stored before is intact"):
        run.add(documents.stored("shared/b02/go-nethttp"))
    with pytest.raises(StorageFull):
        run.write_run('{"ended": 1}')
    monkeypatch.undo()
    assert run.ids() == {"shared/b01/go-nethttp"}
    assert run.read_run() == b"{}"
    assert not list(run.folder.rglob("*.tmp"))


@pytest.mark.starts
@pytest.mark.parallel
def test_a_really_full_disk(tiny_disk: Path) -> None:
    run = RunStore(tiny_disk / "run")
    run.write_run("{}")
    added = []
    with pytest.raises(StorageFull):
        for block in range(1, 100):
            added.append(documents.stored(f"shared/b{block:02d}/go-nethttp"))
            run.add(added[-1])
    assert len(added) > 2
    assert run.trials() == added[:-1]
    assert not list(run.folder.rglob("*.tmp"))


def test_an_interruption_while_writing_leaves_no_partial_file(
    run: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.add(documents.stored())
    assert list((run.folder / "trials").iterdir()) == []


def test_a_file_that_is_not_a_trial_is_named(run: RunStore) -> None:
    path = run.add(documents.stored())
    path.write_text(path.read_text()[:100])
    with pytest.raises(NotStored, match=r"go-nethttp\.json is not a stored trial \(is not JSON\); move it"):
        run.trials()
    path.write_text("{}")
    with pytest.raises(NotStored, match=r"go-nethttp\.json is not a stored trial \(trial: is missing\)"):
        run.trials()


def test_bytes_that_are_not_utf8_are_named(run: RunStore) -> None:
    path = run.add(documents.stored())
    path.write_bytes(path.read_bytes().replace(b"go-nethttp", b"go-neth\xff"))
    with pytest.raises(NotStored, match=r"go-nethttp\.json is not a stored trial"):
        run.trials()
    run.run_file.write_bytes(b'{"id": "\xff"}')
    with pytest.raises(NotStored, match=r"run\.json is not a run of this version of crumple \(is not JSON\)"):
        run_file.read(run)


def test_a_folder_that_cannot_be_written_is_named(run: RunStore, tmp_path: Path) -> None:
    place = tmp_path / "a-file"
    place.write_text("where a folder is wanted")
    told = r"cannot write .*a-file.*: .*; name another place in CRUMPLE_RUNS"
    for write in (
        lambda: RunStore.create(place, "demo"),
        lambda: RunStore(place / "demo").write_run("{}"),
        lambda: RunStore(place / "demo").add(documents.stored()),
        lambda: RunStore(place / "demo").set_aside("shared/b01/go-nethttp"),
    ):
        with pytest.raises(NotWritable, match=told):
            write()


def test_a_new_runs_folder_is_created_once_and_removed_if_the_run_cannot_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RunStore.create(tmp_path / "runs", "demo")
    assert made is not None and RunStore.create(tmp_path / "runs", "demo") is None

    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFull):
        made.write_run("{}")
    assert not made.folder.exists()


def test_a_trial_of_another_version_is_refused_with_that_reason(run: RunStore) -> None:
    path = run.add(documents.stored())
    present = f'"version":{CONTRACT_VERSION}'
    assert present in path.read_text()
    path.write_text(path.read_text().replace(present, '"version":2'))
    with pytest.raises(NotStored, match="was written by another version of crumple"):
        run.trials()


def test_the_latest_run_is_found_by_the_time_in_its_name(tmp_path: Path) -> None:
    for name in ("z-quick-20261121-063012", "a-full-20261121-063013", "m-quick-20251121-235959"):
        RunStore(tmp_path / name).write_run("{}")
    (tmp_path / "notes-99999999-999999").mkdir()
    assert store.find(tmp_path).name == "a-full-20261121-063013"
    assert store.find(tmp_path, "m-quick-20251121-235959").name == "m-quick-20251121-235959"


def test_an_unknown_run_names_the_command_that_starts_one(tmp_path: Path) -> None:
    with pytest.raises(NotStored, match=r"no run yet; start one with"):
        store.find(tmp_path)
    with pytest.raises(NotStored, match="no run todo-x"):
        store.find(tmp_path, "todo-x")


def test_only_one_process_can_execute_a_run(run: RunStore) -> None:
    with run.held(), pytest.raises(UsageError, match="being run by another"), RunStore(run.folder).held():
        pass
    with run.held():
        pass
