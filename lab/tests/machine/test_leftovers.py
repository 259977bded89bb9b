"""If a lab and its guard are killed together, the next crumple ends what they left, and nothing else."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
import tiny_servers
from command_line import caller
from crumple.machine import leftovers
from crumple.machine.leftovers import CleanedUp, ScratchFolder, lock_folder

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

LAB = """
import signal, sys, tempfile
from pathlib import Path
from crumple.machine import leftovers
from crumple.subject import server_toml, servers
tempfile.tempdir, leftovers.PREFIX = sys.argv[2:]
with servers.start(servers.build(server_toml.load(Path(sys.argv[1]))), cores=(), settings={}) as running:
    print(running.guarded.guard_pid, running.guarded.scratch, flush=True)
    sys.stdin.read()
"""
# The same as in `conftest`, so that folders of other test suites on this machine are left alone.
PREFIX = f"crumple-test-{os.getpid()}-"
SLEEPS = [sys.executable, "-c", "import time; print('there', flush=True); time.sleep(600)"]


class Lab:
    """A lab in its own process, whose server has started a daemon."""

    def __init__(self, folder: Path) -> None:
        pid_file = folder / "daemon.pid"
        here = tiny_servers.DAEMON.format(pid_file=str(pid_file))
        self.server = tiny_servers.write(folder, "tiny", here=here)
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAB, self.server, folder, PREFIX],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        guard, scratch = _said(self.process).split()
        self.guard, self.scratch, self.daemon = int(guard), Path(scratch), int(pid_file.read_text())

    def killed(self) -> None:
        """Kill the guard and the lab, which cannot clean up then."""
        os.kill(self.guard, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        # On a busy machine it lives on until it gets a core, and as long as it lives, nothing is left over.
        assert _gone(self.guard)

    def end(self) -> None:
        for pid in (self.guard, self.daemon):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()


def _said(process: subprocess.Popen[str]) -> str:
    out: IO[str] | None = process.stdout
    assert out
    return out.readline().strip()


def _gone(pid: int, within_s: float = 10.0) -> bool:
    """Whether the process is gone, or a zombie, which no process here waits for."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_this_suite_uses_a_prefix_of_its_own() -> None:
    assert leftovers.PREFIX == PREFIX


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    one = Lab(tmp_path)
    yield one
    one.end()


def test_the_processes_of_a_killed_lab_and_guard_are_ended(lab: Lab) -> None:
    lab.killed()
    assert not _gone(lab.daemon, within_s=0.5) and lab.scratch.is_dir()
    ended = leftovers.end_all()
    assert ended.processes >= 1 and ended.folders == 1 and not ended.left
    assert _gone(lab.daemon) and not lab.scratch.exists()
    assert not leftovers.end_all()


