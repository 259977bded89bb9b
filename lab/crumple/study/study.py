"""Reads a study from TOML into frozen types, or reports all its problems at once, each with key and remedy.

`names` checks the names that must exist elsewhere; `run.run_plan` decides order and repetition of trials.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from crumple import contract, parsing
from crumple.contract_base import Frozen
from crumple.errors import FileInvalid, NotFound, Problem, UsageError
from crumple.machine.capacity import Placement
from crumple.study.claim import Claim, ScaleName, Text, impossible
from crumple.study.names import Known, unknown_names
from crumple.study.study_shape import ClosedShape, OpenShape, PerSecond, RampShape, Seconds, Shape, merged
from crumple.subject import server_toml

Connection = Literal["keep-alive", "per-request"]
Said = TypeVar("Said")

# In a shorter slice the edges, where users start and stop, are too large a part.
SLICE_MIN_S = 0.2
# A trial's id begins with its experiment's name and becomes a file name, with "/" written as "__".
_NAME = re.compile(r"(?=.{1,64}$)[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")


def _name_of_experiment(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise impossible(
            "is no name for an experiment",
            "write up to 64 letters (a to z) and digits, single - or _ between them",
        )
    return name


def _value_of_parameter(value: Any) -> Any:
    # Checked here, because pydantic reports a wrong value of a union once for each of its types.
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise impossible("is no value of a parameter", "write a number, or text in quotes")
    return value


Parameters = dict[str, Annotated[int | float | str, BeforeValidator(_value_of_parameter)]]


class Article(Frozen):
    """The publication a study re-checks. Dates as printed there, ISO 8601."""

    title: Text
    author: Text
    published: Text
    updated: str | None = None


class Prose(Frozen):
    """What the article did and what is different here, in Markdown. What a run finds is in its verdicts."""

    did: str = ""
    differs: str = ""


class Until(Frozen):
    """When a phase ends, as written: `{duration_s=…}` or `{requests=…, within_s=…}`."""

    duration_s: Seconds | None = None
    requests: Annotated[int, Field(ge=1)] | None = None
    within_s: Seconds | None = None

    @model_validator(mode="after")
    def _one_way_to_end(self) -> "Until":
        if (self.duration_s is None) == (self.requests is None):
            raise impossible("needs either duration_s or requests", "write one of them")
        if self.requests is not None and self.within_s is None:
            raise impossible("requests without within_s could run forever", "add within_s = 120")
        if self.duration_s is not None and self.within_s is not None:
            raise impossible("within_s belongs to requests", "remove within_s")
        return self

    def stop(self) -> contract.AfterRequests | contract.AfterDuration:
        """The same in the form that the engine takes."""
        if self.requests is not None and self.within_s is not None:
            return contract.AfterRequests(requests=self.requests, within_s=self.within_s)
        assert self.duration_s is not None
        return contract.AfterDuration(duration_s=self.duration_s)

    @property
    def at_most_s(self) -> float:
        """The longest it can take, in seconds."""
        return self.duration_s or self.within_s or 0.0


class WarmUp(Until):
    """Load before the measured window; `connections` None: as many as the shape has.

    `pauses`: whether users pause as the shape says; without pauses a runtime warms up sooner.
    """

    connections: Annotated[int, Field(ge=1)] | None = None
    pauses: bool = True


class Timeouts(Frozen):
    """When the engine gives up on a connection and on a request."""

    connect_s: Seconds = 5.0
    request_s: Seconds = 20.0


class Canary(Frozen):
    """A light request at even gaps beside the load, with its own connections and `parameters`."""

    workload: str
    parameters: Parameters = Field(default_factory=dict)
    rate_per_s: Annotated[PerSecond, Field(le=1_000)] = 10.0


class Scale(Frozen):
    """How often and how long to measure: `blocks` repetitions, each a warm-up and a measured window.

    `warm_up_of`: server → a warm-up of its own, for runtimes that compile while they run. `blocks_of`: server
    → the number of blocks, from the first on, in which it takes part, for servers beside the main question.
    `slices`: the number of turns in which each start is measured; meanwhile its block's others are suspended.
    `least_blocks`: claims are judged after so many blocks and after each further one, up to `blocks`; without
    it all blocks are run and claims are judged once.
    `twin`: whether each block has a twin, which takes the time of one more trial.
    `shape`, `parameters` and `servers` replace the experiment's; `note` says what that leaves out.
    """

    blocks: Annotated[int, Field(ge=1, le=1_000)]
    least_blocks: Annotated[int, Field(ge=2)] | None = None
    blocks_of: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    warm_up: WarmUp | None = None
    warm_up_of: dict[str, WarmUp] = Field(default_factory=dict)
    stop: Until
    slices: Annotated[int, Field(ge=1, le=100)] = 1
    twin: bool = True
    shape: Shape | None = None
    parameters: Parameters = Field(default_factory=dict)
    servers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    note: str = ""

    def warm_up_for(self, server: str) -> WarmUp | None:
        """The warm-up of that server's trials; a server's entry applies to its variants, too."""
        return _said_of(server, self.warm_up_of, self.warm_up)

    def blocks_for(self, server: str) -> int:
        """In how many blocks that server has a trial; a server's entry applies to its variants, too."""
        return min(self.blocks, _said_of(server, self.blocks_of, self.blocks))

    @property
    def warm_ups(self) -> tuple[WarmUp, ...]:
        """Every warm-up of this scale."""
        return (*([self.warm_up] if self.warm_up else []), *self.warm_up_of.values())


