"""The engine is put on a load host by any POSIX shell, where there is a place for it, and once."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import other_hosts
import pytest
import scripted_engine
from crumple.errors import LoadHostFailed, LoadHostLost
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
from other_hosts import Host

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# All that the scripts call. A host that has busybox has no more than that.
COMMANDS = ("cat", "chmod", "grep", "head", "id", "mkdir", "mv", "rm", "sed", "tr", "uname", "wc", "env")


def commands_of(folder: Path, shell: str, program: Callable[[str], str]) -> Path:
    """A folder that has that shell and what the scripts call, and nothing else."""
    commands = folder / "bin"
    commands.mkdir()
    (commands / "sh").symlink_to(shell)
    for each in COMMANDS:
        (commands / each).symlink_to(program(each))
    return commands


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_each_posix_shell_takes_the_engine_and_sweeps_what_is_left(tmp_path: Path, shell: str) -> None:
    if not (found := shutil.which(shell)):
        pytest.skip(f"not installed: {shell}")
    commands = commands_of(
        tmp_path, found, lambda each: found if shell == "busybox" else str(shutil.which(each))
    )
    # A shell between: what is killed here is not the engine.
    between = """sh -c '"$@"; true' between"""
    named = where.read(f"env PATH={commands} XDG_CACHE_HOME={tmp_path} {between}")
    with LoadHost(named, scripted_engine.written(tmp_path)) as host:
        assert json.loads(host.ask("facts")) == scripted_engine.FACTS
        with pytest.raises(LoadHostLost, match="was stopped by somebody"), host.link() as link:
            link.load('"silent"')
            link.listen(lambda _: None, 60)
        assert json.loads(host.ask("facts")) == scripted_engine.FACTS


@pytest.mark.parametrize("finds", ["find", "busybox", ""])
def test_engines_that_were_sent_a_day_ago_are_removed(tmp_path: Path, finds: str) -> None:
    if not (found := shutil.which(finds or "env")):
        pytest.skip(f"not installed: {finds}")
    commands = commands_of(tmp_path, str(shutil.which("sh")), lambda each: str(shutil.which(each)))
    if finds:
        (commands / "find").symlink_to(found)
    folder = tmp_path / "crumple"
    folder.mkdir()
    now_s = time.time()
    for name, age_h in (("engine-0123", 25), ("engine-4567.89", 25), ("engine-89ab", 23), ("other", 99)):
        (folder / name).write_text("")
        os.utime(folder / name, (now_s, now_s - 3_600 * age_h))
    named = where.read(f"env PATH={commands} XDG_CACHE_HOME={tmp_path}")
    with LoadHost(named, scripted_engine.written(tmp_path)) as host, host.link() as link:
        kept = {Path(link.path).name, "engine-89ab", "other"}
    # Without `find` nobody knows how old they are.
    old = set() if finds else {"engine-0123", "engine-4567.89"}
    assert {file.name for file in folder.iterdir()} == kept | old


@pytest.fixture
def far() -> Iterator[Host]:
    if why := other_hosts.why_not():
        pytest.skip(why)
    with other_hosts.started("far", other_hosts.WITH_HOME) as host:
        yield host


def path_there(far: Host, folder: Path) -> str:
    named = where.Where("far", (*far.words("env", "-u", "XDG_CACHE_HOME"),))
    with LoadHost(named, scripted_engine.written(folder)) as host, host.link() as link:
        return link.path


def test_a_folder_that_is_not_needed_is_not_left(far: Host, tmp_path: Path) -> None:
    assert path_there(far, tmp_path).startswith(f"{Path.home()}/.cache/crumple/engine-")
    assert far.run("ls", "-A", "/tmp").stdout == ""


@pytest.mark.parametrize("option", ["noexec", "ro", "size=4k"])
def test_a_home_that_takes_no_engine_is_passed_over(far: Host, tmp_path: Path, option: str) -> None:
    far.run("mount", "-o", f"remount,{option}", str(Path.home()))
    if option == "size=4k":
        far.run("sh", "-c", "head -c 4096 /dev/zero > ~/full || true")
    assert path_there(far, tmp_path).startswith(f"/tmp/crumple-{os.getuid()}/engine-")


def test_a_host_without_a_place_says_why_of_each(far: Host, tmp_path: Path) -> None:
    far.run("mount", "-o", "remount,ro", str(Path.home()))
    far.run("mount", "-o", "remount,noexec", "/tmp")
    with pytest.raises(LoadHostFailed) as failed:
        path_there(far, tmp_path)
    for each in ("Read-only file system", f"/tmp/crumple-{os.getuid()}: ", "Permission denied"):
        assert each in failed.value.message
    assert failed.value.message.isprintable() and "XDG_CACHE_HOME" in failed.value.remedy
    assert far.run("ls", "-A", f"/tmp/crumple-{os.getuid()}").stdout == ""


def test_a_folder_that_somebody_else_has_made_is_not_used(far: Host, tmp_path: Path) -> None:
    far.run("mount", "-o", "remount,ro", str(Path.home()))
    far.run("sh", "-c", 'mkdir "/tmp/crumple-$(id -u)" && chown 65534 "/tmp/crumple-$(id -u)"')
    with pytest.raises(LoadHostFailed, match="Read-only file system"):
        path_there(far, tmp_path)
    assert far.run("ls", "-A", f"/tmp/crumple-{os.getuid()}").stdout == ""
