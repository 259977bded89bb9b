"""The folder of a site: whatever happens, the old one stays until the new one is whole."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import made_sites
import pytest
from crumple.errors import NotWritable, StorageFull, UsageError
from crumple.site import site_files
from crumple.site.site_files import RECORD
from made_sites import contents, publish

# Makes a site, and kills itself at one of the steps that count.
KILLED = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(Path(made_sites.__file__).parent)!r})
from crumple.site import site_files
import made_sites
folder, at, exchanges = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
calls = []
def counted(real):
    def call(*given):
        calls.append(real)
        if len(calls) == at:
            os.kill(os.getpid(), 9)
        return real(*given)
    return call
if not exchanges:
    site_files._exchanged = lambda *_: False
os.fsync, Path.rename = counted(os.fsync), counted(Path.rename)
site_files._exchanged = counted(site_files._exchanged)
made_sites.publish(folder, {{"index.html": "2", "a.html": "b"}})
"""


@pytest.fixture(params=["in one step", "in two steps"])
def folder(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a site is made, on a file system that can exchange two folders, and on one that cannot."""
    if request.param == "in two steps":
        monkeypatch.setattr(site_files, "_exchanged", lambda *_: False)
    return tmp_path / "new" / "public"


def test_a_new_site_takes_the_place_of_the_old_one_and_keeps_what_has_not_changed(folder: Path) -> None:
    publish(folder, {"index.html": "1", "results/a.html": "a", "results/gone.html": "b"})
    before = (folder / "results" / "a.html").stat()
    publish(folder, {"index.html": "2"}, kept=("results/a.html",))
    assert contents(folder) == {"index.html": "2", "results/a.html": "a"}
    assert (folder / "results" / "a.html").stat().st_ino == before.st_ino
    assert [*folder.parent.iterdir()] == [folder]


def test_a_page_is_kept_where_files_have_one_name_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    publish(folder, {"index.html": "1"})
    monkeypatch.setattr(os, "link", refuse)
    publish(folder, {}, kept=("index.html",))
    assert contents(folder) == {"index.html": "1"}


@pytest.mark.parametrize(
    ("number", "raised"), [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EIO, NotWritable)]
)
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_fault_while_a_page_is_written_leaves_the_old_site(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, raised: type[Exception], at: int
) -> None:
    publish(folder, {"index.html": "1", "a.html": "a"})
    old, real, calls = contents(folder), os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > at:
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(raised, match="as it was"):
        publish(folder, {"index.html": "2", "a.html": "b"})
    monkeypatch.setattr(os, "fsync", real)
    assert contents(folder) == old
    assert [*folder.parent.iterdir()] == [folder]


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    # The record is synced, each page and the record again; folders change places or are renamed; theirs is
    # synced.
    ("exchanges", "call"),
    [*((True, call) for call in range(1, 7)), *((False, call) for call in range(1, 9))],
)
def test_a_kill_at_any_step_leaves_a_whole_site(tmp_path: Path, call: int, exchanges: bool) -> None:
    folder = tmp_path / "public"
    old, new = {"index.html": "1", "a.html": "a"}, {"index.html": "2", "a.html": "b"}
    publish(folder, old)
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(call), str(int(exchanges))], check=False
    )
    assert ended.returncode == -9
    # To open it again, as the next command does, puts back a site that was moved away.
    with site_files.new_site(folder):
        assert contents(folder) in (old, new)
    publish(folder, {"index.html": "3"})
    assert contents(folder) == {"index.html": "3"}
    assert [*tmp_path.iterdir()] == [folder]


def test_a_folder_with_other_files_is_refused_and_stays(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("years")
    with pytest.raises(UsageError, match="has files that are no site of crumple; name another folder"):
        publish(folder, {"index.html": "1"})
    assert contents(folder) == {"thesis.txt": "years"}


def test_a_file_that_somebody_added_to_a_site_is_not_lost(folder: Path) -> None:
    publish(folder, {"index.html": "1"})
    (folder / "CNAME").write_text("example.org")
    with pytest.raises(UsageError, match="has a file that is not of the site: CNAME"):
        publish(folder, {"index.html": "2"})
    assert contents(folder) == {"CNAME": "example.org", "index.html": "1"}


def test_a_file_is_no_folder_and_a_damaged_record_is_no_site(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file")
    with pytest.raises(UsageError, match="is a file; name another folder"):
        publish(folder, {})
    folder.unlink()
    folder.mkdir()
    for damaged in (b"{", b"\xff\xfe"):
        (folder / RECORD).write_bytes(damaged)
        with pytest.raises(UsageError, match=r"site\.json is damaged, or of another version of crumple"):
            publish(folder, {})


def test_the_root_of_all_files_is_refused() -> None:
    with pytest.raises(UsageError, match="/ cannot be a site; name another folder"):
        publish(Path("/"), {})


@pytest.mark.parametrize("kind", ["new", "old"])
@pytest.mark.parametrize("site", ["a site", "no site"])
def test_a_folder_of_somebody_else_with_a_name_that_a_site_needs_stays(
    folder: Path, kind: str, site: str
) -> None:
    if site == "a site":
        publish(folder, {"index.html": "1"})
    other = folder.with_name(f".{folder.name}.{kind}")
    other.mkdir(parents=True)
    (other / "thesis.txt").write_text("years")
    with pytest.raises(
        UsageError, match=rf"\.public\.{kind} is not of crumple, which needs the name; move it"
    ):
        publish(folder, {"index.html": "2"})
    assert contents(other) == {"thesis.txt": "years"}
    assert contents(folder) == ({"index.html": "1"} if site == "a site" else {})
    assert folder.exists() == (site == "a site")


def test_a_file_of_somebody_else_with_the_name_of_the_lock_stays(folder: Path) -> None:
    folder.parent.mkdir()
    lock = folder.with_name(f".{folder.name}.lock")
    lock.write_text("of another program")
    with pytest.raises(UsageError, match="is not of crumple"):
        publish(folder, {"index.html": "1"})
    assert lock.read_text() == "of another program"


def test_what_was_partly_removed_is_still_known_as_ours(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(folder, {"index.html": "1", "a.html": "a"})
    beside = folder.with_name(f".{folder.name}.new")
    folder.rename(beside)
    with monkeypatch.context() as stopped:
        stopped.setattr(shutil, "rmtree", lambda *_, **__: None)
        site_files._remove(beside)
    assert [file.name for file in beside.iterdir()] == [RECORD]
    publish(folder, {"index.html": "2"})
    assert contents(folder) == {"index.html": "2"} and [*folder.parent.iterdir()] == [folder]


def test_an_empty_folder_becomes_the_site(folder: Path) -> None:
    folder.mkdir(parents=True)
    publish(folder, {"index.html": "1"})
    assert contents(folder) == {"index.html": "1"}


def test_two_do_not_write_one_site_at_a_time(folder: Path) -> None:
    with site_files.new_site(folder), pytest.raises(UsageError, match="another crumple writes"):
        publish(folder, {"index.html": "1"})
    publish(folder, {"index.html": "2"})
    assert contents(folder) == {"index.html": "2"}


def test_a_site_by_a_link_is_made_where_the_link_leads(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    publish(link, {"index.html": "1"})
    publish(link, {"index.html": "2"})
    assert link.is_symlink() and contents(folder) == {"index.html": "2"}
