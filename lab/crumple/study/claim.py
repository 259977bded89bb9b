"""The claims a study may make: one frozen type per kind, as written in TOML.

`names` checks that the names in them exist; `verdict` judges claims by the measurements.
"""

import math
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from crumple.contract_base import Frozen

ScaleName = Literal["tour", "quick", "full", "published"]
SCALES: tuple[ScaleName, ...] = ("tour", "quick", "full", "published")

Text = Annotated[str, Field(min_length=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Tolerance = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Names = Annotated[tuple[Text, ...], Field(min_length=1)]

_UNITS = {
    "ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "%": 0.01, "KiB": 2.0**10, "MiB": 2.0**20,
    "GiB": 2.0**30,
}  # fmt: skip
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(?:(\.\.)(\d+(?:\.\d+)?)?)? ?([a-zµ%]+)?", re.IGNORECASE)


def quantity(written: float | str) -> tuple[float, float]:
    """Low and high end of what was written, in ns, bytes or a share: "100..1000 ns", "5 %", 340.

    The high end of "100.. ns" is infinity. Raises ValueError.
    """
    if not isinstance(written, str):
        return float(written), float(written)
    found = _QUANTITY.fullmatch(written.strip())
    if found is None or (found[4] or "ns") not in _UNITS:
        raise ValueError(f'"{written}" is no quantity')
    factor = _UNITS[found[4]] if found[4] else 1.0
    low = float(found[1]) * factor
    if found[3]:
        return low, float(found[3]) * factor
    return low, math.inf if found[2] else low


def split_place(name: str) -> tuple[str | None, str]:
    """Experiment and server of "experiment:server"; for "server" alone the experiment is None.

    A colon in a variant's settings is part of the server.
    """
    before, bracket, settings = name.partition("[")
    experiment, colon, server = before.rpartition(":")
    return experiment if colon else None, f"{server}{bracket}{settings}"


def _quantity(written: float | str, may_be_open: bool = False) -> float | str:
    try:
        low, high = quantity(written)
    except ValueError as error:
        units = ", ".join(_UNITS)
        raise impossible(
            str(error), f'write a number, with a unit in quotes ("20 ns", "5..10 %"): {units}'
        ) from None
    if may_be_open and low > 0 and math.isinf(high) and isinstance(written, str) and ".." in written:
        return written
    if not math.isfinite(high) or low > high or high <= 0:
        raise impossible(f"{written} is no quantity above 0", "write the lower end first")
    return written


def impossible(message: str, remedy: str) -> PydanticCustomError:
    """The error for a value that makes no sense, and what to write instead."""
    return PydanticCustomError("impossible", "{message}", {"message": message, "remedy": remedy})


def _from_few_to_many(users: tuple[int, int]) -> tuple[int, int]:
    if users[0] >= users[1]:
        raise impossible(f"from {users[0]} to {users[1]} users is no span", "write the fewer first")
    return users


Users = Annotated[
    tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]], AfterValidator(_from_few_to_many)
]


class _Claim(Frozen):
    """`place`: where the article says it. `conditions`: what the article leaves open, or what differs here.

    `scales`: those that can test it; at the others it is not testable, however clear the figures are.
    `confidence`: 0.999 at most; above it the ends of an interval of two blocks may not be numbers.
    `argues_cause`: the article argues why it is so; reports then show what limited the servers.
    """

    id: Text
    text: Text
    place: Text | None = None
    conditions: tuple[Text, ...] = ()
    scales: Annotated[tuple[ScaleName, ...], Field(min_length=1)] = SCALES
    confidence: Annotated[float, Field(ge=0.5, le=0.999)] = 0.95
    argues_cause: bool = False


class _Measured(_Claim):
    """A metric of an experiment."""

    experiment: Text
    metric: Text
    against: Text | None = None
    """Another experiment; the claim is then about the metric here ÷ that of the same server there."""
    users: Users | None = None
    """In a ramp, the numbers of users to which the claim is confined."""


class OrderClaim(_Measured):
    """Each server of an earlier tier is better in `metric` than each server of a later tier."""

    kind: Literal["order"]
    tiers: Annotated[tuple[Names, ...], Field(min_length=2)]


class RatioPair(Frozen):
    """`of` divided by `to`, each "server" or "experiment:server", and what the ratio is compared with."""

    of: Text
    to: Text
    published: Positive | None = None
    """The article's ratio."""
    expected: Positive | None = None
    """The study's own ratio, where the article gives none."""
    at_least: Annotated[float, Field(gt=1, allow_inf_nan=False)] | None = None
    """A lower bound, where there is neither: how many times as much counts as "much"."""

    @model_validator(mode="after")
    def _held_against_one(self) -> "RatioPair":
        if [self.published, self.expected, self.at_least].count(None) != 2:
            raise impossible("needs published, expected or at_least", "write one of them")
        return self

    @property
    def size(self) -> float:
        """The ratio that it is compared with."""
        return self.published or self.expected or self.at_least or 1.0


class RatioClaim(_Measured):
    """Ratios are near those published or expected: |ln(effect / size)| ≤ ln(1 + `tolerance`)."""

    kind: Literal["ratio"]
    pairs: Annotated[tuple[RatioPair, ...], Field(min_length=1)]
    tolerance: Tolerance = 0.25


