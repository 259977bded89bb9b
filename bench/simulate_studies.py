#!/usr/bin/env python3
"""How often verdicts are right, by simulation, for more noises and repetitions than tests have time for.

    .venv/bin/python bench/simulate_studies.py --studies 2000

Each row: starts whose throughput scatters by so much around a truth that is known. Nothing is measured here.
"""

import numpy as np
import options
from crumple.stats.stats import distinguishable, noise_floor, paired_ratio

NOISES = (0.01, 0.02, 0.025, 0.03, 0.05)
BLOCKS = (3, 5, 6, 10)
SLOWDOWN = 1.1


def row(noise: float, blocks: int, studies: int) -> tuple[float, float, float]:
    """Shares of studies: interval holds the truth, slowdown is found, twins are called different."""
    random = np.random.default_rng([round(noise * 1000), blocks])
    held = found = mistaken = 0
    for _ in range(studies):
        fast, slow, first, twin, other = np.exp(random.normal(0, noise, (5, blocks)))
        ratio, floor = paired_ratio(fast, slow / SLOWDOWN), noise_floor(first, twin)
        held += ratio.low <= SLOWDOWN <= ratio.high
        found += distinguishable(ratio, floor)
        mistaken += distinguishable(paired_ratio(fast, other), floor)
    return held / studies, found / studies, mistaken / studies


def main() -> None:
    """Print the table."""
    parser = options.parser(__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    studies = options.parse(parser, studies=2).studies
    print(f"{studies:,} studies each; a true slowdown of {SLOWDOWN - 1:.0%}\n")
    print("| noise per trial | blocks | interval holds the truth | slowdown found | twins told apart |")
    print("|---|---|---|---|---|")
    for noise in NOISES:
        for blocks in BLOCKS:
            shares = row(noise, blocks, studies)
            print(f"| {noise:.1%} | {blocks} | {' | '.join(f'{share:.1%}' for share in shares)} |")


if __name__ == "__main__":
    main()
