"""crumple verify: every answer of every server against the contract."""

from typing import Literal, TypedDict

from rich.text import Text

from crumple import machine, servers, verify
from crumple.commands import output
from crumple.commands.project_files import Project
from crumple.errors import CrumpleError
from crumple.server import ServerDescription
from crumple.workload import Workload

State = Literal["right", "wrong", "skipped"]
COLOURS = {"right": "green", "wrong": "red", "skipped": "yellow"}


class Finding(TypedDict):
    """One server and workload. `reason`: empty where the answer is right."""

    server: str
    workload: str
    state: State
    reason: str


def check(names: list[str], as_json: bool) -> int:
    """1 if an answer is wrong or a server does not start; one that is not ready is skipped, with reason."""
    here = Project.here()
    findings: list[Finding] = []
    for description in here.chosen(names):
        findings += _of_one(description, here.workloads)
    if as_json:
        output.as_json(findings)
    else:
        rows = [
            (each["server"], each["workload"], Text(each["state"], COLOURS[each["state"]]), each["reason"])
            for each in findings
        ]
        output.as_table(("server", "workload", "answer", ""), rows)
    return 1 if any(each["state"] == "wrong" for each in findings) else 0


def _of_one(description: ServerDescription, workloads: dict[str, Workload]) -> list[Finding]:
    ready = servers.readiness(description)
    if isinstance(ready, servers.Missing):
        return [_finding(description, "–", "skipped", f"{ready.reason}; {ready.remedy}")]
    output.say(f"{description.name} …")
    try:
        built = servers.build(description)
        cores = machine.cores_for("shared").server
        with servers.start(built, cores=cores, settings={}) as running:
            return [_asked(description, running, name, workloads) for name in description.workloads]
    except CrumpleError as error:
        return [_finding(description, "–", "wrong", str(error))]


def _asked(
    description: ServerDescription, running: servers.Running, name: str, workloads: dict[str, Workload]
) -> Finding:
    if name not in workloads:
        return _finding(description, name, "wrong", f"contract/workloads has no {name}.toml")
    try:
        verify.answers(running.address, workloads[name], {})
    except CrumpleError as error:
        return _finding(description, name, "wrong", str(error))
    return _finding(description, name, "right", "")


def _finding(description: ServerDescription, workload: str, state: State, reason: str) -> Finding:
    return Finding(server=description.name, workload=workload, state=state, reason=reason)
