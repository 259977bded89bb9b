"""A study as TOML → frozen types. All that is wrong is reported at once, each with key and remedy.

Types and reading only: names that must exist elsewhere are checked in `study_names`; order and repetition are
`plan`'s.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from crumple import contract, toml_file
from crumple.contract import Frozen
from crumple.errors import FileInvalid, NotFound, Problem, UsageError
from crumple.study_names import Known, unknown_names

Placement = Literal["shared", "separate"]
Connection = Literal["keep-alive", "per-request"]
ScaleName = Literal["quick", "full", "published"]
SCALES: tuple[ScaleName, ...] = ("quick", "full", "published")

Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Article(Frozen):
    """The publication a study re-checks. Dates as printed there, ISO 8601."""

    title: Text
    author: Text
    published: Text
    updated: str | None = None


class Prose(Frozen):
    """What the article did and what is different here, in Markdown."""

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
            raise _impossible("needs either duration_s or requests", "write one of them")
        if self.requests is not None and self.within_s is None:
            raise _impossible("requests without within_s could run forever", "add within_s = 120")
        if self.duration_s is not None and self.within_s is not None:
            raise _impossible("within_s belongs to requests", "remove within_s")
        return self

    def stop(self) -> contract.AfterRequests | contract.AfterDuration:
        """The same as the engine is told."""
        if self.requests is not None and self.within_s is not None:
            return contract.AfterRequests(requests=self.requests, within_s=self.within_s)
        assert self.duration_s is not None
        return contract.AfterDuration(duration_s=self.duration_s)

    @property
    def at_most_s(self) -> float:
        """The longest it can take, in seconds."""
        return self.duration_s or self.within_s or 0.0


class WarmUp(Until):
    """Load before the clock counts; `connections` None: as many as the shape has."""

    connections: Annotated[int, Field(ge=1)] | None = None


class Shape(Frozen):
    """A closed shape: `connections`, each sending again `pause_ms` after the reply."""

    kind: Literal["closed"] = "closed"
    connections: Annotated[int, Field(ge=1, le=100_000)]
    pause_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class Timeouts(Frozen):
    """When the engine gives up."""

    connect_s: Seconds = 5.0
    request_s: Seconds = 20.0


class Scale(Frozen):
    """How often and how long: `blocks` repetitions, each a warm-up and a measured window.

    `warm_up_of`: server → a warm-up of its own, for runtimes that compile while they run.
    """

    blocks: Annotated[int, Field(ge=1)]
    warm_up: WarmUp | None = None
    warm_up_of: dict[str, WarmUp] = Field(default_factory=dict)
    stop: Until

    def warm_up_for(self, server: str) -> WarmUp | None:
        """The warm-up of that server's trials."""
        return self.warm_up_of.get(server, self.warm_up)

    @property
    def warm_ups(self) -> tuple[WarmUp, ...]:
        """Every warm-up of this scale."""
        return (*([self.warm_up] if self.warm_up else []), *self.warm_up_of.values())


