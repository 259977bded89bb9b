"""crumple try: sets up what the todo study needs, runs it in short form, writes and opens the report."""

import os
import sys
import webbrowser

from crumple import run, setup
from crumple.commands import output, report
from crumple.commands import run as run_command
from crumple.commands.project_files import Project

STUDY, SCALE = "todo-json", "quick"


def take(*, open_it: bool, as_json: bool) -> int:
    """The exit code of the run; servers that cannot be had here are skipped with their reason."""
    here = Project.here()
    study = here.study(STUDY)
    names = sorted({name for experiment in study.experiments.values() for name in experiment.servers})
    output.say(
        f"crumple try: makes {len(names)} servers ready, runs {STUDY} at scale {SCALE}, writes a report"
    )
    setup.prepare(here.chosen(names), yes=True, say=output.say, ask=output.ask)
    begun = run.begin(study, SCALE, root=here.root, runs=here.runs, seed=None, only=())
    code = run_command.carry_out(begun, here.root, as_json)
    if code == run_command.INTERRUPTED:
        return code
    page = report.write(begun.store, "html")
    output.say(f"report: {page}")
    if open_it and has_display():
        webbrowser.open(page.resolve().as_uri())
    return code


def has_display() -> bool:
    """Whether a browser could show anything to whoever sits here."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
