"""How an experiment is loaded: its load shape, and at each scale how often and how long it is measured.

`study` reads both with the experiments and says which are impossible; `run.run_plan` makes trials of them,
and `machine.capacity` decides whether this machine can carry them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from crumple import contract
from crumple.contract import PauseKind
from crumple.contract_base import Frozen
from crumple.study.claim import impossible
from crumple.subject import server_toml

Connections = Annotated[int, Field(ge=1, le=100_000)]
Pause = Annotated[float, Field(ge=0, le=86_400_000, allow_inf_nan=False)]
PerSecond = Annotated[float, Field(gt=0, le=10_000_000, allow_inf_nan=False)]
# A day is the engine's own limit.
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]

# An open shape opens connections as it needs them, up to a thousand unless the study says otherwise, as
# `crumple load` does.
CONNECTIONS_OPEN_MAX = 1_000


class ClosedShape(Frozen):
    """`connections` that each send again `pause_ms` after the reply: exactly, or on average."""

    kind: Literal["closed"] = "closed"
    connections: Connections
    pause_ms: Pause = 0.0
    pause: PauseKind = "fixed"

    @property
    def most(self) -> int:
        """The maximum number of connections at one time."""
        return self.connections

    def drawn(self, measured_s: float) -> contract.ClosedShapeSpec:
        """The shape in the engine's form."""
        return contract.ClosedShapeSpec(
            connections=self.connections, pause_ms=self.pause_ms, pause=self.pause
        )


class RampShape(Frozen):
    """A closed shape whose connections rise evenly over `over_s`; None: over the whole measured time."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    kind: Literal["ramp"]
    from_connections: Annotated[int, Field(alias="from", ge=0, le=100_000)] = 0
    to_connections: Annotated[Connections, Field(alias="to")]
    over_s: Seconds | None = None
    pause_ms: Pause = 0.0
    pause: PauseKind = "fixed"

    @model_validator(mode="after")
    def _rises(self) -> "RampShape":
        if self.from_connections >= self.to_connections:
            raise impossible(
                f"does not rise from {self.from_connections} to {self.to_connections}", "end it higher"
            )
        return self

    @property
    def most(self) -> int:
        """The maximum number of connections at one time."""
        return self.to_connections

    def drawn(self, measured_s: float) -> contract.RampShapeSpec:
        """The shape in the engine's form, measured for `measured_s`."""
        return contract.RampShapeSpec(
            from_connections=self.from_connections,
            to_connections=self.to_connections,
            over_s=self.over_s or measured_s,
            pause_ms=self.pause_ms,
            pause=self.pause,
        )


class OpenShape(Frozen):
    """A schedule that waits for no reply: `rate_per_s`, changing to `to_per_s`, or steps of equal length."""

    kind: Literal["open"]
    connections: Connections = CONNECTIONS_OPEN_MAX
    """The most connections that are opened."""
    arrivals: Literal["even", "poisson"] = "poisson"
    rate_per_s: PerSecond | None = None
    to_per_s: PerSecond | None = None
    steps_per_s: tuple[PerSecond, ...] = ()

    @model_validator(mode="after")
    def _one_schedule(self) -> "OpenShape":
        if (self.rate_per_s is None) == (not self.steps_per_s):
            raise impossible("needs either rate_per_s or steps_per_s", "write one of them")
        if self.to_per_s is not None and self.rate_per_s is None:
            raise impossible("to_per_s ends what rate_per_s begins", "add rate_per_s")
        return self

    @property
    def most(self) -> int:
        """The maximum number of connections at one time."""
        return self.connections

    def drawn(self, measured_s: float) -> contract.OpenShapeSpec:
        """The shape in the engine's form, measured for `measured_s`."""
        each = self.steps_per_s or (self.rate_per_s or 0.0,)
        rates = tuple(
            contract.RateSpec(
                from_per_s=per_s, to_per_s=self.to_per_s or per_s, duration_s=measured_s / len(each)
            )
            for per_s in each
        )
        return contract.OpenShapeSpec(connections=self.connections, arrivals=self.arrivals, rates=rates)


Shape = Annotated[ClosedShape | RampShape | OpenShape, Field(discriminator="kind")]


def merged(shape: Any, changes: Any) -> Any:
    """The experiment's shape with the scale's changes; a scale's shape of another kind replaces it."""
    if not isinstance(shape, dict) or not isinstance(changes, dict):
        return changes
    of_kind, to_kind = shape.get("kind", "closed"), changes.get("kind", shape.get("kind", "closed"))
    return {**shape, **changes} if of_kind == to_kind else changes


Said = TypeVar("Said")

