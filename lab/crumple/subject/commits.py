"""A folder as it was at a commit: finds the commit, and checks the whole repository out for a while.

The checkout is a git worktree in a scratch folder; a killed crumple's are removed by the next one. No hook of
the repository runs, and its own working tree and index stay as they are.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crumple.errors import CrumpleError, UsageError
from crumple.machine.leftovers import ScratchFolder

# Seconds after which a command of git is given up.
LIMIT_S = 300.0
_TREE = "tree"
# A hook, or a git alias, that starts crumple sets these, and they would name another repository.
_OTHERS = "GIT_"


def find_commit(folder: Path, commit: str) -> str:
    """Return the commit's full hash. Raises UsageError if there is no repository, or no such commit in it."""
    inside = _git(folder, "rev-parse", "--show-prefix")
    if inside.returncode:
        raise UsageError(f"{folder}@{commit}: {folder} is in no git repository", "name the folder alone")
    known = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    if known.returncode:
        raise UsageError(f"{folder}@{commit}: there is no such commit", "look it up with git log")
    return known.stdout.strip()


@contextmanager
def checked_out(folder: Path, commit: str) -> Iterator[Path]:
    """Yield the folder as it is at the commit, until the `with` ends. Raises CrumpleError."""
    prefix = _git(folder, "rev-parse", "--show-prefix").stdout.strip()
    scratch = ScratchFolder.made()
    tree = scratch.path / _TREE
    try:
        # A hook after a checkout may install packages, or write into the user's own working tree.
        no_hooks = ("-c", f"core.hooksPath={os.devnull}")
        added = _git(folder, *no_hooks, "worktree", "add", "--detach", "--quiet", str(tree), commit)
        if added.returncode:
            last = added.stderr.strip().rpartition("\n")[2]
            raise CrumpleError(f"{folder}@{commit}: git cannot check it out: {last}")
        there = tree / prefix
        if not there.is_dir():
            raise UsageError(f"{folder}@{commit}: that commit has no such folder", "name a later commit")
        yield there
    finally:
        _git(folder, "worktree", "remove", "--force", str(tree))
        scratch.remove()
        _git(folder, "worktree", "prune")


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git in the folder. Raises UsageError if there is no git, CrumpleError if it does not end."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
            env=own,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("a commit needs git, which is not installed", "install git") from None
    except subprocess.TimeoutExpired:
        raise CrumpleError(f"git {words[0]} did not end within {LIMIT_S:.0f} s") from None
