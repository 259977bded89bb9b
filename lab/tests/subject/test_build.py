"""A server's program is built once for each content, completely or not at all; errors are one sentence."""

import multiprocessing
import os
import re
import time
from pathlib import Path

import pytest
import tiny_servers
from crumple.errors import ServerFailed
from crumple.subject import build, servers

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

BUILD_ONCE = """
[build]
command = [["sh", "-c", "echo built >> {log}; sleep {sleep_s}; echo made > made"]]
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep builds and scratch folders of a test in its own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def eventually(what, within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.02)
    return False


def test_the_same_content_is_built_once_and_other_content_anew(tmp_path):
    log = tmp_path / "log"
    tiny = tiny_servers.described(tmp_path, toml=BUILD_ONCE.format(log=log, sleep_s=0))
    first, again = servers.build(tiny), servers.build(tiny)
    assert (first.folder, again.build_s) == (again.folder, 0.0)
    assert (first.folder / "made").is_file()
    assert not (tiny.folder / "made").exists()
    (tiny.folder / "server.py").write_text("# another")
    assert servers.build(tiny).folder != first.folder
    assert log.read_text().count("built") == 2


def test_a_server_is_not_built_into_the_users_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("UV_PROJECT_ENVIRONMENT", "/theirs")
    monkeypatch.setenv("VIRTUAL_ENV", "/theirs")
    monkeypatch.setenv("A_PROXY", "kept")
    toml = '[build]\ncommand = [["sh", "-c", "env > made"]]\n'
    built = servers.build(tiny_servers.described(tmp_path, toml=toml)).folder
    made = (built / "made").read_text()
    assert "/theirs" not in made and "A_PROXY=kept" in made


def test_a_build_of_read_only_files_is_writable(tmp_path):
    toml = '[build]\ncommand = [["sh", "-c", "echo >> server.py; echo made > part/made"]]\n'
    tiny = tiny_servers.described(tmp_path, toml=toml)
    (tiny.folder / "part").mkdir()
    (tiny.folder / "part" / "file").touch()
    for path in (*tiny.folder.rglob("*"), tiny.folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    built = servers.build(tiny).folder
    # Root can write whatever the modes are, so check the modes.
    assert all(path.stat().st_mode & 0o200 for path in (built, *built.rglob("*")))
    assert (built / "part" / "made").is_file() and not (tiny.folder / "part" / "made").exists()


def test_another_version_of_a_tool_needs_another_build(tmp_path):
    tiny = tiny_servers.described(tmp_path)
    assert build.content_hash(tiny, {"python": "3.11"}) != build.content_hash(tiny, {"python": "3.12"})


def test_a_failed_build_keeps_its_output_and_leaves_no_files(tmp_path):
    toml = '[build]\ncommand = [["sh", "-c", "echo the reason; exit 3"]]\n'
    tiny = tiny_servers.described(tmp_path, toml=toml)
    with pytest.raises(ServerFailed, match="ended with code 3") as failed:
        servers.build(tiny)
    assert (failed.value.step, failed.value.output_tail) == ("build", ("the reason",))
    assert not [path for path in build.cache().iterdir() if path.is_dir()]


def test_a_missing_build_tool_is_named(tmp_path):
    tiny = tiny_servers.described(tmp_path, toml='[build]\ncommand = [["no-such-tool"]]\n')
    with pytest.raises(ServerFailed, match="no-such-tool"):
        servers.build(tiny)


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    tiny = tiny_servers.described(tmp_path)
    (tmp_path / "full").write_text("a file, where a folder is wanted")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "full"))
    with pytest.raises(ServerFailed, match=r"cannot write .*full.*: Not a directory; free some") as failed:
        servers.build(tiny)
    assert failed.value.step == "build"


def test_a_full_cache_is_one_sentence(tmp_path, monkeypatch):
    def full(source, copy, **_):
        raise OSError(28, "No space left on device", str(source), None, str(copy))

    tiny = tiny_servers.described(tmp_path)
    (tiny.folder / "part").mkdir()
    (tiny.folder / "part" / "file").touch()
    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(ServerFailed) as failed:
        servers.build(tiny)
    assert re.fullmatch(
        rf"cannot write {re.escape(str(build.cache()))}/tiny-\S+: No space left on device; "
        "free some space, or name another place in XDG_CACHE_HOME",
        str(failed.value),
    )
    assert not [path for path in build.cache().iterdir() if path.is_dir()]


def test_a_copy_has_exactly_the_files_of_the_program(tmp_path):
    tiny = tiny_servers.described(tmp_path)
    (tiny.folder / "part" / "empty").mkdir(parents=True)
    (tiny.folder / "part" / "run").write_text("#!/bin/sh")
    (tiny.folder / "part" / "run").chmod(0o755)
    (tiny.folder / "part" / "link").symlink_to("run")
    (tiny.folder / "part" / "node_modules").mkdir()
    built = servers.build(tiny).folder
    assert {path.name for path in built.rglob("*")} == {"server.py", "part", "empty", "run", "link"}
    assert (built / "part" / "link").readlink() == Path("run") and os.access(built / "part" / "run", os.X_OK)


def test_two_labs_that_build_at_the_same_time_build_once(tmp_path):
    log = tmp_path / "log"
    tiny = tiny_servers.described(tmp_path, toml=BUILD_ONCE.format(log=log, sleep_s=0.3))
    both = [multiprocessing.get_context("fork").Process(target=servers.build, args=(tiny,)) for _ in range(2)]
    for lab in both:
        lab.start()
    for lab in both:
        lab.join(20)
    assert [lab.exitcode for lab in both] == [0, 0]
    assert log.read_text() == "built\n"


def test_a_build_that_was_killed_does_not_count_as_finished(tmp_path):
    log = tmp_path / "log"
    tiny = tiny_servers.described(tmp_path, toml=BUILD_ONCE.format(log=log, sleep_s=1))
    lab = multiprocessing.get_context("fork").Process(target=servers.build, args=(tiny,))
    lab.start()
    assert eventually(log.exists)
    lab.kill()
    lab.join()
    built = servers.build(tiny)
    assert (built.folder / "made").is_file()
    assert log.read_text() == "built\nbuilt\n"
