"""Reads a study from TOML into frozen types, or reports all its problems at once, each with key and remedy.

`names` checks the names that must exist elsewhere; `run.run_plan` decides order and repetition of trials.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from crumple import parsing
from crumple.contract_base import Frozen
from crumple.errors import FileInvalid, NotFound, Problem, UsageError
from crumple.machine.capacity import Placement
from crumple.study.claim import Claim, ScaleName, Text, impossible
from crumple.study.names import Known, unknown_names
from crumple.study.study_load import (
    ClosedShape,
    Parameters,
    PerSecond,
    Scale,
    Seconds,
    Shape,
    check_scale,
    merged,
)
from crumple.subject import server_toml

Connection = Literal["keep-alive", "per-request"]

# A trial's id begins with its experiment's name and becomes a file name, with "/" written as "__".
_NAME = re.compile(r"(?=.{1,64}$)[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")


def _name_of_experiment(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise impossible(
            "is no name for an experiment",
            "write up to 64 letters (a to z) and digits, single - or _ between them",
        )
    return name


class Article(Frozen):
    """The publication a study re-checks. Dates as printed there, ISO 8601."""

    title: Text
    author: Text
    published: Text
    updated: str | None = None


class StudyProse(Frozen):
    """What the article did and what is different here, in Markdown. What a run finds is in its verdicts."""

    did: str = ""
    differs: str = ""


class Timeouts(Frozen):
    """When the engine gives up on a connection and on a request."""

    connect_s: Seconds = 5.0
    request_s: Seconds = 20.0


class Canary(Frozen):
    """A light request at even gaps beside the load, with its own connections and `parameters`."""

    workload: str
    parameters: Parameters = Field(default_factory=dict)
    rate_per_s: Annotated[PerSecond, Field(le=1_000)] = 10.0


class Experiment(Frozen):
    """Servers × one workload × one load shape, repeated."""

    title: Text
    about: str = ""
    servers: Annotated[tuple[str, ...], Field(min_length=1)]
    twin: str
    workload: str
    parameters: Parameters = Field(default_factory=dict)
    placement: Placement = "separate"
    server_cores: Annotated[int, Field(ge=1, le=1024)] | None = None
    """How many cores a server gets; None: all that the placement leaves to servers."""
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    """How many threads the engine has."""
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
    def _scales_fit(self) -> "Experiment":
        for name, scale in self.scales.items():
            check_scale(name, scale, self.servers, self.twin, self.shape, self.canary is not None)
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
            # None: `which_servers.restrict` may now leave out further servers.
            "scales": {scale: meant.model_copy(update={"servers": None})},
        }
        return self.model_copy(update=update)


Waits = Annotated[tuple[Annotated[int, Field(ge=0, le=60_000)], ...], Field(min_length=2)]
Computes = Annotated[tuple[Annotated[int, Field(ge=0, le=10_000_000)], ...], Field(min_length=2)]
Crowds = Annotated[tuple[Annotated[int, Field(ge=1, le=100_000)], ...], Field(min_length=1)]


class StudyMap(Frozen):
    """A map: one experiment at many points, which a run chooses as it goes (`study.map_points`).

    The workload has the parameters `wait_ms` and `spin_us`, and the shape is closed.
    """

    experiment: Text
    """What is measured at each point, but for what the point changes."""
    wait_ms: Waits
    """The waits of its cells."""
    compute_us: Computes
    """The CPU times of its cells."""
    users: Crowds
    """The numbers of users of its cells."""
    first: Annotated[tuple[tuple[int, int, int], ...], Field(min_length=1)]
    """Points that show what each server costs: wait, CPU time, users. All servers are measured there."""
    measured_as: Experiment | None = None
    """In a run: the experiment."""


class Study(Frozen):
    """One question with its experiments, claims and prose."""

    name: str
    """The name of its file, without .toml."""
    title: Text
    question: Text
    article: Article | None = None
    prose: StudyProse = StudyProse()
    experiments: Annotated[
        dict[Annotated[str, AfterValidator(_name_of_experiment)], Experiment], Field(min_length=1)
    ]
    claims: tuple[Claim, ...] = ()
    answers: tuple[Text, ...] = ()
    """The ids of the claims that answer the question, the weightiest first; none: all of them do."""
    map: StudyMap | None = None

    @field_validator("map")
    @classmethod
    def _map_fits(cls, drawn: StudyMap | None, info: ValidationInfo) -> StudyMap | None:
        experiments = info.data.get("experiments")
        if drawn is None or drawn.measured_as is not None or experiments is None:
            return drawn
        experiment = experiments.get(drawn.experiment)
        if experiment is None or not isinstance(experiment.shape, ClosedShape):
            raise impossible(
                f"{drawn.experiment} is no experiment with a closed shape",
                f"name one of {', '.join(experiments)}",
            )
        if any(scale.stop.duration_s is None or scale.twin for scale in experiment.scales.values()):
            raise impossible(
                f"{drawn.experiment} is ended by its requests, or has a twin",
                "write stop = { duration_s = … } and twin = false",
            )
        return drawn

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
