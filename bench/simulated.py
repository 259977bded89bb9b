"""What do a million users cost, and a thousand kinds of requests? The engine's loop on simulated sockets
(simulated.rs), without a kernel: `closed` without pauses, `paused` with exponential ones.

    python bench/simulated.py --rounds 5

For each number of users, and of kinds, prints the cost of a request and of an interval's end, and the bytes
of a user. The largest number of users is judged against the smallest, and a thousand kinds against one, by
their ratio within a round with its 95 % interval over rounds. Exits 1 if a ratio is above its bound. In the
shortest form costs are differences of almost nothing, and may be below 0.
"""

import argparse
import json
from collections import defaultdict

import load
import options
from bounds import Bounds, run, skip
from crumple.stats import estimate

SIZES = [1_000, 10_000, 100_000, 1_000_000]
# The cost with the most users over that with the fewest.
AT_MOST = {"ns_per_request": 1.1, "ns_per_interval_end": 2.0}
# The cost with this many kinds of requests over that with one.
KINDS = 1_000
AT_MOST_OF_KINDS = {"ns_per_request": 2.0, "ns_per_interval_end": 2.0}
COUNTED = "bytes_per_user"

# Shape, users and kinds → figure → one reading per round.
Readings = dict[tuple[str, int, int], dict[str, list[float]]]


def main() -> None:
    arguments = parse()
    try:
        program = load.example("simulated", debug_will_do=arguments.shortest)
    except load.NotBuiltError as error:
        skip(str(error))
    bounds = Bounds(judging=not arguments.shortest)
    readings: Readings = defaultdict(lambda: defaultdict(list))
    command = [str(program), *([options.SHORTEST] if arguments.shortest else []), *map(str, arguments.users)]
    for _ in range(arguments.rounds):
        output, _ = load.Running(command, arguments.load_core).finish()
        for said in map(json.loads, output.splitlines()):
            for figure in (*AT_MOST, COUNTED):
                readings[said["shape"], said["users"], said["kinds"]][figure].append(said[figure])
    table(readings)
    if not arguments.shortest:
        judge(readings, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 7)
    options.cores(parser)
    parser.add_argument("--users", type=options.numbers, default=SIZES)
    return options.parse(parser, rounds=1, users=[10, 1_000])


def table(readings: Readings) -> None:
    """Prints a row for each shape, number of users and number of kinds."""
    print(f"{'shape':8}" + "".join(f"{name:>22}" for name in ("users", "kinds", *AT_MOST, COUNTED)))
    for (shape, users, kinds), figures in readings.items():
        values = (load.middle(figures[figure]) for figure in (*AT_MOST, COUNTED))
        print(f"{shape:8}{users:22,}{kinds:22,}" + "".join(f"{value:22,.1f}" for value in values))


def judge(readings: Readings, bounds: Bounds) -> None:
    """Prints each ratio with its bound."""
    for shape in sorted({shape for shape, _, _ in readings}):
        sizes = [users for its, users, kinds in readings if its == shape and kinds == 1]
        fewest, most = min(sizes), max(sizes)
        compare(readings, bounds, f"{shape}, users", (shape, most, 1), (shape, fewest, 1), AT_MOST)
        if (shape, fewest, KINDS) in readings:
            ends = (shape, fewest, KINDS), (shape, fewest, 1)
            compare(readings, bounds, f"{shape}, kinds", *ends, AT_MOST_OF_KINDS)


def compare(
    readings: Readings,
    bounds: Bounds,
    what: str,
    most: tuple[str, int, int],
    fewest: tuple[str, int, int],
    at_most: dict[str, float],
) -> None:
    """Prints the ratios of what the most users, or kinds, cost to what the fewest cost."""
    (number,) = [
        f"{high:,} over {low:,}" for high, low in zip(most[1:], fewest[1:], strict=True) if high != low
    ]
    for figure, bound in at_most.items():
        ratio = estimate.paired_ratio(readings[most][figure], readings[fewest][figure])
        name = f"{figure}, {what}, {number}"
        interval = f"{ratio.estimate:.2f}  ({ratio.low:.2f} to {ratio.high:.2f})"
        print(f"{name}: {interval}   {bounds.at_most(name, ratio, bound)}")


if __name__ == "__main__":
    run(main)
