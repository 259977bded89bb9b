"""Which processes descend from a process, also where the kernel does not list children."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from crumple.machine import facts, load_machine, process_tree


@pytest.mark.starts
@pytest.mark.parallel
def test_descendants_are_found_though_the_kernel_does_not_list_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with subprocess.Popen(["sh", "-c", "(sleep 60 & wait) & wait"]) as shell:
        over_s = time.monotonic() + 10.0
        while len(listed := [*process_tree.descendants(shell.pid)]) < 2 and time.monotonic() < over_s:
            time.sleep(0.01)
        # Such a kernel has no such file.
        monkeypatch.setattr(process_tree.Path, "glob", without_children(process_tree.Path.glob))
        monkeypatch.setattr(process_tree, "_kernel_lists_children", lambda: False, raising=False)
        by_parents, counted = [*process_tree.descendants(shell.pid)], process_tree.count(shell.pid)
        monkeypatch.undo()
        for pid in listed:
            subprocess.run(["kill", str(pid)], check=False)
        shell.kill()
    assert len(listed) == 2
    assert by_parents == listed and counted == process_tree.Tree(3, 3)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_process_whose_name_is_cut_within_a_letter_is_read(tmp_path: Path) -> None:
    program = tmp_path / ("\N{CYRILLIC SMALL LETTER ZHE}" * 8)  # 16 bytes, of which the kernel keeps 15
    program.symlink_to("/bin/sh")
    with subprocess.Popen([program, "-c", "sleep 60 & wait"], stdin=subprocess.PIPE) as server:
        over_s = time.monotonic() + 10.0
        while not (children := [*process_tree.descendants(server.pid)]) and time.monotonic() < over_s:
            time.sleep(0.01)
        named = Path(f"/proc/{server.pid}/comm").read_bytes()
        above = [[*process_tree.ancestors(child)] for child in children]
        for pid in (*children, server.pid):
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(UnicodeDecodeError):
        named.decode()
    assert [each[0] for each in above] == [server.pid]


@pytest.mark.parametrize(("lowest", "is_below"), [(32_768, True), (10_500, False), (1_024, False)])
def test_a_free_port_is_none_that_the_kernel_gives_away(
    monkeypatch: pytest.MonkeyPatch, lowest: int, is_below: bool
) -> None:
    kernels_lowest = facts.port_range()[0]
    monkeypatch.setattr(facts, "port_range", lambda: [lowest, 60_999])
    found = {process_tree.free_port() for _ in range(20)}
    assert len(found) > 1
    assert all((port < min(lowest, kernels_lowest)) == is_below for port in found)


def test_a_port_that_is_taken_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as holder:
        holder.bind((load_machine.HOST, 0))
        taken = holder.getsockname()[1]
        monkeypatch.setattr(process_tree.random.SystemRandom, "randrange", lambda *_: taken)
        assert process_tree.free_port() != taken


def without_children(glob):  # type: ignore[no-untyped-def]
    """Return what finds no file of that name."""
    return lambda path, pattern: iter(()) if pattern.endswith("children") else glob(path, pattern)