# A slice lasts at least 0.2 s: in a shorter one the edges, where users start and stop, are too large a part.
SLICE_MIN_S = 0.2


def _value_of_parameter(value: Any) -> Any:
    # Checked here, because pydantic reports a wrong value of a union once for each of its types.
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise impossible("is no value of a parameter", "write a number, or text in quotes")
    return value


Parameters = dict[str, Annotated[int | float | str, BeforeValidator(_value_of_parameter)]]


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

    def stop(self) -> contract.RequestsStopSpec | contract.DurationStopSpec:
        """The same in the form that the engine takes."""
        if self.requests is not None and self.within_s is not None:
            return contract.RequestsStopSpec(requests=self.requests, within_s=self.within_s)
        assert self.duration_s is not None
        return contract.DurationStopSpec(duration_s=self.duration_s)

    @property
    def at_most_s(self) -> float:
        """The longest it can take, in seconds."""
        return self.duration_s or self.within_s or 0.0


class WarmUp(Until):
    """Load before the measured window."""

    connections: Annotated[int, Field(ge=1)] | None = None
    """How many it has; None: as many as the shape."""
    pauses: bool = True
    """Whether users pause as the shape says; without pauses a runtime warms up sooner."""


class Scale(Frozen):
    """How often and how long to measure: `blocks` repetitions, each a warm-up and a measured window."""

    blocks: Annotated[int, Field(ge=1, le=1_000)]
    least_blocks: Annotated[int, Field(ge=2)] | None = None
    """Claims are first judged after this number of blocks, and again after each further one up to `blocks`;
    None: all blocks are run and claims are judged once."""
    blocks_of: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Server → the number of blocks, from the first on, in which it takes part, for servers beside the main
    question."""
    warm_up: WarmUp | None = None
    warm_up_of: dict[str, WarmUp] = Field(default_factory=dict)
    """Server → a warm-up of its own, for runtimes that compile while they run."""
    stop: Until
    slices: Annotated[int, Field(ge=1, le=100)] = 1
    """The number of turns in which each start is measured while the others of its block are suspended."""
    twin: bool = True
    """Whether each block has a twin, which takes the time of one more trial."""
    shape: Shape | None = None
    parameters: Parameters = Field(default_factory=dict)
    servers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The shape, the parameters and the servers of a scale replace the experiment's."""
    note: str = ""
    """What that leaves out."""

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


def check_scale(
    name: str, scale: Scale, servers: Sequence[str], twin: str, shape: Shape, has_canary: bool
) -> None:
    """Return if an experiment with these servers, twin, shape and canary can have a scale like that.

    Raises PydanticCustomError, as a validator does.
    """
    shape = scale.shape or shape
    _check_servers(name, scale, servers, twin)
    _check_blocks(name, scale, twin)
    _check_warm_ups(name, scale, shape)
    _check_course(name, scale.stop, shape)
    _check_slices(name, scale, shape, has_canary)


def _check_servers(name: str, scale: Scale, servers: Sequence[str], twin: str) -> None:
    if scale.servers is None:
        return
    others = sorted(set(scale.servers) - set(servers))
    if others:
        raise impossible(
            f"scale {name} has {', '.join(others)}, which the experiment has not",
            "a scale may only leave out servers; list them in the experiment",
        )
    if scale.twin and twin not in scale.servers:
        raise impossible(
            f"scale {name} leaves out {twin}, which is the twin", "list it, or choose another twin"
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
                f"scale {name} warms an open shape up by requests, by connections or without pauses",
                "write warm_up = { duration_s = … }",
            )
        if (warm_up.connections or 0) > shape.most:
            raise impossible(
                f"scale {name} warms up with {warm_up.connections} of {shape.most} connections",
                f"set warm_up.connections to {shape.most} or fewer, or leave it out",
            )


def _check_slices(name: str, scale: Scale, shape: Shape, has_canary: bool) -> None:
    """Check that only a closed load without pauses and canary, ended by time, is sliced.

    A load that changes over time, that pauses, or that has a canary must be measured without interruption.
    """
    if scale.slices == 1:
        return
    if not isinstance(shape, ClosedShape) or shape.pause_ms or has_canary:
        raise impossible(
            f"scale {name} slices a load that is not a closed shape without pauses and without a canary",
            "leave slices out",
        )
    if scale.stop.duration_s is None:
        raise impossible(
            f"scale {name} slices a load that its requests end", "write stop = { duration_s = … }"
        )
    if any(each.duration_s is None for each in (scale.warm_up, *scale.warm_up_of.values()) if each):
        raise impossible(
            f"scale {name} slices a load whose warm-up its requests end",
            "write warm_up = { duration_s = … }",
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
