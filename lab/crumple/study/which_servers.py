"""A copy of a study with fewer of its servers, or with one of the user's own.

Its claims stay as they are, so that the report names those that can no longer be tested.
"""

from collections.abc import Collection, Mapping, Sequence

from crumple.errors import UsageError
from crumple.parsing import did_you_mean
from crumple.study.study import Experiment, Study
from crumple.subject import server_toml
from crumple.subject.server_toml import Settings


def restrict(study: Study, names: Collection[str], known: Mapping[str, Settings]) -> Study:
    """The study with these servers only; an experiment without any of them is left out. Raises UsageError.

    A server's name stands for it and all its variants in the study. A variant that the study does not list
    replaces its server wherever that is listed; if the server is named, too, both run. Every experiment keeps
    a twin as its control: if the twin's server is left out, its variant gets the twin, or else the first
    server that remains.
    """
    labels = [_label(study, name, known) for name in names]
    experiments = {}
    for name, experiment in study.experiments.items():
        kept = _kept(experiment, labels)
        if kept:
            update = {"servers": kept, "twin": _twin(experiment, kept)}
            experiments[name] = experiment.model_copy(update=update)
    return study.model_copy(update={"experiments": experiments})


def with_twins_that_run(study: Study, missing: Collection[str]) -> Study:
    """The study with each twin given to a server that can run, as a skipped twin is no control.

    `missing`: the names of servers that cannot run here. They stay in the study: their trials say why. An
    experiment without any server that can run keeps its twin.
    """
    experiments = {}
    for name, experiment in study.experiments.items():
        can_run = [label for label in experiment.servers if server_toml.server_of(label) not in missing]
        twin = _twin(experiment, can_run) if can_run else experiment.twin
        experiments[name] = experiment.model_copy(update={"twin": twin})
    return study.model_copy(update={"experiments": experiments})


def add_server(study: Study, label: str, workloads: Collection[str]) -> Study:
    """The study with `label` added to each experiment whose workloads it answers. Raises UsageError."""
    if label in study.servers:
        raise UsageError(f"study {study.name} has a server {label} already", "give the folder another name")
    experiments = {
        name: experiment.model_copy(update={"servers": (*experiment.servers, label)})
        if workloads_of(experiment) <= set(workloads)
        else experiment
        for name, experiment in study.experiments.items()
    }
    if experiments == study.experiments:
        wanted = sorted(set().union(*(workloads_of(each) for each in experiments.values())))
        raise UsageError(
            f"{label} answers {', '.join(sorted(workloads)) or 'no workload'}, "
            f"study {study.name} asks {', '.join(wanted)}",
            "add a handler for it and name it under workloads in its server.toml",
        )
    return study.model_copy(update={"experiments": experiments})


def workloads_of(experiment: Experiment) -> set[str]:
    """The workloads that a server must answer to be in the experiment: the load's and the canary's."""
    return {experiment.workload, *([experiment.canary.workload] if experiment.canary else [])}


def _label(study: Study, name: str, known: Mapping[str, Settings]) -> str:
    if name in study.servers:
        return name
    bases = {server_toml.server_of(label) for label in study.servers}
    base = server_toml.server_of(name).strip()
    if base not in bases:
        if base in known:
            # It may be one of the study's that this scale leaves out.
            here = f"study {study.name} has {', '.join(sorted(bases))}"
            raise UsageError(f"{base} is not in it: {here}", "name one of these, or a larger --scale")
        raise UsageError(f"study {study.name} has no server {base}", did_you_mean(base, bases))
    return str(server_toml.parse(name, known))


def _kept(experiment: Experiment, labels: Collection[str]) -> tuple[str, ...]:
    """The labels in the experiment's order; a variant that it does not list follows its server's place."""
    kept: list[str] = []
    for listed in experiment.servers:
        base = server_toml.server_of(listed)
        if listed in labels or base in labels:
            kept.append(listed)
        kept += [
            label
            for label in labels
            if server_toml.server_of(label) == base
            and server_toml.is_variant(label)
            and label not in experiment.servers
            and label not in kept
        ]
    return tuple(kept)


def _twin(experiment: Experiment, kept: Sequence[str]) -> str:
    if experiment.twin in kept:
        return experiment.twin
    base = server_toml.server_of(experiment.twin)
    variants = [label for label in kept if server_toml.server_of(label) == base]
    # The twin runs in every block, and is compared with its server only in the blocks that both have.
    return max(variants or kept, key=lambda label: _blocks(experiment, label))


def _blocks(experiment: Experiment, label: str) -> int:
    return min((scale.blocks_for(label) for scale in experiment.scales.values()), default=0)
