"""Where the project's folders are: studies, servers, contract, runs. Nothing is created here."""

import os
from pathlib import Path

import platformdirs

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
    return (platformdirs.user_data_path("crumple") if root == CARRIED else root) / "runs"