class Experiment(Frozen):
    """Servers × one workload × one load shape, repeated. `threads` are the engine's."""

    title: Text
    about: str = ""
    servers: Annotated[tuple[str, ...], Field(min_length=1)]
    twin: str
    workload: str
    parameters: dict[str, int | float | str] = Field(default_factory=dict)
    placement: Placement = "separate"
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    connection: Connection = "keep-alive"
    shape: Shape
    timeouts: Timeouts = Timeouts()
    scales: dict[ScaleName, Scale]

    @field_validator("servers")
    @classmethod
    def _each_server_once(cls, servers: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({name for name in servers if servers.count(name) > 1})
        if twice:
            raise _impossible(
                f"lists {', '.join(twice)} twice", "the A/A control is `twin`; list each server once"
            )
        return servers

    @model_validator(mode="after")
    def _threads_have_connections(self) -> "Experiment":
        if self.threads > self.shape.connections:
            raise _impossible(
                f"{self.threads} threads for {self.shape.connections} connections leave some without one",
                f"set threads to {self.shape.connections} or fewer",
            )
        return self

    @model_validator(mode="after")
    def _warm_up_fits_the_shape(self) -> "Experiment":
        for name, scale in self.scales.items():
            most = max((warm_up.connections or 0 for warm_up in scale.warm_ups), default=0)
            if most > self.shape.connections:
                raise _impossible(
                    f"scale {name} warms up with {most} of {self.shape.connections} connections",
                    f"set warm_up.connections to {self.shape.connections} or fewer, or leave it out",
                )
        return self


class RatioPair(Frozen):
    """`of` divided by `to`, and what the article found for it."""

    of: str
    to: str
    published: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Claim(Frozen):
    """`scales`: those that can answer it; at the others it is not testable, however clear figures look."""

    id: Text
    text: Text
    experiment: str
    metric: str
    scales: Annotated[tuple[ScaleName, ...], Field(min_length=1)] = SCALES


class OrderClaim(_Claim):
    """Each server of an earlier tier is above (better in `metric` than) each of a later one."""

    kind: Literal["order"]
    tiers: Annotated[tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...], Field(min_length=2)]


class RatioClaim(_Claim):
    """Ratios near the published ones: |ln(effect / published)| ≤ ln(1 + `tolerance`)."""

    kind: Literal["ratio"]
    pairs: Annotated[tuple[RatioPair, ...], Field(min_length=1)]
    tolerance: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.25


Claim = Annotated[OrderClaim | RatioClaim, Field(discriminator="kind")]


class Study(Frozen):
    """One question: its experiments, its claims, its prose. `name` is the file's, without .toml."""

    name: str
    title: Text
    question: Text
    article: Article | None = None
    prose: Prose = Prose()
    experiments: Annotated[dict[str, Experiment], Field(min_length=1)]
    claims: tuple[Claim, ...] = ()


def find(root: Path) -> dict[str, Path]:
    """Every study of the project: name → file."""
    return {path.stem: path for path in sorted((root / "studies").glob("*.toml"))}


def load(name: str, root: Path, known: Known) -> Study:
    """The study called `name`, or in the file of that path. Raises NotFound, FileInvalid."""
    path = Path(name) if name.endswith(".toml") else find(root).get(name)
    if path is None:
        raise NotFound(f'no study is called "{name}"', toml_file.did_you_mean(name, find(root)))
    return parse(toml_file.read(path), path, known)


def parse(written: dict[str, object], file: Path, known: Known) -> Study:
    """The study the tables mean. Raises FileInvalid with all their problems."""
    problems: list[Problem] = []
    if "name" in written:
        problems.append(Problem(file, "name", "a study goes by its file's name", "remove it"))
    study, invalid = toml_file.meant(Study, {**written, "name": file.stem}, file)
    problems += [*invalid, *unknown_names(written, known, file)]
    if problems or study is None:
        raise FileInvalid(problems)
    return study


def restricted(study: Study, servers: Collection[str]) -> Study:
    """The study with these servers only; an experiment left with none is gone.

    If the twin's server is left out, the first that remains has a twin in its stead: there always is a noise
    floor. Claims stay as they are, so what can no longer be tested is said. Raises UsageError.
    """
    known = {server for experiment in study.experiments.values() for server in experiment.servers}
    unknown = sorted(set(servers) - known)
    if unknown:
        remedy = toml_file.did_you_mean(unknown[0], known)
        raise UsageError(f"study {study.name} has no server {', '.join(unknown)}", remedy)
    experiments = {}
    for name, experiment in study.experiments.items():
        kept = tuple(server for server in experiment.servers if server in servers)
        if kept:
            twin = experiment.twin if experiment.twin in kept else kept[0]
            experiments[name] = experiment.model_copy(update={"servers": kept, "twin": twin})
    return study.model_copy(update={"experiments": experiments})


def _impossible(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("impossible", "{message}", {"message": message, "remedy": remedy})
