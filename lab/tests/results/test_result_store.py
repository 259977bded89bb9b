"""Results on disk: complete or absent, found again by name, and no more of them than the store holds."""

import errno
import json
import os
from pathlib import Path

import made_results
import pytest
import synthetic_load
from crumple.errors import NotStored, NotWritable, StorageFull, UsageError
from crumple.results import result_store
from hypothesis import given
from hypothesis import strategies as st

DOCUMENT = made_results.of_load(synthetic_load.silent())


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("CRUMPLE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs" / "results"


def names() -> list[str]:
    return [each.name for each in result_store.entries()]


def test_without_a_name_of_the_users_it_has_one_by_verb_and_time(folder: Path) -> None:
    began = DOCUMENT["began"][:19].replace("-", "").replace(":", "").replace("T", "-")
    first, second = (result_store.keep(DOCUMENT)["name"] for _ in range(2))
    assert (first, second) == (f"load-{began}", f"load-{began}-2")
    assert sorted(names()) == [first, second]
    assert not any(each.is_named for each in result_store.entries())
    assert [path for path in folder.iterdir() if path.suffix != ".json"] == []


def test_what_is_stored_is_what_was_given_and_nobody_elses_business(folder: Path) -> None:
    said = {**DOCUMENT, "command": "crumple load \x1b[2J \udc80 ünï"}
    stored = result_store.keep(said, "main")
    (entry,) = result_store.entries()
    assert entry.is_named and entry.read() == stored == {**said, "name": "main"}
    assert entry.path.stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700


def test_without_crumple_runs_it_is_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRUMPLE_RUNS")
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert result_store.folder() == Path("/somewhere/crumple/results")
    monkeypatch.setenv("HOME", "/home/me")
    for named in ("", "somewhere"):
        monkeypatch.setenv("XDG_DATA_HOME", named)
        assert result_store.folder() == Path("/home/me/.local/share/crumple/results")


@pytest.mark.parametrize("name", ["last", "7", "../x", "a/b", ".hidden", "tag:x", "", "a" * 101, "a b"])
def test_a_name_that_means_something_else_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        result_store.check_name(name)


def test_a_name_that_is_taken_is_refused_before_the_load() -> None:
    result_store.check_name("main")
    result_store.keep(DOCUMENT, "main")
    with pytest.raises(UsageError, match=r"there is a result called main; choose .* or remove .*main\.json"):
        result_store.check_name("main")


def test_a_name_that_was_taken_meanwhile_gets_a_number_and_replaces_nothing() -> None:
    result_store.keep({**DOCUMENT, "headline": "first"}, "main")
    assert result_store.keep({**DOCUMENT, "headline": "second"}, "main")["name"] == "main-2"
    assert {each.name: each.read()["headline"] for each in result_store.entries()} == {
        "main": "first", "main-2": "second",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("number", "error", "said"),
    [
        (errno.ENOSPC, StorageFull, "no space left for .*: this result is not stored; free some space"),
        (errno.EDQUOT, StorageFull, "no space left"),
        (errno.EROFS, NotWritable, "cannot write .*: this result is not stored; name another place in CRU"),
    ],
)
def test_a_disk_that_takes_no_more_is_a_sentence_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, folder: Path, number: int, error: type[Exception], said: str
) -> None:
    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(error, match=said):
        result_store.keep(DOCUMENT)
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CRUMPLE_RUNS", str(tmp_path / "file"))
    with pytest.raises(NotWritable, match="Not a directory"):
        result_store.keep(DOCUMENT)


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '{"kind": 3}', "{}", "[" * 100_000, "\x00\x01"])
def test_a_damaged_file_is_a_sentence(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(text)
    (entry,) = result_store.entries()
    with pytest.raises(NotStored, match=r"a\.json"):
        entry.read()


@given(st.binary(max_size=200))
def test_no_bytes_in_a_file_are_a_traceback(data: bytes) -> None:
    path = result_store.folder() / "b.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    with pytest.raises(NotStored):
        result_store.read(path)


def aged(number: int, tags: tuple[str, ...] = (), name: str | None = None) -> str:
    """Store a result that is so many seconds old; return its name."""
    stored = str(result_store.keep({**DOCUMENT, "tags": list(tags)}, name)["name"])
    path = result_store.folder() / f"{stored}.json"
    os.utime(path, (1e9 - number, 1e9 - number))
    return stored


def test_the_oldest_without_name_and_tag_are_removed_first() -> None:
    newest, older, oldest = aged(1), aged(2), aged(5)
    tagged, named = aged(6, ("kept",)), aged(7, name="main")
    assert names() == [newest, older, oldest, tagged, named]
    assert result_store.prune(2) == [oldest]
    assert names() == [newest, older, tagged, named]
    assert result_store.prune(0) == [newest, older]
    assert names() == [tagged, named]


def test_the_store_is_bounded_by_bytes_too() -> None:
    newest, older = aged(1), aged(2)
    size = (result_store.folder() / f"{newest}.json").stat().st_size
    assert result_store.prune(most_bytes=2 * size + 100) == []
    assert result_store.prune(most_bytes=size + 100) == [older]


def test_a_page_goes_with_its_result_and_a_damaged_file_stays(folder: Path) -> None:
    old = aged(3)
    (folder / f"{old}.html").write_text("<html>")
    (folder / "load-20261123-000000.json").write_text("{")
    os.utime(folder / "load-20261123-000000.json", (1, 1))
    assert result_store.prune(0) == [old]
    assert [path.name for path in folder.iterdir()] == ["load-20261123-000000.json"]


def test_a_document_is_strict_json() -> None:
    for load in (synthetic_load.silent(), synthetic_load.starved(), synthetic_load.stepped()):
        json.dumps(made_results.of_load(load), allow_nan=False)