def _said_of(server: str, table: Mapping[str, Said], otherwise: Said) -> Said:
    return table.get(server, table.get(server_toml.server_of(server), otherwise))


class Experiment(Frozen):
    """Servers × one workload × one load shape, repeated. `threads`: the engine's.

    `server_cores`: how many cores a server gets; None: all that the placement leaves to servers.
    """

    title: Text
    about: str = ""
    servers: Annotated[tuple[str, ...], Field(min_length=1)]
    twin: str
    workload: str
    parameters: Parameters = Field(default_factory=dict)
    placement: Placement = "separate"
    server_cores: Annotated[int, Field(ge=1, le=1024)] | None = None
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    connection: Connection = "keep-alive"
    shape: Shape
    timeouts: Timeouts = Timeouts()
    canary: Canary | None = None
    scales: dict[ScaleName, Scale]

    @field_validator("servers")
    @classmethod
    def _each_server_once(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({name for name in servers if servers.count(name) > 1})
        if twice:
            raise impossible(
                f"lists {', '.join(twice)} twice", "the A/A control is `twin`; list each server once"
            )
        return servers

    @model_validator(mode="after")
    def _threads_have_connections(self) -> "Experiment":
        for shape in (self.shape, *(scale.shape for scale in self.scales.values() if scale.shape)):
            if self.threads > shape.most:
                raise impossible(
                    f"{self.threads} threads for {shape.most} connections leave some without one",
                    f"set threads to {shape.most} or fewer",
                )
        return self

    @model_validator(mode="after")
    def _scales_fit_the_shape(self) -> "Experiment":
        for name, scale in self.scales.items():
            _check_servers(name, scale, self)
            _check_blocks(name, scale, self.twin)
            _check_warm_ups(name, scale, scale.shape or self.shape)
            _check_course(name, scale.stop, scale.shape or self.shape)
            _check_slices(name, scale, self)
        return self

    def at(self, scale: ScaleName) -> "Experiment":
        """The experiment at that scale, without its other scales; unchanged if it has no such scale."""
        meant = self.scales.get(scale)
        if meant is None:
            return self
        update = {
            "shape": meant.shape or self.shape,
            "parameters": {**self.parameters, **meant.parameters},
            "servers": meant.servers or self.servers,
            # None: `names.restricted` may now leave out further servers.
            "scales": {scale: meant.model_copy(update={"servers": None})},
        }
        return self.model_copy(update=update)


def _check_servers(name: str, scale: Scale, experiment: Experiment) -> None:
    if scale.servers is None:
        return
    others = sorted(set(scale.servers) - set(experiment.servers))
    if others:
        raise impossible(
            f"scale {name} has {', '.join(others)}, which the experiment has not",
            "a scale may only leave out servers; list them in the experiment",
        )
    if scale.twin and experiment.twin not in scale.servers:
        raise impossible(
            f"scale {name} leaves out {experiment.twin}, which is the twin", "list it, or choose another twin"
        )


def _check_blocks(name: str, scale: Scale, twin: str) -> None:
    if scale.least_blocks is not None and scale.least_blocks > scale.blocks:
        raise impossible(
            f"scale {name} judges after {scale.least_blocks} blocks, and has {scale.blocks} at most",
            f"set least_blocks to {scale.blocks} or fewer, or leave it out",
        )
    if scale.twin and scale.blocks_for(twin) < scale.blocks:
        raise impossible(
            f"scale {name} has {twin}, the twin, in {scale.blocks_for(twin)} of {scale.blocks} blocks",
            "leave it out of blocks_of, or choose another twin",
        )


def _check_warm_ups(name: str, scale: Scale, shape: Shape) -> None:
    for warm_up in scale.warm_ups:
        by_users = warm_up.requests or warm_up.connections or not warm_up.pauses
        if isinstance(shape, OpenShape) and by_users:
            raise impossible(
                f"scale {name} warms an open shape up by requests, on so many connections or without pauses",
                "write warm_up = { duration_s = … }",
            )
        if (warm_up.connections or 0) > shape.most:
            raise impossible(
                f"scale {name} warms up with {warm_up.connections} of {shape.most} connections",
                f"set warm_up.connections to {shape.most} or fewer, or leave it out",
            )


def _check_slices(name: str, scale: Scale, experiment: Experiment) -> None:
    """Check that only a closed load without pauses and canary, ended by time, is sliced.

    A load that changes over time, that pauses, or that has a canary must be measured without interruption.
    """
    if scale.slices == 1:
        return
    shape = scale.shape or experiment.shape
    if not isinstance(shape, ClosedShape) or shape.pause_ms or experiment.canary:
        raise impossible(
            f"scale {name} slices a load that is not a closed shape without pauses and without a canary",
            "leave slices out",
        )
    if scale.stop.duration_s is None:
        raise impossible(
            f"scale {name} slices a load that its requests end", "write stop = { duration_s = … }"
        )
    if scale.stop.duration_s < scale.slices * SLICE_MIN_S * (1 - 1e-9):
        raise impossible(
            f"scale {name} has slices of {scale.stop.duration_s / scale.slices:.2g} s, and "
            f"{SLICE_MIN_S:g} s is the least",
            f"write slices = {max(1, int(scale.stop.duration_s / SLICE_MIN_S))}",
        )


def _check_course(name: str, stop: Until, shape: Shape) -> None:
    """Check that a shape that changes over time is measured to its end."""
    if isinstance(shape, ClosedShape):
        return
    if isinstance(shape, OpenShape) and len(shape.steps_per_s) < 2 and shape.to_per_s is None:
        return
    if stop.duration_s is None:
        raise impossible(
            f"scale {name} would end the shape by requests, before its course is over",
            "write stop = { duration_s = … }",
        )
    if isinstance(shape, RampShape) and (shape.over_s or 0.0) > stop.duration_s:
        raise impossible(
            f"scale {name} measures {stop.duration_s:g} s of a ramp that takes {shape.over_s:g} s",
            f"write stop = {{ duration_s = {shape.over_s:g} }}, or give the scale a shape = {{ over_s = … }}",
        )


class Study(Frozen):
    """One question with its experiments, claims and prose. `name`: its file's, without .toml."""

    name: str
    title: Text
    question: Text
    article: Article | None = None
    prose: Prose = Prose()
    experiments: Annotated[
        dict[Annotated[str, AfterValidator(_name_of_experiment)], Experiment], Field(min_length=1)
    ]
    claims: tuple[Claim, ...] = ()

    def has(self, scale: ScaleName) -> bool:
        """Whether any of its experiments has that scale."""
        return any(scale in experiment.scales for experiment in self.experiments.values())

    def at(self, scale: ScaleName) -> "Study":
        """The study at that scale, with the experiments that have it. Raises UsageError if there are none."""
        experiments = {
            name: experiment.at(scale)
            for name, experiment in self.experiments.items()
            if scale in experiment.scales
        }
        if not experiments:
            scales = dict.fromkeys(name for each in self.experiments.values() for name in each.scales)
            remedy = f"choose among {', '.join(scales)}"
            raise UsageError(f"{self.name}: no experiment has a scale {scale}", remedy)
        return self.model_copy(update={"experiments": experiments})

    @property
    def workloads(self) -> tuple[str, ...]:
        """Every workload of the study, those of canaries included, each once."""
        of_canaries = (each.canary.workload for each in self.experiments.values() if each.canary)
        return tuple(dict.fromkeys([*(each.workload for each in self.experiments.values()), *of_canaries]))

    @property
    def servers(self) -> tuple[str, ...]:
        """The labels of all servers of all experiments, in order, each once."""
        labels = (label for experiment in self.experiments.values() for label in experiment.servers)
        return tuple(dict.fromkeys(labels))


def find(root: Path) -> dict[str, Path]:
    """Name → file, for all studies of the project."""
    return {path.stem: path for path in sorted((root / "studies").glob("*.toml"))}


def load(name: str, root: Path, known: Known) -> Study:
    """The study called `name`, or the one in the file `name` if that ends in .toml.

    Raises NotFound, FileInvalid.
    """
    path = Path(name) if name.endswith(".toml") else find(root).get(name)
    if path is None:
        raise NotFound(f'no study is called "{name}"', parsing.did_you_mean(name, find(root)))
    return parse(parsing.read_toml(path), path, known)


def parse(written: dict[str, object], file: Path, known: Known) -> Study:
    """The study that the tables describe. Raises FileInvalid with all their problems."""
    problems: list[Problem] = []
    if "name" in written:
        problems.append(Problem(file, "name", "a study goes by its file's name", "remove it"))
    written = server_toml.canonical_names(_with_merged_shapes(written), known.settings)
    study, invalid = parsing.meant(Study, {**written, "name": file.stem}, file)
    problems += [*invalid, *unknown_names(written, known, file)]
    if problems or study is None:
        raise FileInvalid(problems)
    return study


def _with_merged_shapes(written: dict[str, Any]) -> dict[str, Any]:
    """The tables with each scale's shape merged into the experiment's; values of the wrong type unchanged."""
    experiments = written.get("experiments")
    if not isinstance(experiments, dict):
        return written
    return {**written, "experiments": {name: _merged_in(table) for name, table in experiments.items()}}


def _merged_in(table: Any) -> Any:
    if not isinstance(table, dict) or not isinstance(table.get("scales"), dict):
        return table
    scales = {
        name: {**scale, "shape": merged(table.get("shape"), scale["shape"])}
        if isinstance(scale, dict) and "shape" in scale
        else scale
        for name, scale in table["scales"].items()
    }
    return {**table, "scales": scales}
