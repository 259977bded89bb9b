#!/usr/bin/env python3
"""How often do intervals hold the truth in a run on several hosts? Made-up trials whose truth is known.

    .venv/bin/python bench/simulate_hosts.py --studies 4000

Hosts differ by 20 % (a standard deviation of logarithms), blocks by 10 %, starts by 5 %. A row says how often
a 95 % interval holds the truth: of the ratio of two servers, also where hosts change each server on its own,
by so many percent; and of the figure of one server. Both truths are means over all hosts like these, so one
host shows neither the figure nor such a ratio. The last column is of a rule that takes all starts for those
of one host.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import options
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats.estimate import Estimate
from crumple.verdict import opinions
from crumple.verdict.evidence import Evidence
from numpy.random import Generator
from simulated_trials import figures

SPREAD, SWING, HOST = 0.05, 0.1, 0.2
SPEED = 10_000.0
SERVERS = ("a", "b", "x", "y", "z")
# Hosts, and blocks of each.
DESIGNS = ((1, 6), (2, 6), (3, 2), (3, 4), (5, 1), (5, 4), (12, 1), (12, 2))
# By how much a host changes each server on its own.
OWN = (0.0, 0.02, 0.05, 0.2)


def trials(random: Generator, hosts: int, blocks: int, own: float) -> list[Figures]:
    """Trials of five servers of equal speed, and of a twin, in so many blocks of each host."""
    found = []
    levels = random.normal(0, HOST, hosts)
    kinds = random.normal(0, own, (hosts, len(SERVERS)))
    for block in range(hosts * blocks):
        host = block % hosts
        swing = levels[host] + random.normal(0, SWING)
        for at, server in [*enumerate(SERVERS), (1, "b~twin")]:
            speed = SPEED * np.exp(swing + kinds[host, at] + random.normal(0, SPREAD))
            found.append(
                figures(
                    server.removesuffix("~twin"),
                    block + 1,
                    twin=server.endswith("~twin"),
                    throughput_per_s=float(speed),
                    host=f"host {host}",
                )
            )
    return found


def estimates(made: list[Figures]) -> tuple[Estimate, Estimate, Estimate]:
    """The ratio of two servers, the figure of one, and that figure as if there were one host."""
    evidence = Evidence("e", METRICS["throughput"], tuple(made), {})
    alone = evidence.alone("a")
    return (
        opinions.ratio(evidence, "a", "b", evidence.paired("a", "b")),
        opinions.value(alone.values, alone.factors, alone.hosts),
        opinions.value(alone.values, alone.factors),
    )


def coverage(studies: int, hosts: int, blocks: int, own: float) -> tuple[float, float, float]:
    """In which share of studies each of the three intervals holds the truth."""
    random = np.random.default_rng([hosts, blocks, round(1_000 * own)])
    held = np.zeros(3)
    for _ in range(studies):
        found = estimates(trials(random, hosts, blocks, own))
        for at, (estimate, truth) in enumerate(zip(found, (1.0, SPEED, SPEED), strict=True)):
            interval = estimate.interval()
            held[at] += interval.low <= truth <= interval.high
    ratio, figure, unaware = held / studies
    return ratio, figure, unaware


def rows(studies: int) -> Iterator[tuple[str, ...]]:
    """The table, row by row."""
    kinds = [f"ratio, and each server {own:.0%}" if own else "ratio" for own in OWN]
    yield ("hosts", "blocks of each", *kinds, "figure", "figure, as of one host")
    for hosts, blocks in DESIGNS:
        found = [coverage(studies, hosts, blocks, own) for own in OWN]
        shares = [*(ratio for ratio, _, _ in found), *found[0][1:]]
        yield (str(hosts), str(blocks), *(f"{100 * share:.1f} %" for share in shares))


def main() -> None:
    """Prints the table in Markdown."""
    parser = options.parser(__doc__)
    parser.add_argument("--studies", type=int, default=1_000)
    arguments: argparse.Namespace = options.parse(parser, studies=2)
    for index, row in enumerate(rows(arguments.studies)):
        print(f"| {' | '.join(row)} |", flush=True)
        if not index:
            print("|" + "---|" * len(row))


if __name__ == "__main__":
    main()
