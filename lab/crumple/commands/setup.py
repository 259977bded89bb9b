"""crumple setup: what the servers need, shown and then installed."""

from dataclasses import asdict

from crumple.commands import cleared, output
from crumple.commands.chosen import chosen
from crumple.commands.project_files import Project
from crumple.interrupt import interruptible
from crumple.setup import setup


def make_ready(names: list[str], yes: bool, as_json: bool) -> int:
    """1 if a server named (or any, if none is) is not ready afterwards."""
    here = Project.here()
    described = [one.description for one in chosen(here, names)]
    cleared.away()
    with interruptible():
        prepared = setup.prepare(described, here.workloads, yes=yes, say=output.say, ask=output.ask)
    if as_json:
        output.as_json([{**asdict(each), "ready": each.ready} for each in prepared])
    return 0 if all(each.ready for each in prepared) else 1
