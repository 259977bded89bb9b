"""Made-up trials whose truth is known, for each kind of claim around its bounds, for simulate_studies.py."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from crumple.record.curve import Point
from crumple.record.figures import Figures
from crumple.record.histogram import Times
from crumple.verdict.case import RunFacts
from crumple.verdict.effect import VerdictWord
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
USERS = np.linspace(8, 492, 30)
HEAVY_NS = 6e7
YES, NO = (VerdictWord.SUPPORTED,), (VerdictWord.CONTRADICTED,)
SHARED: dict[str, Any] = {"experiment": "e"}


@dataclass(frozen=True)
class Trials:
    """Trials of one study. `spread` is the noise of a start and `swing` that of a block, both of logarithms.

    `restless` has servers with a larger spread, as a factor, where servers are compared.
    """

    random: Generator
    blocks: int
    shape: Callable[[Generator, int], Floats]
    spread: float
    swing: float
    restless: Mapping[str, float] = field(default_factory=dict)

    def luck(self, *servers: str) -> list[Floats]:
        """The factors of each server's values, block by block."""
        swing = self.random.normal(0, self.swing, self.blocks)
        spreads = (self.spread * self.restless.get(server, 1.0) for server in servers)
        return [np.exp(swing + spread * self.shape(self.random, self.blocks)) for spread in spreads]

    def made(self, truths: Mapping[str, float], of: Callable[[float], dict[str, Any]]) -> list[Figures]:
        """A trial of each server in each block, and of three more and a twin. `of`: value → figures."""
        whole = {**truths, "x": 1.0, "y": 1.0, "z": 1.0, "z~twin": 1.0}
        return [
            figures(name.removesuffix("~twin"), block, twin=name.endswith("~twin"), **of(truth * luck))
            for (name, truth), row in zip(whole.items(), self.luck(*whole), strict=True)
            for block, luck in enumerate(row, 1)
        ]

    def speeds(self, **truths: float) -> list[Figures]:
        """Trials with throughputs in these ratios."""
        return self.made(truths, lambda value: {"throughput_per_s": 10_000 * value})

    def times(self, **truths: float) -> list[Figures]:
        """Trials with median response times in units of 320 ms."""
        return self.made(truths, lambda value: {"response_ns": {0.5: 3.2e8 * value}})

    def canaries(self, **truths: float) -> list[Figures]:
        """Trials with light requests beside heavy ones, in units of a heavy request's CPU time."""
        return self.made(
            truths,
            lambda value: {"canary_ns": {0.5: HEAVY_NS * value}, "cpu_per_request_us": HEAVY_NS / 1e3},
        )

    def shares(self, requests: int, **truths: float) -> list[Figures]:
        """Trials in which requests fail. The probability varies over starts around the truth."""
        found = []
        for name, truth in truths.items():
            luck = np.exp(self.spread * self.shape(self.random, self.blocks) - self.spread**2 / 2)
            for block, times in enumerate(luck, 1):
                share = self.random.binomial(requests, min(1.0, truth * times)) / requests
                found.append(figures(name, block, failed_share=share, ended=requests))
        return found

    def ramps(self, of: Callable[[Floats], Floats], **along: Callable[[Floats], Floats]) -> list[Figures]:
        """Ramps of one server whose response times follow `of`. Each bin has noise of its own."""
        found = []
        for block, luck in enumerate(self.luck("a")[0], 1):
            ns = of(USERS) * luck * np.exp(self.random.normal(0, self.spread, len(USERS)))
            held = {name: values(USERS) for name, values in along.items()}
            curve = tuple(
                _point(users, ns[at], **{name: float(values[at]) for name, values in held.items()})
                for at, users in enumerate(USERS)
            )
            found.append(figures("a", block, curve=curve))
        return found

    def growing(self, slope: float) -> list[Figures]:
        """Ramps in which processes grow by `slope` per connection, with noise."""
        times = 1 + self.spread * self.shape(self.random, self.blocks)

        def processes(each: float) -> Callable[[Floats], Floats]:
            return lambda users: 5 + slope * each * users

        ramps = [
            self.ramps(lambda users: np.full_like(users, 1e6), processes=processes(each)) for each in times
        ]
        return [ramp[block] for block, ramp in enumerate(ramps)]

    @staticmethod
    def cases() -> Iterator["Case"]:
        """Every kind of claim, with truths on both sides of what decides it."""
        yield from _of_two()
        yield from _of_one()
        yield from _of_ramps()


@dataclass(frozen=True)
class Case:
    """A claim, a truth, and the answers that this truth makes wrong."""

    kind: str
    name: str
    written: dict[str, Any]
    make: Callable[[Trials], list[Figures]]
    wrong: tuple[VerdictWord, ...]
    facts: RunFacts = field(default_factory=RunFacts)


def _at_speeds(**speeds: float) -> Callable[[Trials], list[Figures]]:
    return lambda trials: trials.speeds(**speeds)


def _at_times(**times: float) -> Callable[[Trials], list[Figures]]:
    return lambda trials: trials.times(**times)


def _at_knee(at: float) -> Callable[[Trials], list[Figures]]:
    return lambda trials: trials.ramps(_kneed(at))


