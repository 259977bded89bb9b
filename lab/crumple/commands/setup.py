"""crumple setup: shows what servers need and installs it. crumple new-server: writes a server's folder."""

import os
from dataclasses import asdict
from pathlib import Path

from crumple.commands import output
from crumple.commands.project_files import Project, chosen
from crumple.interrupt import interruptible
from crumple.results.printed_documents import NewServer, PreparedRow
from crumple.subject import installing, server_toml, servers


def make_ready(names: list[str], yes: bool, as_json: bool) -> int:
    """Install what the named servers need (all if none is named); return 1 if one is not ready afterwards."""
    here = Project.here()
    described = [one.description for one in chosen(here, names)]
    output.end_leftovers()
    with interruptible():
        prepared = installing.prepare(described, here.workloads, yes=yes, say=output.say, ask=output.ask)
    if as_json:
        output.models([PreparedRow(**asdict(each), ready=each.ready) for each in prepared])
    return 0 if all(each.ready for each in prepared) else 1


PROGRAM = "Python"


def write_server(name: str, language: str, as_json: bool) -> int:
    """Write the folder `name`, in the current folder or where its path says."""
    folder = Path(name)
    taken = servers.names(Project.here().root)
    files = server_toml.write_new(Path(os.path.normpath(folder)), language, taken)
    if as_json:
        output.models(NewServer(folder=str(folder), files=tuple(map(str, files))))
        return 0
    shown = str(folder) if folder.is_absolute() or str(folder).startswith(".") else f"./{folder}"
    for file in files:
        output.say(f"wrote {file}")
    if language != PROGRAM:
        output.say(f"the program is written in {PROGRAM}; replace it with yours")
    output.say(f"next: crumple verify {shown}")
    output.say(f"      crumple run todo-json --server {shown}")
    return 0
