"""Whether the names a study uses exist: servers, workloads, parameters, experiments, metrics.

Works on the tables as written, so that wrong names are reported with whatever else is wrong. Starts nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crumple.errors import NotFound, Problem, UsageError
from crumple.server import variant
from crumple.server.variant import Settings
from crumple.study import claim_names
from crumple.toml_file import did_you_mean


@dataclass(frozen=True)
class Known:
    """`servers`: name → workloads it answers; `workloads`: name → parameters; `metrics`: names.

    `defaults`: server → its settings with their defaults; a server that is not there has none.
    """

    servers: Mapping[str, Collection[str]]
    workloads: Mapping[str, Collection[str]]
    metrics: Collection[str]
    defaults: Mapping[str, Settings] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Settings]:
        """The settings of every server, by its name."""
        return {name: self.defaults.get(name, {}) for name in self.servers}


def unknown_names(written: dict[str, Any], known: Known, file: Path) -> list[Problem]:
    """Every name in the tables that stands for nothing; parts of the wrong type are left to the types."""
    experiments = _table(written.get("experiments"))
    problems = [
        problem
        for name, table in experiments.items()
        for problem in _in_experiment(f"experiments.{name}", _table(table), known, file)
    ]
    seen: set[str] = set()
    for index, claim in enumerate(_list(written.get("claims"))):
        claim = _table(claim)
        written_id = claim.get("id")
        claim_id = written_id if isinstance(written_id, str) else str(index)
        if claim_id in seen:
            problems.append(
                Problem(file, f"claims.{claim_id}", "a second claim of that id", "give it one of its own")
            )
        seen.add(claim_id)
        problems += claim_names.unknown(f"claims.{claim_id}", claim, experiments, known.metrics, file)
    return problems


def _in_experiment(key: str, table: dict[str, Any], known: Known, file: Path) -> Iterator[Problem]:
    servers = _strings(table.get("servers"))
    workload, canary = table.get("workload"), _table(table.get("canary"))
    beside = canary.get("workload")
    for where, name in ((f"{key}.workload", workload), (f"{key}.canary.workload", beside)):
        if isinstance(name, str) and name not in known.workloads:
            yield _unknown(file, where, "workload", name, known.workloads)
    wanted = {name for name in (workload, beside) if isinstance(name, str) and name in known.workloads}
    for server in servers:
        yield from _in_server(f"{key}.servers", server, sorted(wanted), known, file)
    twin = table.get("twin")
    if isinstance(twin, str) and twin not in servers:
        yield _unknown(file, f"{key}.twin", "server of this experiment", twin, servers)
    asked = [(f"{key}.parameters", workload, table), (f"{key}.canary.parameters", beside, canary)]
    for scale, meant in _table(table.get("scales")).items():
        names = [*servers, *(variant.server_of(server) for server in servers)]
        for of in ("warm_up_of", "blocks_of"):
            for server in _table(_table(meant).get(of)):
                if server not in names:
                    where = f"{key}.scales.{scale}.{of}.{server}"
                    yield _unknown(file, where, "server of this experiment", server, servers)
        asked.append((f"{key}.scales.{scale}.parameters", workload, _table(meant)))
    for where, name, holder in asked:
        if isinstance(name, str) and name in wanted:
            yield from _in_parameters(where, name, holder, known, file)


def _in_server(
    key: str, server: str, workloads: Collection[str], known: Known, file: Path
) -> Iterator[Problem]:
    try:
        name = variant.parse(server, known.settings).server
    except NotFound:
        yield _unknown(file, key, "server", variant.server_of(server), known.servers)
        return
    except UsageError as error:
        yield Problem(file, key, error.message, error.remedy)
        return
    for workload in workloads:
        if workload not in known.servers[name]:
            remedy = f"choose among {', '.join(sorted(known.servers[name]))}, or add a handler to the server"
            yield Problem(file, key, f"{name} does not answer workload {workload}", remedy)


def _in_parameters(
    key: str, workload: str, holder: dict[str, Any], known: Known, file: Path
) -> Iterator[Problem]:
    options = known.workloads[workload]
    for parameter in _table(holder.get("parameters")):
        if parameter not in options:
            yield _unknown(file, f"{key}.{parameter}", f"parameter of {workload}", parameter, options)


def _unknown(file: Path, key: str, kind: str, name: str, known: Collection[str]) -> Problem:
    return Problem(file, key, f'no {kind} is called "{name}"', did_you_mean(name, known))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]
