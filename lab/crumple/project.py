"""Where the project's folders are: studies, servers, contract, runs. Nothing is created here."""

import os
from pathlib import Path

from crumple.errors import UsageError

MARKS = ("contract/workloads", "servers", "studies")
PACKAGE = Path(__file__).resolve().parent
# The wheel's own copy, which is read only. In a checkout it holds links to the project's folders.
CARRIED = PACKAGE / "carried"


def root() -> Path:
    """The project's folder, which holds all MARKS. Raises UsageError if there is none.

    $CRUMPLE_ROOT; without it, the first of the working directory, its parents, the parents of this package
    and CARRIED.
    """
    named = os.environ.get("CRUMPLE_ROOT")
    here = Path.cwd()
    searched = [Path(named)] if named else [here, *here.parents, *PACKAGE.parents, CARRIED]
    for folder in searched:
        if all((folder / mark).is_dir() for mark in MARKS):
            return folder
    wanted = f"{', '.join(MARKS[:-1])} and {MARKS[-1]}"
    if named:
        raise UsageError(f"CRUMPLE_ROOT names {named}, which lacks {wanted}", "name the project's folder")
    raise UsageError(f"no folder above {here} has {wanted}", "set CRUMPLE_ROOT to one that has")


def runs(root: Path) -> Path:
    """The folder where runs are stored: $CRUMPLE_RUNS, else `runs` in the project.

    For CARRIED, `runs` in the user's data folder, so that reports are found from any working directory.
    """
    if named := os.environ.get("CRUMPLE_RUNS"):
        return Path(named)
    return (_users("XDG_DATA_HOME", ".local/share") if root == CARRIED else root) / "runs"


def cache() -> Path:
    """The user's folder for what crumple can make again: $XDG_CACHE_HOME/crumple, else ~/.cache/crumple."""
    return _users("XDG_CACHE_HOME", ".cache")


def _users(variable: str, below_home: str) -> Path:
    """The user's folder of one kind (XDG Base Directory Specification). Relative paths are ignored."""
    named = os.environ.get(variable, "")
    return (Path(named) if named.startswith("/") else Path.home() / below_home) / "crumple"
