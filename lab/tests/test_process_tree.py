"""Which processes descend from a process, also where the kernel does not list children."""

import subprocess
import time

import pytest
from crumple.machine import process_tree


@pytest.mark.starts
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
        by_parents, counted = [*process_tree.descendants(shell.pid)], process_tree.counted(shell.pid)
        monkeypatch.undo()
        for pid in listed:
            subprocess.run(["kill", str(pid)], check=False)
        shell.kill()
    assert len(listed) == 2
    assert by_parents == listed and counted == process_tree.Tree(3, 3)


def without_children(glob):  # type: ignore[no-untyped-def]
    """Return what finds no file of that name."""
    return lambda path, pattern: iter(()) if pattern.endswith("children") else glob(path, pattern)
