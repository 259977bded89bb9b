"""crumple try: sets up what the articles need, runs each study in its shortest form, opens the verdicts."""

from crumple.commands import output
from crumple.commands import run as run_command
from crumple.commands.project_files import Project
from crumple.commands.run import Asked
from crumple.interrupt import interruptible
from crumple.server import variant
from crumple.setup import setup
from crumple.study.study import ScaleName

SCALE: ScaleName = "tour"


def take(*, open_it: bool, as_json: bool) -> int:
    """The exit code of the runs; servers that cannot be had here are skipped with their reason."""
    here = Project.here()
    names = here.of_articles(SCALE)
    studies = [here.study(name).at(SCALE) for name in names]
    servers = sorted({variant.server_of(label) for each in studies for label in each.servers})
    output.say(
        f"crumple try: makes {len(servers)} servers ready, runs {len(names)} studies in short, shows verdicts"
    )
    asked = {name: here.workloads[name] for each in studies for name in each.workloads}
    with interruptible():
        setup.prepare(here.chosen(servers), asked, yes=True, say=output.say, ask=output.ask)
    return run_command.new(Asked(studies=names, scale=SCALE), as_json, open_it)
