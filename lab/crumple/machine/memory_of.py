"""How much memory the processes of a server hold: what they share counts once."""

import re
from pathlib import Path

from crumple.machine import process_tree

_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


def tree(pid: int) -> int | None:
    """The proportional set size of the process tree of `pid`, in bytes; None: one could not be read."""
    total = 0
    for process in (pid, *process_tree.descendants(pid)):
        try:
            found = _PSS.search(Path(f"/proc/{process}/smaps_rollup").read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        except OSError:
            return None
        if found is None:
            return None
        total += 1024 * int(found[1])
    return total or None