def _of_two() -> Iterator[Case]:
    speed = {**SHARED, "metric": "throughput"}
    two, three = {**speed, "tiers": [["a"], ["b"]]}, {**speed, "tiers": [["a"], ["b"], ["c"]]}
    yield Case("order", "2 % the wrong way", two, lambda t: t.speeds(a=1.0, b=1.02), YES)
    yield Case("order", "2 % the right way", two, lambda t: t.speeds(a=1.02, b=1.0), NO)
    yield Case("order", "10 % the right way", two, lambda t: t.speeds(a=1.1, b=1.0), NO)
    yield Case("order", "three, 6 % the wrong way", three, lambda t: t.speeds(a=1.0, b=1.06, c=1.12), YES)
    yield Case("order", "three, 1 % the right way", three, lambda t: t.speeds(a=1.02, b=1.01, c=1.0), NO)
    for published, truths in ((1.5, (1.19, 1.21, 1.85, 1.9)), (1.0, (0.79, 0.81, 1.24, 1.26))):
        pair = {**speed, "pairs": [{"of": "a", "to": "b", "published": published}]}
        for truth in truths:
            inside = published / 1.25 <= truth <= published * 1.25
            name = f"{truth:g} for a published {published:g}"
            yield Case("ratio", name, pair, _at_speeds(a=truth, b=1.0), NO if inside else YES)
    pairs = [{"of": of, "to": "d", "published": 1.5} for of in ("a", "b", "c")]
    yield Case(
        "ratio", "three of 1.22 for 1.5", {**speed, "pairs": pairs},
        lambda t: t.speeds(a=1.22, b=1.22, c=1.22, d=1.0), NO,
    )  # fmt: skip


def _of_one() -> Iterator[Case]:
    below = {**SHARED, "servers": ["a"], "below": "1 %"}
    yield Case("share", "1.05 % for below 1 %", below, lambda t: t.shares(5_000, a=0.0105), YES)
    yield Case("share", "0.95 % for below 1 %", below, lambda t: t.shares(5_000, a=0.0095), NO)
    rare = {**SHARED, "servers": ["a"], "below": "0.1 %"}
    yield Case("share", "0.11 % of 12 for below 0.1 %", rare, lambda t: t.shares(12, a=0.0011), YES)
    some = {**SHARED, "servers": ["a", "b", "c", "d"], "above": "1 %", "at_least": 2}
    yield Case(
        "share", "one of two, three at 0.98 %", some,
        lambda t: t.shares(5_000, a=0.1, b=0.0098, c=0.0098, d=0.0098), YES,
    )  # fmt: skip
    figure = {**SHARED, "servers": ["a"], "metric": "response_p50", "published": "320 ms"}
    for truth, wrong in ((1.24, NO), (1.26, YES), (0.79, YES), (0.81, NO)):
        name = f"{truth:g} of the published, met within 1.25"
        yield Case("figure", name, figure, _at_times(a=truth), wrong)
    stalls, never = {**SHARED, "servers": ["a"]}, {**SHARED, "servers": ["a"], "stalls": False}
    yield Case("stall", "0.49 of a heavy one, stalls", stalls, lambda t: t.canaries(a=0.49), YES)
    yield Case("stall", "0.51 of a heavy one, stalls", stalls, lambda t: t.canaries(a=0.51), NO)
    yield Case("stall", "0.102 of a heavy one, never", never, lambda t: t.canaries(a=0.102), YES)
    yield Case("stall", "0.098 of a heavy one, never", never, lambda t: t.canaries(a=0.098), NO)


def _of_ramps() -> Iterator[Case]:
    def late_rise(times: float) -> Callable[[Floats], Floats]:
        # The last fifth is slower than the others by this factor.
        return lambda users: np.where(np.arange(len(users)) < 24, 1e6, 1e6 * times)

    flat = {**SHARED, "servers": ["a"]}
    falls = {**flat, "may_fall": True}
    yield Case("flatness", "a fifth 1.24 slower", flat, lambda t: t.ramps(late_rise(1.24)), NO)
    yield Case("flatness", "a fifth 1.26 slower", flat, lambda t: t.ramps(late_rise(1.26)), YES)
    yield Case("flatness", "a fifth 1.26 slower, may fall", falls, lambda t: t.ramps(late_rise(1.26)), YES)
    knee = {**SHARED, "servers": ["a"], "published": 340}
    for at, wrong in ((265, YES), (280, NO), (415, NO)):
        yield Case("knee", f"at {at}, met from 272 to 425", knee, _at_knee(at), wrong)
    queue = {**SHARED, "servers": ["a"], "published": 300}
    yield Case(
        "knee", "none, a queue", queue, lambda t: t.ramps(lambda users: 3.2e8 / (1 - users / 550)), YES
    )
    growth = {**SHARED, "servers": ["a"], "metric": "processes"}
    yield Case("growth", "0.098 for at least 0.1", growth, lambda t: t.growing(0.098), YES)
    yield Case("growth", "0.102 for at least 0.1", growth, lambda t: t.growing(0.102), NO)


def _kneed(at: float) -> Callable[[Floats], Floats]:
    return lambda users: 3.2e8 + np.maximum(0.0, users - at) * 1.5e7


def _point(users: float, ns: float, **held: float) -> Point:
    known: dict[str, Any] = {
        "seconds": 10.0, "connections": float(users), "waiting": float(users), "pause_s": 0.0,
        "ok": max(20, round(10 * users / (ns / 1e9))), "failed": 0,
        "times": Times((round(ns),), (1_000,)), "cores_busy": 0.1, "memory_bytes": 1e7,
        "processes": 1.0, "threads": 1.0,
    }  # fmt: skip
    return Point(**(known | held))


def figures(server: str, block: int, **changes: Any) -> Figures:
    known: dict[str, Any] = {
        "trial_id": f"e/b{block:02}/{server}", "experiment": "e", "block": block, "server": server,
        "twin": False, "valid": True, "problems": (), "throughput_per_s": 1_000.0, "failed_share": 0.0,
        "response_mean_ns": 1e6, "response_ns": {}, "cpu_per_request_us": None, "cpu_user_us": None,
        "cpu_kernel_us": None, "switches_per_request": None, "memory_peak_bytes": None, "processes_max": None,
        "threads_max": None, "ended": 10_000,
    }  # fmt: skip
    return Figures(**(known | changes))
