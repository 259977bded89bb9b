"""Where the project's folders are: studies, servers, contract, runs. Nothing is created here."""

import os
from pathlib import Path

from crumple.errors import UsageError

MARKS = ("contract/workloads", "servers", "studies")


def root() -> Path:
    """The project's folder: $CRUMPLE_ROOT, else upwards from here, else upwards from this package."""
    named = os.environ.get("CRUMPLE_ROOT")
    here, package = Path.cwd(), Path(__file__).resolve().parent
    searched = [Path(named)] if named else [here, *here.parents, *package.parents]
    for folder in searched:
        if all((folder / mark).is_dir() for mark in MARKS):
            return folder
    raise UsageError(
        f"no crumple project in {searched[0]} or above", "change into its folder, or set CRUMPLE_ROOT to it"
    )


def runs(root: Path) -> Path:
    """Where runs are stored: $CRUMPLE_RUNS, else `runs` in the project."""
    return Path(os.environ.get("CRUMPLE_RUNS") or root / "runs")
