"""What is said of causes: a finding, that there is no sign of it, or that it is not known. Pure.

Documents hold these as they are; `kind` says there which of them one is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Cause = Literal[
    "workers",
    "idle-connections",
    "one-loop",
    "gate",
    "cpu",
    "connection-pool",
    "dependency",
    "accept-queue",
    "disk",
    "memory",
    "throttled",
    "descriptors",
    "slow-pool",
    "switches",
    "contention",
    "standstill",
    "background",
    "limiter",
    "engine",
    "none",
]
# Each cause in words.
CAUSES: Mapping[Cause, str] = {
    "workers": "workers",
    "idle-connections": "idle connections",
    "one-loop": "one thread",
    "gate": "a gate inside the program",
    "cpu": "CPU",
    "contention": "threads that compete for the CPU",
    "connection-pool": "its pool of connections",
    "dependency": "what is behind it",
    "accept-queue": "the listen queue",
    "disk": "disk",
    "memory": "memory",
    "throttled": "throttling",
    "descriptors": "open files",
    "slow-pool": "a pool that grows slowly",
    "switches": "context switches",
    "standstill": "a standstill",
    "background": "a thread that computes for nobody",
    "limiter": "a limiter",
    "engine": "the engine",
    "none": "nothing",
}
# "tested": an experiment that could have refuted it did not. "likely": what was read makes it probable.
Sure = Literal["tested", "likely"]

# The least probability of a cause that is named, and of one that others may rely on.
LIKELY, SURE = 0.8, 0.95


@dataclass(frozen=True)
class Finding:
    """A cause, with its probability. `share_s`: what of the mean response time it accounts for, in seconds.

    None: not known, as where nothing was answered. `rival`: the next probable cause, if it is not improbable.
    """

    kind: Literal["finding"] = field(default="finding", kw_only=True)
    cause: Cause
    sure: Sure
    probability: float
    share_s: float | None
    evidence: str
    remedy: str
    rival: Cause | None = None
    rival_probability: float = 0.0

    @property
    def is_sure(self) -> bool:
        """Whether it is so probable that others may rely on it."""
        return self.probability >= SURE


@dataclass(frozen=True)
class Out:
    """There is no sign of the cause, and why."""

    kind: Literal["out"] = field(default="out", kw_only=True)
    cause: Cause
    why: str


@dataclass(frozen=True)
class Unclear:
    """Whether it is the cause cannot be told, and why.

    `between`: the probabilities of the causes that it may be, if these were weighed; "none": something else.
    """

    kind: Literal["unclear"] = field(default="unclear", kw_only=True)
    cause: Cause
    why: str
    between: Mapping[Cause, float] = field(default_factory=dict, hash=False)


Said = Finding | Out | Unclear


def first(said: Iterable[Said]) -> Finding | None:
    """Return what limits a server first; None: that is not known."""
    return next((each for each in said if isinstance(each, Finding)), None)
