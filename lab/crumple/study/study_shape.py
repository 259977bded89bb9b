"""Load shapes as a study writes them, converted to the engine's form. Their duration comes from the scale.

`machine.capacity` decides whether this machine can carry them.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from crumple import contract
from crumple.contract import PauseKind
from crumple.contract_base import Frozen
from crumple.study.claim import impossible

Connections = Annotated[int, Field(ge=1, le=100_000)]
Pause = Annotated[float, Field(ge=0, le=86_400_000, allow_inf_nan=False)]
PerSecond = Annotated[float, Field(gt=0, le=10_000_000, allow_inf_nan=False)]
# A day is the engine's own limit.
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]

# The default limit of connections in an open shape, which are opened as needed.
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

    def drawn(self, measured_s: float) -> contract.ClosedShape:
        """The shape in the engine's form."""
        return contract.ClosedShape(connections=self.connections, pause_ms=self.pause_ms, pause=self.pause)


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

    def drawn(self, measured_s: float) -> contract.RampShape:
        """The shape in the engine's form, measured for `measured_s`."""
        return contract.RampShape(
            from_connections=self.from_connections,
            to_connections=self.to_connections,
            over_s=self.over_s or measured_s,
            pause_ms=self.pause_ms,
            pause=self.pause,
        )


class OpenShape(Frozen):
    """A schedule that waits for no reply: `rate_per_s`, changing to `to_per_s`, or steps of equal length.

    `connections`: the maximum that is opened.
    """

    kind: Literal["open"]
    connections: Connections = CONNECTIONS_OPEN_MAX
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

    def drawn(self, measured_s: float) -> contract.OpenShape:
        """The shape in the engine's form, measured for `measured_s`."""
        each = self.steps_per_s or (self.rate_per_s or 0.0,)
        rates = tuple(
            contract.Rate(
                from_per_s=per_s, to_per_s=self.to_per_s or per_s, duration_s=measured_s / len(each)
            )
            for per_s in each
        )
        return contract.OpenShape(connections=self.connections, arrivals=self.arrivals, rates=rates)


Shape = Annotated[ClosedShape | RampShape | OpenShape, Field(discriminator="kind")]


def merged(shape: Any, changes: Any) -> Any:
    """The experiment's shape with the scale's changes; a scale's shape of another kind replaces it."""
    if not isinstance(shape, dict) or not isinstance(changes, dict):
        return changes
    of_kind, to_kind = shape.get("kind", "closed"), changes.get("kind", shape.get("kind", "closed"))
    return {**shape, **changes} if of_kind == to_kind else changes
