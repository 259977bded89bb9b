"""crumple servers, workloads, studies, costs: print each as a table or as JSON."""

from rich.text import Text

from crumple import engine
from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.drawing import numerals
from crumple.errors import CrumpleError
from crumple.machine import alone, ceiling
from crumple.machine.facts import usable_cores
from crumple.results.printed_documents import ServerRow, StudyFault, StudyRow, WorkloadRow
from crumple.study import study
from crumple.study.study import Study
from crumple.subject import servers
from crumple.subject.server_toml import ServerDescription
from crumple.subject.workload import Workload


def list_servers(as_json: bool) -> int:
    """List the servers: version, I/O model, workloads, settings with defaults, and whether they can run."""
    here = Project.here()
    found, workloads = here.servers, here.workloads
    readiness = {name: servers.readiness(each) for name, each in found.items()}
    versions = {name: servers.versions(each) for name, each in found.items()}
    if as_json:
        output.models([_server(each, versions[name], readiness[name]) for name, each in found.items()])
        return 0
    every = set(workloads)
    rows = [
        (
            name,
            _first(versions[name]),
            each.io_model,
            "all" if set(each.workloads) == every else ", ".join(each.workloads),
            ", ".join(f"{key}={setting.default}" for key, setting in each.settings.items()) or "–",
            _ready(readiness[name]),
        )
        for name, each in found.items()
    ]
    headings = ("server", "version", "I/O model", "workloads", "settings", "ready")
    output.as_table(headings, rows, ("settings", "workloads", "version"), ("version",))
    return 0


def list_workloads(as_json: bool) -> int:
    """List the workloads: the request of each, and the size of its answer."""
    found = Project.here().workloads
    if as_json:
        output.models([_workload(each) for each in found.values()])
        return 0
    rows = [
        (
            name,
            f"{each.request.method} {each.request.path}",
            f"{each.answer_to({}).length} bytes",
            each.answer.content_type,
            each.title,
        )
        for name, each in found.items()
    ]
    output.as_table(("workload", "request", "answer", "type", "title"), rows, ("type", "answer"))
    return 0


def list_studies(as_json: bool) -> int:
    """List the studies with their questions. Exit code 2 if a study cannot be read; its row says why."""
    here = Project.here()
    read: dict[str, Study | CrumpleError] = {}
    for name in study.find(here.root):
        try:
            read[name] = here.study(name)
        except CrumpleError as error:
            read[name] = error
    if as_json:
        output.models([_study(name, each) for name, each in read.items()])
    else:
        rows = [
            (name, _counts(each), each.question if isinstance(each, Study) else str(each))
            for name, each in read.items()
        ]
        output.as_table(("study", "", "question"), rows)
    return 2 if any(isinstance(each, CrumpleError) for each in read.values()) else 0


def _server(
    each: ServerDescription, versions: dict[str, str], readiness: servers.Installed | servers.Missing
) -> ServerRow:
    missing = readiness if isinstance(readiness, servers.Missing) else None
    return ServerRow(
        name=each.name,
        title=each.title,
        language=each.language,
        io_model=each.io_model,
        workloads=each.workloads,
        about=each.about,
        libraries=each.libraries,
        settings={name: part.model_dump() for name, part in each.settings.items()},
        versions=versions,
        ready=missing is None,
        reason=missing.reason if missing else None,
        remedy=missing.remedy if missing else None,
    )


def _workload(each: Workload) -> WorkloadRow:
    return WorkloadRow(
        name=each.name,
        title=each.title,
        about=each.about,
        request=f"{each.request.method} {each.request.path}",
        parameters={name: part.model_dump() for name, part in each.parameters.items()},
        status=each.answer.status,
        content_type=each.answer.content_type,
        body_bytes=each.answer_to({}).length,
    )


def _study(name: str, each: Study | CrumpleError) -> StudyRow | StudyFault:
    if isinstance(each, CrumpleError):
        return StudyFault(name=name, error=str(each))
    return StudyRow(
        name=name,
        title=each.title,
        question=each.question,
        experiments=tuple(each.experiments),
        claims=tuple(claim.id for claim in each.claims),
        scales=tuple(sorted({scale for one in each.experiments.values() for scale in one.scales})),
    )


def _counts(each: Study | CrumpleError) -> str:
    if isinstance(each, CrumpleError):
        return "cannot be read"
    return f"{len(each.experiments)} experiments, {len(each.claims)} claims"


def _first(versions: dict[str, str]) -> str:
    return next((f"{name} {version}" for name, version in versions.items()), "–")


def _ready(readiness: servers.Installed | servers.Missing) -> Text:
    if isinstance(readiness, servers.Missing):
        return Text(f"no: {readiness.reason}; {readiness.remedy}", style="yellow")
    return Text("yes", style="green")


def list_costs(as_json: bool) -> int:
    """Measure and list all costs, on the last usable core, which the system uses least."""
    loaded = engine.load(Project.here().root)
    with alone.beside(output.say_disturbed):
        measured = ceiling.costs(loaded, usable_cores()[-1])
    if as_json:
        output.models(measured)
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
