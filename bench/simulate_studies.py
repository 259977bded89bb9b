#!/usr/bin/env python3
"""How often are verdicts right? A simulation of the whole rule, with made-up trials whose truth is known.

    .venv/bin/python bench/simulate_studies.py --only intervals --studies 4000
    .venv/bin/python bench/simulate_studies.py --only ratio,share      # some kinds of claims; --only "": all

Two tables compare designs with a fixed number of blocks and designs that look after every block. The first
shows how often intervals contain the truth when a run stops, how often twins are called different at any
look, and how often a tenth is seen. The second shows how often each kind of claim is decided wrongly, with
the truth just beside a boundary, and after how many blocks.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import options
from crumple.record.figures import Figures
from crumple.stats import estimate, moderated
from crumple.stats.estimate import Estimate
from crumple.stats.interval import Interval
from crumple.stats.sequential import Look, Looks
from crumple.study.claim import Claim
from crumple.study.study_load import Scale, Until
from crumple.verdict import verdict
from crumple.verdict.case import ClaimCase, RunFacts
from crumple.verdict.effect import VerdictWord
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import TypeAdapter
from simulated_trials import Trials

Floats = NDArray[np.float64]
CLAIM: TypeAdapter[Claim] = TypeAdapter(Claim)

# Designs with a fixed number of blocks, and designs that look after every block from the second or third on.
FIXED = tuple(Looks(blocks, blocks) for blocks in (2, 5, 12))
SEVERAL = (*(Looks(2, most) for most in (4, 5, 6, 12)), *(Looks(3, most) for most in (6, 10)))
MOST = 12
SPREAD = 0.05
SERVERS = 5
SLOWDOWN = 1.1
# The noise that all trials of a block have in common.
SWING = 0.1
SHAPES: dict[str, Callable[[Generator, int], Floats]] = {
    "normal": lambda random, size: random.normal(size=size),
    "skewed": lambda random, size: 1 - random.exponential(size=size),
    "with odd starts": lambda random, size: random.standard_t(3, size) / np.sqrt(3),
}
# How much the starts of each server differ, as a factor of the spread. The first two servers are compared.
UNEVEN: dict[str, tuple[float, ...]] = {
    "even": (1.0,) * SERVERS,
    "one of the two thrice": (3.0, 1.0, 1.0, 1.0, 1.0),
    "another one thrice": (1.0, 1.0, 3.0, 1.0, 1.0),
    "from half to twice": (0.5, 2.0, 0.7, 1.0, 1.4),
}
# In made-up trials that are compared, the first server's spread is that of the others, or three times it.
RESTLESS: dict[str, dict[str, float]] = {"even": {}, "one thrice": {"a": 3.0}}


class Study:
    """One simulated experiment of five servers, made of logarithms. Its figures are made on demand."""

    def __init__(self, random: Generator, blocks: int, noise: str = "normal", uneven: str = "even") -> None:
        swing = random.normal(0, SWING, blocks)
        self.rows = np.array([
            swing + SPREAD * times * SHAPES[noise](random, blocks) for times in UNEVEN[uneven]
        ])  # fmt: skip

    def estimate(self, blocks: int) -> Estimate:
        """The ratio of the first server to the second, which are alike, from the first `blocks` blocks."""
        rows = self.rows[:, :blocks]
        known = moderated.prior([dict(enumerate(row)) for row in rows])
        return estimate.of_values((rows[0] - rows[1]).tolist(), moderated.of_two(known, known))


def intervals(studies: int) -> Iterator[tuple[str, ...]]:
    """Coverage when a run stops, twins, and power, for a comparison of two servers."""
    yield ("noise", "servers", "blocks", "holds the truth", "twins different", "a tenth seen", "blocks used")
    for noise in SHAPES:
        for uneven in UNEVEN:
            random = np.random.default_rng([*noise.encode(), *uneven.encode()])
            tallies = {looks: Tally(looks) for looks in (*FIXED, *SEVERAL)}
            for _ in range(studies):
                study = Study(random, MOST, noise, uneven)
                estimates = {blocks: study.estimate(blocks) for blocks in range(2, MOST + 1)}
                for tally in tallies.values():
                    tally.add(estimates)
            for looks, tally in tallies.items():
                yield (noise, uneven, named(looks), *tally.shares(studies))


@dataclass
class Tally:
    """The results of studies in which two servers were compared at these looks."""

    looks: Looks
    held: int = 0
    different: int = 0
    seen: int = 0
    blocks: int = 0

    def add(self, alike: Mapping[int, Estimate]) -> None:
        """Adds one study of two servers that are alike, and the same study with the servers a tenth apart."""
        found = [self.interval(alike[blocks]) for blocks in range(self.looks.least, self.looks.most + 1)]
        self.different += any(not each.low <= 1 <= each.high for each in found)
        # A run stops at the first look that sees the tenth, or else at the last look.
        stopped = next((each for each in found if each.low * SLOWDOWN > 1), found[-1])
        self.held += stopped.low <= 1 <= stopped.high
        self.seen += stopped.low * SLOWDOWN > 1
        self.blocks += stopped.n

    def interval(self, estimate: Estimate) -> Interval:
        """The interval that a claim has at that look."""
        return estimate.interval(Look(0.95, estimate.n, self.looks).level())

    def shares(self, studies: int) -> tuple[str, ...]:
        """The columns of the table."""
        counts = (self.held, self.different, self.seen)
        return (*(f"{100 * count / studies:.1f} %" for count in counts), f"{self.blocks / studies:.1f}")


def claims(studies: int, only: set[str]) -> Iterator[tuple[str, ...]]:
    """Each kind of claim with the truth around its boundaries: how it is decided, and how often wrongly."""
    answers = (answer.value for answer in VerdictWord)
    yield ("claim", "truth", "noise", "servers", "blocks", *answers, "wrong", "blocks used")
    for case in Trials.cases():
        if only and case.kind not in only:
            continue
        meant = CLAIM.validate_python({"id": "S", "text": "A claim.", "kind": case.kind, **case.written})
        for noise in SHAPES:
            for servers in RESTLESS if case.kind in ("order", "ratio") else ("even",):
                random = np.random.default_rng([*noise.encode(), *case.name.encode(), *servers.encode()])
                ended: dict[Looks, list[tuple[VerdictWord, int]]] = {
                    looks: [] for looks in (*FIXED, *SEVERAL)
                }
                for _ in range(studies):
                    figures = case.make(Trials(random, MOST, SHAPES[noise], SPREAD, SWING, RESTLESS[servers]))
                    memory: dict[str, Any] = {}
                    for looks, found in ended.items():
                        found.append(run(meant, figures, looks, case.facts, memory))
                for looks, found in ended.items():
                    counted = [sum(answer is each for each, _ in found) for answer in VerdictWord]
                    wrong = sum(each in case.wrong for each, _ in found)
                    shares = (f"{100 * count / studies:.1f} %" for count in (*counted, wrong))
                    used = f"{sum(blocks for _, blocks in found) / studies:.1f}"
                    yield (case.kind, case.name, noise, servers, named(looks), *shares, used)


def run(
    claim: Claim, figures: Sequence[Figures], looks: Looks, facts: RunFacts, memory: dict[str, Any]
) -> tuple[VerdictWord, int]:
    """How a run of one claim with these looks ends, and after how many blocks, as in verdict/verdict.py.

    A look that decides ends the run, so each is asked once. The run also ends if more blocks would not help.
    """
    scales = {"e": Scale(blocks=looks.most, stop=Until(duration_s=1))}
    for blocks in range(looks.least, looks.most + 1):
        first = tuple(each for each in figures if each.block <= blocks)
        case = ClaimCase(first, {}, facts, Look(0.95, blocks, looks), memory)
        said = verdict.at_look(claim, case)
        ahead = verdict.outlook(said, blocks, scales)
        if ahead.over or ahead.needed is None or blocks == looks.most:
            return said.answer, blocks
    raise AssertionError("the last look ends it")


def named(looks: Looks) -> str:
    """The name of a design in a table."""
    return str(looks.most) if looks.once else f"{looks.least} to {looks.most}"


def table(rows: Iterator[tuple[str, ...]]) -> None:
    """Prints a table in Markdown, row by row as the rows come."""
    for index, row in enumerate(rows):
        print(f"| {' | '.join(row)} |", flush=True)
        if not index:
            print("|" + "---|" * len(row))
    print()


def main() -> None:
    """Prints the tables."""
    arguments = parse()
    only = set(filter(None, arguments.only.split(",")))
    print(f"{arguments.studies:,} studies each; noise of {SPREAD:.0%} per trial, and {SWING:.0%} per block\n")
    if not only or "intervals" in only:
        table(intervals(arguments.studies))
    if only != {"intervals"}:
        table(claims(arguments.studies, only - {"intervals"}))


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--only", default="", help="intervals, or kinds of claims, with commas between them")
    return options.parse(parser, studies=1)


if __name__ == "__main__":
    main()
