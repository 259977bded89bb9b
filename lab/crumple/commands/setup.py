"""crumple setup: what the servers need, shown and then installed."""

from dataclasses import asdict

from crumple import setup
from crumple.commands import output
from crumple.commands.project_files import Project


def make_ready(names: list[str], yes: bool, as_json: bool) -> int:
    """1 if a server named (or any, if none is) is not ready afterwards."""
    chosen = Project.here().chosen(names)
    prepared = setup.prepare(chosen, yes=yes, say=output.say, ask=output.ask)
    if as_json:
        output.as_json([{**asdict(each), "ready": each.ready} for each in prepared])
    return 0 if all(each.ready for each in prepared) else 1
