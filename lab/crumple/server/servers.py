"""The servers of the project: find, check, build, start. What each of these takes has a module of its own.

built = servers.build(description)
with servers.start(built, cores=(0,), settings={}) as running: ...
"""

from pathlib import Path

from crumple.errors import FileInvalid, Problem
from crumple.server import server
from crumple.server.build import Built, build, is_built, program
from crumple.server.runtimes import Missing, Ready, readiness, versions
from crumple.server.server import ServerDescription
from crumple.server.start import Running, start

__all__ = [
    "Built",
    "Missing",
    "Ready",
    "Running",
    "build",
    "find",
    "is_built",
    "program",
    "readiness",
    "start",
    "versions",
]


def find(root: Path) -> dict[str, ServerDescription]:
    """Every server of the project by name. Raises FileInvalid with all problems of all of them."""
    found: dict[str, ServerDescription] = {}
    problems: list[Problem] = []
    for file in sorted((root / "servers").glob(f"*/{server.FILE}")):
        try:
            found[file.parent.name] = server.load(file.parent)
        except FileInvalid as invalid:
            problems += invalid.problems
    if problems:
        raise FileInvalid(problems)
    return found
