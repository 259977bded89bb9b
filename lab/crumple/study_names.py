"""Whether the names a study uses exist: servers, workloads, parameters, experiments, metrics.

Works on the tables as written, so that wrong names are reported with whatever else is wrong. Starts nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crumple.errors import Problem
from crumple.toml_file import did_you_mean


@dataclass(frozen=True)
class Known:
    """`servers`: name → workloads it answers; `workloads`: name → parameters; `metrics`: names."""

    servers: Mapping[str, Collection[str]]
    workloads: Mapping[str, Collection[str]]
    metrics: Collection[str]


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
        claim_id = claim.get("id", str(index))
        if claim_id in seen:
            problems.append(
                Problem(file, f"claims.{claim_id}", "a second claim of that id", "give it one of its own")
            )
        seen.add(claim_id)
        problems += _in_claim(f"claims.{claim_id}", claim, experiments, known, file)
    return problems


def _in_experiment(key: str, table: dict[str, Any], known: Known, file: Path) -> Iterator[Problem]:
    servers = _strings(table.get("servers"))
    workload = table.get("workload")
    if isinstance(workload, str) and workload not in known.workloads:
        yield _unknown(file, f"{key}.workload", "workload", workload, known.workloads)
        workload = None
    for server in servers:
        if server not in known.servers:
            yield _unknown(file, f"{key}.servers", "server", server, known.servers)
        elif isinstance(workload, str) and workload not in known.servers[server]:
            remedy = (
                f"choose among {', '.join(sorted(known.servers[server]))}, or add a handler to the server"
            )
            yield Problem(file, f"{key}.servers", f"{server} does not answer workload {workload}", remedy)
    for scale, meant in _table(table.get("scales")).items():
        for server in _table(_table(meant).get("warm_up_of")):
            if server not in servers:
                where = f"{key}.scales.{scale}.warm_up_of.{server}"
                yield _unknown(file, where, "server of this experiment", server, servers)
    twin = table.get("twin")
    if isinstance(twin, str) and twin not in servers:
        yield _unknown(file, f"{key}.twin", "server of this experiment", twin, servers)
    if isinstance(workload, str):
        for parameter in _table(table.get("parameters")):
            if parameter not in known.workloads[workload]:
                options = known.workloads[workload]
                yield _unknown(
                    file, f"{key}.parameters.{parameter}", f"parameter of {workload}", parameter, options
                )


def _in_claim(
    key: str, claim: dict[str, Any], experiments: dict[str, Any], known: Known, file: Path
) -> Iterator[Problem]:
    metric = claim.get("metric")
    if isinstance(metric, str) and metric not in known.metrics:
        yield _unknown(file, f"{key}.metric", "metric", metric, known.metrics)
    experiment = claim.get("experiment")
    if not isinstance(experiment, str):
        return
    if experiment not in experiments:
        yield _unknown(file, f"{key}.experiment", "experiment", experiment, experiments)
        return
    servers = _strings(_table(experiments[experiment]).get("servers"))
    named = [(f"{key}.tiers", server) for tier in _list(claim.get("tiers")) for server in _strings(tier)]
    for index, pair in enumerate(_list(claim.get("pairs"))):
        ends = ((f"{key}.pairs.{index}.{end}", _table(pair).get(end)) for end in ("of", "to"))
        named += [(where, server) for where, server in ends if isinstance(server, str)]
    for where, server in named:
        if server not in servers:
            yield _unknown(file, where, f"server of experiment {experiment}", server, servers)


def _unknown(file: Path, key: str, kind: str, name: str, known: Collection[str]) -> Problem:
    return Problem(file, key, f'no {kind} is called "{name}"', did_you_mean(name, known))


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]
