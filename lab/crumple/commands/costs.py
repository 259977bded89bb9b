"""crumple costs: what calls, switches, threads and processes cost on this machine."""

from crumple import engine
from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.drawing import numerals
from crumple.machine import costs, turns
from crumple.machine.facts import usable_cores


def tell(as_json: bool) -> int:
    """All costs, measured on the last of the usable cores, which the system uses least."""
    loaded = engine.load(Project.here().root)
    with turns.beside(output.say_disturbed):
        measured = costs.measure(loaded, usable_cores()[-1])
    if as_json:
        output.as_json([cost.model_dump() for cost in measured])
        return 0
    rows = [
        (
            cost.name.replace("_", " "),
            numerals.duration(cost.ns),
            f"{numerals.duration(cost.low_ns)} to {numerals.duration(cost.high_ns)}",
            cost.meaning,
        )
        for cost in measured
    ]
    output.as_table(("cost", "median", "8 of 10 rounds", ""), rows)
    return 0
