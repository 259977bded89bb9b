"""Whether the names a claim uses exist: experiments, servers in them, costs, metrics where those are known.

Works on the tables as written, beside names.py; parts of the wrong type are left to the types.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from crumple.errors import Problem
from crumple.machine import costs
from crumple.record.metrics import METRICS
from crumple.study.claim import placed
from crumple.toml_file import did_you_mean

Table = Mapping[str, Any]

# What a server holds is told by pages that it may share with others.
OF_PAGES = ("memory", "memory_per_connection")


def unknown(
    key: str, claim: Table, experiments: Table, metrics: Collection[str], file: Path
) -> Iterator[Problem]:
    """Every name in the claim that stands for nothing in these experiments."""
    metric = claim.get("metric")
    if isinstance(metric, str) and metric not in metrics:
        yield _no(file, f"{key}.metric", "metric", metric, metrics)
    elif isinstance(metric, str) and ("users" in claim or claim.get("kind") in ("flatness", "growth")):
        yield from _along(key, metric, file)
    cost = claim.get("cost")
    if isinstance(cost, str) and cost not in costs.NAMES:
        yield _no(file, f"{key}.cost", "cost", cost, costs.NAMES)
    for where, name in _experiments(key, claim):
        if name not in experiments:
            yield _no(file, where, "experiment", name, experiments)
    own = [name for _, name in _experiments(key, claim) if name in experiments]
    for where, name in _servers(key, claim):
        experiment, server = placed(name)
        if experiment is not None and experiment not in experiments:
            yield _no(file, where, "experiment", experiment, experiments)
            continue
        for each in own if experiment is None else [experiment]:
            there = _strings(_table(experiments[each]).get("servers"))
            if server not in there:
                yield _no(file, where, f"server of experiment {each}", server, there)
    yield from _fitting(key, claim, experiments, file)
    yield from _in_slices(key, claim, experiments, file)
    yield from _in_its_unit(key, claim, file)


def _in_its_unit(key: str, claim: Table, file: Path) -> Iterator[Problem]:
    """Quantities with a unit of time are meant in ns, and a few metrics are in µs."""
    metric = METRICS.get(str(claim.get("metric")))
    if metric is None or metric.unit != "µs":
        return
    for field in ("published", "expected", "above", "below"):
        written = claim.get(field)
        if isinstance(written, str) and not written.rstrip().endswith(tuple("0123456789.")):
            remedy = "write the number of µs, without quotes"
            yield Problem(file, f"{key}.{field}", f"{claim['metric']} is in µs, and takes no unit", remedy)


def _along(key: str, metric: str, file: Path) -> Iterator[Problem]:
    if metric in METRICS and METRICS[metric].along is None:
        known = [name for name, each in METRICS.items() if each.along]
        remedy = f"choose among {', '.join(known)}"
        yield Problem(file, f"{key}.metric", f"{metric} is not known along a ramp", remedy)


def _fitting(key: str, claim: Table, experiments: Table, file: Path) -> Iterator[Problem]:
    """A claim about what rises needs a ramp, one about the canary needs a canary."""
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
    """Servers that are resident together share pages, so a sliced experiment tells no memory."""
    metric = claim.get("metric")
    if metric not in OF_PAGES:
        return
    # "experiment:server" names one as well.
    named = [name for _, name in _experiments(key, claim)]
    named += [placed(name)[0] or "" for _, name in _servers(key, claim)]
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
        ends = ((f"{key}.pairs.{index}.{end}", _table(pair).get(end)) for end in ("of", "to"))
        named += [(where, name) for where, name in ends if isinstance(name, str)]
    return named


def _no(file: Path, key: str, kind: str, name: str, known: Collection[str]) -> Problem:
    return Problem(file, key, f'no {kind} is called "{name}"', did_you_mean(name, known))


def _table(value: Any) -> Table:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]
