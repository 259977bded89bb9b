"""crumple join: makes one stored run of the shards of a run, and prints its verdicts."""

from collections.abc import Sequence
from pathlib import Path

from crumple.commands import output, report, run, run_gate
from crumple.commands.project_files import Project
from crumple.drawing import numerals
from crumple.run import joined_run, store


def shards(
    names: Sequence[str], fail_if: Sequence[str], junit: Path | None, as_json: bool, open_it: bool
) -> int:
    """Join the runs of these names, or in these folders, and return the exit code of the whole run.

    Raises UsageError if they are not all shards of one run, NotStored, StorageFull and NotWritable.
    """
    conditions = run.RunArguments([], fail_if=fail_if, junit=junit).conditions()
    here = Project.here()
    joined = joined_run.join([store.find(here.runs, name) for name in names], here.runs)
    for line in joined.missing:
        output.say(line)
    shards_there = numerals.count(joined.shards, "shard")
    output.say(f"{joined.store.name}: {shards_there} joined, stored in {joined.store.folder}")
    outcomes = run_gate.judge([joined.store], conditions)
    report.summarise(joined.store, as_json, open_it)
    code = run.code_of(joined.store.trials())
    return run_gate.code_after([joined.store], code, outcomes, junit, as_json=as_json)