def test_the_next_command_ends_them_and_says_so(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.killed()
    call = caller(monkeypatch, capsys, "verify")
    _, _, said = call(str(lab.server))
    assert "a crumple that was killed had left" in said
    assert _gone(lab.daemon) and not lab.scratch.exists()
    _, _, said = call(str(lab.server))
    assert "a crumple that was killed" not in said


# Each starts the next and ends, as a program does that becomes a daemon; the last one stays.
CHAIN = """
import os, time
for _ in range(30):
    if os.fork(): os._exit(0)
    time.sleep(0.0005)
time.sleep(600)
"""


def test_what_becomes_a_daemon_meanwhile_is_ended_too(tmp_path: Path) -> None:
    folder = tmp_path / f"{PREFIX}nobodys0"
    mark = {**os.environ, leftovers.MARK: str(folder)}
    # One pass over the processes misses about half of them.
    for _ in range(10):
        subprocess.run([sys.executable, "-S", "-c", CHAIN], env=mark, check=True)
        assert not leftovers.end(folder)
        time.sleep(0.03)
        missed = leftovers.everywhere().get(str(folder), ())
        for pid in missed:
            os.kill(pid, signal.SIGKILL)
        assert not missed


def test_processes_of_a_running_lab_are_left_alone(lab: Lab) -> None:
    assert not leftovers.end_all()
    # Also if its guard was killed: the lab cleans up itself.
    os.kill(lab.guard, signal.SIGKILL)
    assert not leftovers.end_all()
    assert not _gone(lab.daemon, within_s=0.2) and lab.scratch.is_dir()


def test_a_running_guard_ends_its_own_processes(tmp_path: Path) -> None:
    folder = tmp_path / f"{PREFIX}of_guard"
    folder.mkdir()
    (tmp_path / "guard").write_text(SLEEPS[-1])
    mark = {**os.environ, leftovers.MARK: str(folder)}
    started = [
        subprocess.Popen(command, cwd=tmp_path, env=mark, stdout=subprocess.PIPE, text=True)
        for command in ([sys.executable, "guard", "--scratch", folder], SLEEPS)
    ]
    try:
        assert [_said(each) for each in started] == ["there", "there"]
        assert not leftovers.end_all()
        assert [each.poll() for each in started] == [None, None]
        started[0].kill()
        started[0].wait()
        assert leftovers.end_all() == CleanedUp(processes=1, folders=1)
    finally:
        for each in started:
            each.kill()
            each.communicate()


def test_a_folder_without_processes_is_removed_and_other_labs_folders_stay(tmp_path: Path) -> None:
    held = ScratchFolder.made()
    (tmp_path / f"{PREFIX}nobodys0" / "files").mkdir(parents=True)
    (tmp_path / "crumple-baseline").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"{PREFIX}a_link00").symlink_to(tmp_path / "elsewhere")
    assert leftovers.end_all() == CleanedUp(folders=1)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {held.path.name, "crumple-baseline", "elsewhere", f"{PREFIX}a_link00"}
    held.remove()
    assert not held.path.exists()


@pytest.mark.parametrize("name", ["no-folder-of-ours", f"{PREFIX}is_gone0"], ids=["not ours", "gone"])
def test_a_mark_alone_does_not_end_a_process(tmp_path: Path, name: str) -> None:
    if not name.startswith(PREFIX):
        (tmp_path / name).mkdir()
    mark = {leftovers.MARK: str(tmp_path / name)}
    other = subprocess.Popen(SLEEPS, env={**os.environ, **mark}, stdout=subprocess.PIPE, text=True)
    try:
        assert _said(other) == "there"
        assert not leftovers.end_all()
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


def test_a_reused_process_id_is_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process ends after it was listed and before it is killed, and another process gets its pid."""
    folder = tmp_path / f"{PREFIX}nobodys0"
    folder.mkdir()
    other = subprocess.Popen(SLEEPS, stdout=subprocess.PIPE, text=True)
    looks = iter([{str(folder): [other.pid]}, {str(folder): [other.pid]}])
    monkeypatch.setattr(leftovers, "everywhere", lambda: next(looks, {}))
    try:
        assert _said(other) == "there"
        assert leftovers.end_all().folders == 1
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


def test_a_folder_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[Path] = []

    def first_removed(path: Path) -> int | None:
        if not cleared:
            cleared.append(path)
            path.rmdir()
        return lock_folder(path)

    monkeypatch.setattr("crumple.machine.leftovers.lock_folder", first_removed)
    held = ScratchFolder.made()
    assert held.path.is_dir() and held.path not in cleared
    assert lock_folder(held.path) is None
    held.remove()


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (CleanedUp(processes=1, folders=1), "1 process and 1 scratch folder; all of it is ended and removed"),
        (CleanedUp(folders=2), "2 scratch folders; all of it is ended and removed"),
        (
            CleanedUp(processes=1257, folders=1, left=(7, 8)),
            "1,257 processes and 1 scratch folder, of which the processes 7, 8 could not be ended; "
            "end them by hand",
        ),
    ],
)
def test_the_message_is_one_line(ended: CleanedUp, said: str) -> None:
    assert str(ended) == f"a crumple that was killed had left {said}"
