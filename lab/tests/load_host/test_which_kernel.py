"""Whether a load host is this machine: its processes say it, and its boot id where those cannot be seen."""

import os
import subprocess
from pathlib import Path

import pytest
from crumple.load_host import which_kernel
from crumple.machine import facts

MARK = "crumple-0123456789abcdef"
OTHER = "00000000-0000-0000-0000-000000000000"
BOOT_ID = facts.boot_id()


@pytest.mark.starts
@pytest.mark.parallel
def test_an_engine_that_is_seen_here_runs_on_this_kernel_whatever_its_boot_id() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={**os.environ, "CRUMPLE_LOAD": MARK}):
        assert which_kernel.is_this(MARK, OTHER)
    assert not which_kernel.is_this(MARK, OTHER)


def seen(folder: Path, second: str, first: bytes = b"HOME=/") -> Path:
    """A /proc with these processes."""
    for pid, name in ((1, "init"), (2, second)):
        (folder / str(pid)).mkdir()
        (folder / str(pid) / "comm").write_text(f"{name}\n")
    (folder / "1" / "environ").write_bytes(first)
    return folder


def test_who_sees_all_processes_and_not_the_engines_is_on_another_kernel(tmp_path: Path) -> None:
    assert not which_kernel.is_this(MARK, BOOT_ID, seen(tmp_path, "kthreadd"))


def test_in_a_container_the_boot_id_says_it(tmp_path: Path) -> None:
    proc = seen(tmp_path, "sh")
    assert which_kernel.is_this(MARK, BOOT_ID, proc)
    assert not which_kernel.is_this(MARK, OTHER, proc)
    assert not which_kernel.is_this(MARK, None, proc)
