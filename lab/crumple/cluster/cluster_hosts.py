"""The hosts of a cluster before they measure: whether each has this crumple, and in which facts they differ.

How fast their cores are is judged by what they measure (`run/report/host_rows.py`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from crumple import engine, project, release
from crumple.contract_base import Frozen
from crumple.errors import CrumpleError
from crumple.machine import alone, capacity, ceiling, facts
from crumple.run import run_file, runs
from crumple.run.run_file import Host
from crumple.subject import server_toml, servers, workload
from crumple.verdict.verdict_sentences import enumerate_parts


class FoundHost(Frozen):
    """A host as it was found."""

    name: str
    host: Host
    programs: dict[str, str]
    """Program → what tells its versions apart."""


def look(name: str, labels: Collection[str], *, costs: bool) -> FoundHost:
    """Look at this machine. `labels`: the servers of the studies; `costs`: measure what its kernel costs.

    Raises CrumpleError.
    """
    root = project.root()
    described = servers.find(root)
    machine = capacity.facts()
    if costs:
        with alone.turn(lambda: None):
            core = facts.usable_cores()[-1]
            machine |= {"costs": ceiling.cost_readings(engine.load(root), core, runs.COST_READINGS)}
    there = {label: described.get(server_toml.server_of(label)) for label in labels}
    versions = {label: servers.versions(each) for label, each in there.items() if each}
    host = Host(id=facts.host_id(), machine=machine, versions=versions)
    return FoundHost(name=name, host=host, programs=programs_here(root, labels))


def programs_here(root: Path, labels: Collection[str]) -> dict[str, str]:
    """Return program → what tells its versions apart: of crumple, its engine, and these servers."""
    own = run_file.programs("", [*workload.find(root).values()], engine.load(root))
    crumple = f"{release.VERSION} {own.lab}"
    found = {"crumple": crumple, "its engine": own.engine, "its workloads": own.workload}
    described = servers.find(root)
    for name in sorted({server_toml.server_of(each) for each in labels} & described.keys()):
        found[f"server {name}"] = servers.program(described[name])
    return found


def other_programs(name: str, there: Mapping[str, str], own: Mapping[str, str]) -> CrumpleError | None:
    """Return what to say if a host of this name has other programs than this machine; None: it has not."""
    other = [what for what, is_ in own.items() if there.get(what) != is_]
    if not other:
        return None
    message = f"{name} has another version of {enumerate_parts(other)} than this machine"
    return CrumpleError(message, "put the same checkout or wheel of crumple there")


def alike(hosts: Sequence[FoundHost]) -> Iterator[str]:
    """Yield in a line each which hosts are like the first, and in what each other one differs."""
    machines: dict[str, list[FoundHost]] = {}
    for each in hosts:
        machines.setdefault(each.host.id, []).append(each)
    for same in machines.values():
        if len(same) > 1:
            named = enumerate_parts([each.name for each in same])
            yield f"{named} are one machine, which measures one block at a time: leave all but one out"
    first, *others = [same[0] for same in machines.values()]
    apart = {each.name: each.host.apart_from(first.host) for each in others}
    like = [first.name, *(name for name, differs in apart.items() if not differs)]
    if len(like) > 1:
        yield f"{enumerate_parts(like)} are alike, as far as facts and versions tell"
    for name, differs in apart.items():
        if differs:
            yield f"{name} differs from {first.name}: {', '.join(differs)}"
