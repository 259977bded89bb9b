#!/usr/bin/env python3
"""How often verdicts are right, by simulation: the whole rule, from made-up trials whose truth is known.

    .venv/bin/python bench/simulate_studies.py --studies 2000          # all tables, some minutes
    .venv/bin/python bench/simulate_studies.py --only ratio,share      # some of them

Four tables: how often intervals hold the truth and twins are called different, what a run sees, and how often
each kind of claim is decided wrongly with the truth just beside a boundary. Nothing is measured here.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import options
from crumple.stats import moderated
from crumple.study.claim import Claim
from crumple.verdict import verdict
from crumple.verdict.effect import Answer
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import TypeAdapter
from simulated_trials import Trials

Floats = NDArray[np.float64]
CLAIM: TypeAdapter[Claim] = TypeAdapter(Claim)

BLOCKS = (2, 3, 5, 8, 12)
SPREAD = 0.05
SERVERS = 5
SLOWDOWN = 1.1
# What all trials of a block have in common.
SWING = 0.1
SHAPES: dict[str, Callable[[Generator, int], Floats]] = {
    "normal": lambda random, size: random.normal(size=size),
    "skewed": lambda random, size: 1 - random.exponential(size=size),
    "with odd starts": lambda random, size: random.standard_t(3, size) / np.sqrt(3),
}
# How restless each server is; the first two are compared.
UNEVEN: dict[str, tuple[float, ...]] = {
    "even": (1.0,) * SERVERS,
    "one of the two thrice": (3.0, 1.0, 1.0, 1.0, 1.0),
    "another one thrice": (1.0, 1.0, 3.0, 1.0, 1.0),
    "from half to twice": (0.5, 2.0, 0.7, 1.0, 1.4),
}


class Study:
    """One simulated experiment of five servers, made of logarithms; its figures are made on demand."""

    def __init__(self, random: Generator, blocks: int, noise: str = "normal", uneven: str = "even") -> None:
        swing = random.normal(0, SWING, blocks)
        self.rows = np.array([
            swing + SPREAD * times * SHAPES[noise](random, blocks) for times in UNEVEN[uneven]
        ])  # fmt: skip

    def estimate(self, truth: float) -> moderated.Estimate:
        """Of the first over the second, which are `truth` apart."""
        known = moderated.prior([dict(enumerate(row)) for row in self.rows])
        logs = self.rows[0] - self.rows[1] + np.log(truth)
        return moderated.estimated(logs.tolist(), moderated.of_two(known, known))


def intervals(studies: int) -> Iterator[tuple[str, ...]]:
    """Coverage, twins and power of a comparison of two servers."""
    yield ("noise", "servers", "blocks", "holds the truth", "twins called different", "a tenth seen")
    for noise in SHAPES:
        for uneven in UNEVEN:
            for blocks in BLOCKS:
                random = np.random.default_rng([blocks, *noise.encode(), *uneven.encode()])
                held = different = seen = 0
                for _ in range(studies):
                    found = Study(random, blocks, noise, uneven).estimate(1.0).interval(0.95)
                    held += found.low <= 1 <= found.high
                    different += not found.low <= 1 <= found.high
                    seen += found.low * SLOWDOWN > 1
                shares = (f"{100 * count / studies:.1f} %" for count in (held, different, seen))
                yield (noise, uneven, str(blocks), *shares)


def claims(studies: int, only: set[str]) -> Iterator[tuple[str, ...]]:
    """Each kind of claim with the truth around its boundaries: how it is decided, and how often wrongly."""
    yield ("claim", "truth", "noise", "blocks", *(answer.value for answer in Answer), "wrong")
    for case in Trials.cases():
        if only and case.kind not in only:
            continue
        meant = CLAIM.validate_python({"id": "S", "text": "A claim.", "kind": case.kind, **case.written})
        for noise in SHAPES:
            for blocks in BLOCKS:
                random = np.random.default_rng([blocks, *noise.encode(), *case.name.encode()])
                answers = Counter[Answer]()
                for _ in range(studies):
                    figures = case.make(Trials(random, blocks, SHAPES[noise], SPREAD, SWING))
                    answers[verdict.judge(meant, figures, facts=case.facts).answer] += 1
                wrong = sum(answers[answer] for answer in case.wrong)
                counted = [answers[answer] for answer in Answer] + [wrong]
                yield (
                    case.kind,
                    case.name,
                    noise,
                    str(blocks),
                    *(f"{100 * n / studies:.1f} %" for n in counted),
                )


def table(rows: Iterator[tuple[str, ...]]) -> None:
    """In Markdown, row by row as they come."""
    for index, row in enumerate(rows):
        print(f"| {' | '.join(row)} |", flush=True)
        if not index:
            print("|" + "---|" * len(row))
    print()


def main() -> None:
    """Print the tables."""
    arguments = parse()
    only = set(filter(None, arguments.only.split(",")))
    print(f"{arguments.studies:,} studies each; noise of {SPREAD:.0%} per trial, and {SWING:.0%} per block\n")
    if not only or "intervals" in only:
        table(intervals(arguments.studies))
    if only != {"intervals"}:
        table(claims(arguments.studies, only - {"intervals"}))


def parse() -> argparse.Namespace:
    """What was typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--only", default="", help="intervals, or kinds of claims, with commas between them")
    return options.parse(parser, studies=2)


if __name__ == "__main__":
    main()
