"""Checks that the names in a study exist.

The check works on the tables as written, so that wrong names are reported together with all other problems.
Values of the wrong type are skipped here; the types reject them.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crumple.errors import NotFound, Problem, UsageError
from crumple.machine import ceiling
from crumple.parsing import did_you_mean, entry
from crumple.record.metrics import METRICS
from crumple.study.claim import split_place
from crumple.subject import server_toml
from crumple.subject.server_toml import Settings

Table = Mapping[str, Any]

# Metrics that are read from a server's memory pages, which it may share with other servers.
OF_PAGES = ("memory", "memory_per_connection")


def unknown(
    key: str, claim: Table, experiments: Table, metrics: Collection[str], file: Path
) -> Iterator[Problem]:
    """A problem for each name in the claim that does not exist in these experiments."""
    metric = claim.get("metric")
    if isinstance(metric, str) and metric not in metrics:
        yield _unknown(file, f"{key}.metric", "metric", metric, metrics)
    elif isinstance(metric, str) and ("users" in claim or claim.get("kind") in ("flatness", "growth")):
        yield from _along(key, metric, file)
    cost = claim.get("cost")
    if isinstance(cost, str) and cost not in ceiling.COSTS:
        yield _unknown(file, f"{key}.cost", "cost", cost, ceiling.COSTS)
    for where, name in _experiments(key, claim):
        if name not in experiments:
            yield _unknown(file, where, "experiment", name, experiments)
    own = [name for _, name in _experiments(key, claim) if name in experiments]
    for where, name in _servers(key, claim):
        experiment, server = split_place(name)
        if experiment is not None and experiment not in experiments:
            yield _unknown(file, where, "experiment", experiment, experiments)
            continue
        for each in own if experiment is None else [experiment]:
            there = _strings(_table(experiments[each]).get("servers"))
            if server not in there:
                yield _unknown(file, where, f"server of experiment {each}", server, there)
    yield from _fitting(key, claim, experiments, file)
    yield from _in_slices(key, claim, experiments, file)
    yield from _in_its_unit(key, claim, file)


def _in_its_unit(key: str, claim: Table, file: Path) -> Iterator[Problem]:
    """Reject units for metrics in µs: a quantity with a unit of time is converted to ns."""
    metric = METRICS.get(str(claim.get("metric")))
    if metric is None or metric.unit != "µs":
        return
    for quantity_key in ("published", "expected", "above", "below"):
        written = claim.get(quantity_key)
        if isinstance(written, str) and not written.rstrip().endswith(tuple("0123456789.")):
            remedy = "write the number of µs, without quotes"
            yield Problem(
                file, f"{key}.{quantity_key}", f"{claim['metric']} is in µs, and takes no unit", remedy
            )


def _along(key: str, metric: str, file: Path) -> Iterator[Problem]:
    if metric in METRICS and METRICS[metric].along is None:
        known = [name for name, each in METRICS.items() if each.along]
        remedy = f"choose among {', '.join(known)}"
        yield Problem(file, f"{key}.metric", f"{metric} is not known along a ramp", remedy)


def _fitting(key: str, claim: Table, experiments: Table, file: Path) -> Iterator[Problem]:
    """Check that a claim about rising load names a ramp, and one about the canary a load with a canary."""
    kind, name = claim.get("kind"), claim.get("experiment")
    experiment = _table(experiments.get(name)) if isinstance(name, str) else {}
    if not experiment:
        return
    along = kind in ("flatness", "knee", "growth") or "users" in claim or claim.get("metric") == "knee"
    if along and _table(experiment.get("shape")).get("kind") != "ramp":
        remedy = 'name an experiment whose shape has kind = "ramp"'
        yield Problem(file, f"{key}.experiment", f"experiment {name} is no ramp", remedy)
    of_canary = kind == "stall" or str(claim.get("metric")).startswith("canary_")
    if of_canary and not _table(experiment.get("canary")):
        remedy = f"add [experiments.{name}.canary]"
        yield Problem(file, f"{key}.experiment", f"experiment {name} has no canary", remedy)


def _in_slices(key: str, claim: Table, experiments: Table, file: Path) -> Iterator[Problem]:
    """Reject claims on memory in sliced experiments: servers that are resident together share pages."""
    metric = claim.get("metric")
    if metric not in OF_PAGES:
        return
    # "experiment:server" names an experiment as well.
    named = [name for _, name in _experiments(key, claim)]
    named += [split_place(name)[0] or "" for _, name in _servers(key, claim)]
    for name in dict.fromkeys(name for name in named if name in experiments):
        scales = _table(_table(experiments[name]).get("scales"))
        asked = _strings(claim.get("scales")) or list(scales)
        sliced = [scale for scale in asked if _is_sliced(_table(scales.get(scale)))]
        if sliced:
            yield Problem(
                file,
                f"{key}.metric",
                f"{metric} is not known where experiment {name} is sliced, at {', '.join(sliced)}",
                f"leave slices out there, or write scales without {', '.join(sliced)}",
            )


def _is_sliced(scale: Table) -> bool:
    slices = scale.get("slices", 1)
    return isinstance(slices, int) and slices > 1


def _experiments(key: str, claim: Table) -> list[tuple[str, str]]:
    single = [(f"{key}.{field}", claim.get(field)) for field in ("experiment", "against", "alone")]
    several = [(f"{key}.experiments", name) for name in _strings(claim.get("experiments"))]
    return [(where, name) for where, name in (*single, *several) if isinstance(name, str)]


def _servers(key: str, claim: Table) -> list[tuple[str, str]]:
    named = [(f"{key}.tiers", name) for tier in _list(claim.get("tiers")) for name in _strings(tier)]
    named += [(f"{key}.servers", name) for name in _strings(claim.get("servers"))]
    for index, pair in enumerate(_list(claim.get("pairs"))):
        ends = ((f"{key}.pairs.{entry(index)}.{end}", _table(pair).get(end)) for end in ("of", "to"))
        named += [(where, name) for where, name in ends if isinstance(name, str)]
    return named


def _table(value: Any) -> Table:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]


@dataclass(frozen=True)
class Known:
    """`servers`: name → workloads it answers; `workloads`: name → parameters; `metrics`: names.

    `defaults`: server → its settings with their defaults; a server that it lacks has no settings.
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
    """A problem for each name in the tables that does not exist; values of the wrong type are skipped."""
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
        claim_id = written_id if isinstance(written_id, str) else entry(index)
        if claim_id in seen:
            problems.append(
                Problem(file, f"claims.{claim_id}", "a second claim of that id", "give it one of its own")
            )
        seen.add(claim_id)
        problems += unknown(f"claims.{claim_id}", claim, experiments, known.metrics, file)
    answers = _strings(written.get("answers"))
    for index, claim_id in enumerate(answers):
        where = f"answers.{entry(index)}"
        if claim_id not in seen:
            problems.append(_unknown(file, where, "claim", claim_id, seen))
        elif claim_id in answers[:index]:
            problems.append(Problem(file, where, f"{claim_id} a second time", "remove it"))
    return problems


def _in_experiment(key: str, table: Mapping[str, Any], known: Known, file: Path) -> Iterator[Problem]:
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
        names = [*servers, *(server_toml.server_of(server) for server in servers)]
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
        name = server_toml.parse(server, known.settings).server
    except NotFound:
        yield _unknown(file, key, "server", server_toml.server_of(server), known.servers)
        return
    except UsageError as error:
        yield Problem(file, key, error.message, error.remedy)
        return
    for workload in workloads:
        if workload not in known.servers[name]:
            remedy = f"choose among {', '.join(sorted(known.servers[name]))}, or add a handler to the server"
            yield Problem(file, key, f"{name} does not answer workload {workload}", remedy)


def _in_parameters(
    key: str, workload: str, holder: Mapping[str, Any], known: Known, file: Path
) -> Iterator[Problem]:
    options = known.workloads[workload]
    for parameter in _table(holder.get("parameters")):
        if parameter not in options:
            yield _unknown(file, f"{key}.{parameter}", f"parameter of {workload}", parameter, options)


def _unknown(file: Path, key: str, kind: str, name: str, known: Collection[str]) -> Problem:
    return Problem(file, key, f'no {kind} is called "{name}"', did_you_mean(name, known))
