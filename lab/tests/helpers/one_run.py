"""One run, executed as a session of its own."""

from pathlib import Path

from crumple.run.blocks import Begun, RunWatcher
from crumple.run.session import Session


def execute(begun: Begun, root: Path, watcher: RunWatcher, database_url: str | None = None) -> None:
    """Execute what is left of it. Raises what a session raises."""
    Session([begun], root).conduct(watcher, database_url)
