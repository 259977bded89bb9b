"""Where the project's folders are: studies, servers, contract, runs. Nothing is created here."""

import os
from pathlib import Path

import platformdirs

from crumple.errors import UsageError

MARKS = ("contract/workloads", "servers", "studies")
PACKAGE = Path(__file__).resolve().parent
# The wheel's own copy, which is only read. In a checkout these are links to the project's folders.
CARRIED = PACKAGE / "carried"


def root() -> Path:
    """The project's folder: $CRUMPLE_ROOT, else upwards from here, else upwards from this package.

    Where there is none, CARRIED. Raises UsageError.
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
    """Where runs are stored: $CRUMPLE_RUNS, else `runs` in the project.

    For CARRIED, `runs` in the user's data folder, so that a report is found from wherever one stands.
    """
    if named := os.environ.get("CRUMPLE_RUNS"):
        return Path(named)
    return (platformdirs.user_data_path("crumple") if root == CARRIED else root) / "runs"