class ShareClaim(_Measured):
    """The metric lies above or below a bound, at all `servers` or at `at_least` of them."""

    kind: Literal["share"]
    metric: Text = "failed_share"
    servers: Names
    above: Annotated[float | str | None, Field()] = None
    below: Annotated[float | str | None, Field()] = None
    at_least: Annotated[int, Field(ge=1)] | None = None

    @field_validator("above", "below")
    @classmethod
    def _meant(cls, written: float | str | None) -> float | str | None:
        return written if written in (None, 0) else _quantity(written or 0)

    @model_validator(mode="after")
    def _one_bound_that_can_be_met(self) -> "ShareClaim":
        if (self.above is None) == (self.below is None):
            raise impossible("needs either above or below", "write one of them")
        if self.at_least is not None and self.at_least > len(self.servers):
            raise impossible(
                f"at_least {self.at_least} of {len(self.servers)} servers",
                "list more servers, or ask for fewer",
            )
        return self

    @property
    def bound(self) -> float:
        """The bound in the metric's unit."""
        return quantity(self.above if self.above is not None else self.below or 0.0)[1]


class FlatnessClaim(_Measured):
    """In a ramp, the metric at the end equals that at the beginning, within `tolerance`."""

    kind: Literal["flatness"]
    metric: Text = "response_p50"
    against: None = None
    servers: Names
    tolerance: Tolerance = 0.25
    may_fall: bool = False
    """A metric that falls as the load rises counts as flat, too."""


class KneeClaim(_Claim):
    """In a ramp, the response time leaves its plateau at about `published` users."""

    kind: Literal["knee"]
    experiment: Text
    servers: Names
    published: Positive
    tolerance: Tolerance = 0.25


class GrowthClaim(_Claim):
    """`metric` (processes, threads, memory) grows by `per_connection` or more with every connection; or not.

    Measured along a ramp, or over `experiments` of different load.
    """

    kind: Literal["growth"]
    metric: Literal["processes", "threads", "memory"]
    experiment: Text | None = None
    experiments: Annotated[tuple[Text, ...], Field(min_length=2)] | None = None
    servers: Names
    grows: bool = True
    per_connection: float | str | None = None
    up_to: Annotated[int, Field(ge=2)] | None = None
    """The number of connections above which it no longer grows, such as a pool's size."""
    users: Users | None = None
    """The claim is about this range only."""

    @field_validator("per_connection")
    @classmethod
    def _meant(cls, written: float | str | None) -> float | str | None:
        return None if written is None else _quantity(written)

    @model_validator(mode="after")
    def _can_be_known(self) -> "GrowthClaim":
        if (self.experiment is None) == (self.experiments is None):
            raise impossible("needs either experiment or experiments", "write one of them")
        if self.metric == "memory" and self.per_connection is None:
            raise impossible(
                "memory always grows a little: how much per connection counts?",
                'add per_connection = "100 KiB", for instance',
            )
        if self.up_to is not None and not self.grows:
            raise impossible("up_to belongs to what grows", "remove it")
        if self.up_to is not None and self.users is not None:
            raise impossible("up_to says what is beyond, too, and users that nothing is", "write one of them")
        return self

    @property
    def threshold(self) -> float:
        """The least growth per connection that counts as growth, in the metric's unit."""
        return quantity(self.per_connection if self.per_connection is not None else 0.1)[0]


class StallClaim(_Claim):
    """A light request that comes while heavy ones run waits for one of them to end; or it does not."""

    kind: Literal["stall"]
    experiment: Text
    metric: Literal["canary_p50", "canary_p90", "canary_p99"] = "canary_p50"
    """The canary's."""
    servers: Names
    stalls: bool = True
    bound: float | str | None = None
    """What counts as waiting; by default, half of the CPU time of one heavy request beyond the light
    request's own time, or a tenth if the claim is that it does not stall."""
    alone: Text | None = None
    """An experiment whose load is the light request alone, to measure its own time; by default that is 0."""

    @field_validator("bound")
    @classmethod
    def _meant(cls, written: float | str | None) -> float | str | None:
        return None if written is None else _quantity(written)


class FigureClaim(_Claim):
    """A figure in its own unit: a `metric` of `servers`, or a `cost` of this machine.

    `published` is the article's, `expected` the study's own; either may be "low..high" or "low..". The figure
    may lie outside by `tolerance` at either end.
    """

    kind: Literal["figure"]
    experiment: Text | None = None
    metric: Text | None = None
    servers: Names | None = None
    users: Users | None = None
    cost: Text | None = None
    published: float | str | None = None
    expected: float | str | None = None
    tolerance: Tolerance = 0.25

    @field_validator("published", "expected")
    @classmethod
    def _meant(cls, written: float | str | None) -> float | str | None:
        return None if written is None else _quantity(written, may_be_open=True)

    @model_validator(mode="after")
    def _held_against_one(self) -> "FigureClaim":
        if (self.published is None) == (self.expected is None):
            raise impossible("needs either published or expected", "write one of them")
        return self

    @property
    def size(self) -> tuple[float, float]:
        """Low and high end of what the figure is compared with."""
        return quantity(self.published if self.published is not None else self.expected or 0.0)

    @model_validator(mode="after")
    def _of_servers_or_of_the_machine(self) -> "FigureClaim":
        of_servers = (self.experiment, self.metric, self.servers)
        if self.cost is None and None in of_servers:
            raise impossible("a figure of what?", "write experiment, metric and servers, or a cost")
        if self.cost is not None and (of_servers != (None, None, None) or self.users):
            raise impossible(
                "a cost is of the machine, not of a server", "remove experiment, metric and servers"
            )
        return self


class ModelClaim(_Claim):
    """Each server waits as its I/O model says, as far as measurements show it."""

    kind: Literal["model"]
    experiment: Text
    servers: Names


Claim = Annotated[
    OrderClaim
    | RatioClaim
    | ShareClaim
    | FlatnessClaim
    | KneeClaim
    | GrowthClaim
    | StallClaim
    | FigureClaim
    | ModelClaim,
    Field(discriminator="kind"),
]
