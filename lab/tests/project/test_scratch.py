"""A server's scratch folder: what is in it, who may reach it, and counting the files the server left."""

import json
import os
import stat
import threading
from pathlib import Path

import pytest
import tiny_servers
from crumple.errors import ServerFailed
from crumple.subject import servers, workload

TELL = """
import json
KEPT = ("HASH_FILE", "FILES_FOLDER", "DB_HOST")
open(os.path.join({folder!r}, "told"), "w").write(json.dumps({{name: os.environ.get(name) for name in KEPT}}))
open(os.path.join(os.environ["FILES_FOLDER"], "left"), "w").write("left")
"""


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_gets_the_paths_of_both_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "SETTLED_S", 0.1)
    tiny = tiny_servers.described(tmp_path, here=TELL.format(folder=str(tmp_path)))
    environment = {"DB_HOST": "somewhere"}
    built = servers.build(tiny)
    with servers.start(built, cores=(), settings={}, environment=environment) as running:
        told = json.loads((tmp_path / "told").read_text())
        assert Path(told["HASH_FILE"]).read_bytes() == workload.hash_content()
        assert [file.name for file in Path(told["FILES_FOLDER"]).iterdir()] == ["left"]
        assert told["DB_HOST"] == "somewhere"
        assert running.files_left() == 1
    assert not Path(told["HASH_FILE"]).parent.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers whose workers are of another user")
def test_workers_of_another_user_can_use_the_folders_but_not_list_the_parent():
    folder = servers.made_scratch()
    try:
        assert mode(folder.path) == 0o711
        assert mode(folder.path / servers.HASH_FILE) == 0o644
        assert mode(folder.path / servers.FILES_FOLDER) == 0o1777
    finally:
        folder.remove()


def test_without_root_only_the_user_has_access(monkeypatch):
    monkeypatch.setattr(servers.os, "geteuid", lambda: 1000)
    folder = servers.made_scratch()
    try:
        assert mode(folder.path) == 0o700
    finally:
        folder.remove()


def test_the_count_waits_for_files_in_use(tmp_path):
    (tmp_path / "files").mkdir()
    last = tmp_path / "files" / "a"
    last.touch()
    threading.Timer(0.1, last.unlink).start()
    assert servers.files_left(tmp_path, within_s=20) == 0


def test_a_missing_folder_counts_as_no_files(tmp_path):
    assert servers.files_left(tmp_path, within_s=0) == 0


def test_as_many_files_as_requests_in_flight_are_no_fault():
    assert servers.files_fault(8, connections=8) == ""
    said = "the server left 1,009 of its files behind; it must remove each with its answer"
    assert servers.files_fault(1009, connections=8) == said


def test_a_folder_that_cannot_be_filled_is_removed(tmp_path, monkeypatch):
    def full(_folder):
        raise OSError(28, "No space left on device", "hash.bin")

    monkeypatch.setattr(servers, "_fill", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ServerFailed, match=r"cannot make a scratch folder: .*: No space left"):
        servers.made_scratch()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_sentence(monkeypatch):
    def full(prefix: str) -> str:
        raise OSError(28, "No space left on device", "/tmp/crumple-x")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(ServerFailed) as caught:
        servers.made_scratch()
    assert str(caught.value) == (
        "cannot make a scratch folder: /tmp/crumple-x: No space left on device; "
        "free some space, or name another place in TMPDIR"
    )
