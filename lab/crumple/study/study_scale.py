"""How often and how long a study measures an experiment, scale by scale; which scales are impossible.

`study` reads them with the experiments; `run.run_plan` makes trials of them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from crumple import contract
from crumple.contract_base import Frozen
from crumple.study.claim import impossible
from crumple.study.study_shape import ClosedShape, OpenShape, RampShape, Seconds, Shape
from crumple.subject import server_toml

Said = TypeVar("Said")

# In a shorter slice the edges, where users start and stop, are too large a part.
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
                f"scale {name} warms an open shape up by requests, on so many connections or without pauses",
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
