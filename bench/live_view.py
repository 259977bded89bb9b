"""What does the live view cost? The throughput of `crumple load` with its live view on a terminal, over that
with --quiet, in interleaved rounds. Engine and server have one core each; the view runs on any free core.

    python bench/live_view.py --rounds 10

Exits 1 if the view costs more than 2 %.
"""

import argparse
import json
import sys

import load
import options
import targets
import terminal
from bounds import Bounds, run, skip
from crumple.stats import estimate

COST_AT_MOST_PERCENT = 2
# Done; and done, but not valid: against a server that does nothing, the engine is the limit.
MEASURED = (0, 3)


def main() -> None:
    arguments = parse()
    if not terminal.CRUMPLE.is_file():
        skip(f"no crumple beside {sys.executable} (to install: {terminal.INSTALL})")
    bounds = Bounds(judging=not arguments.shortest)
    print(
        f"throughput of {arguments.connections} connections watched over that with --quiet, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    servers = targets.installed()
    for name in list(servers)[: 1 if arguments.shortest else None]:
        with servers[name](arguments.server_core) as address:
            seen: dict[str, list[float]] = {"watched": [], "quiet": []}
            for how in load.interleaved(seen, arguments.rounds):
                seen[how].append(throughput_per_s(address, how == "quiet", arguments))
        ratio = estimate.paired_ratio(seen["watched"], seen["quiet"])
        bound = 1 - COST_AT_MOST_PERCENT / 100
        word = bounds.at_least(f"cost of the view, {name}", ratio, bound)
        print(
            f"{name:14}{ratio.estimate:6.3f}  ({ratio.low:.3f} to {ratio.high:.3f}, 95 % interval)   {word}",
            flush=True,
        )
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 10, 4.0)
    options.cores(parser)
    parser.add_argument("--connections", type=int, default=64)
    # The first line of progress comes after a second.
    return options.parse(parser, rounds=1, seconds=1.3, connections=4)


def throughput_per_s(address: str, quiet: bool, arguments: argparse.Namespace) -> float:
    """One load on a terminal of its own. Raises LoadError if it fails, or shows what it should not show."""
    said = terminal.call(
        *("load", f"http://{address}/", "--json", "--no-store"),
        *("-c", str(arguments.connections), "-z", f"{arguments.seconds:g}s"),
        *("--cores", str(arguments.load_core)),
        *(["--quiet"] if quiet else []),
    )
    if said.code not in MEASURED:
        raise load.LoadError(f"crumple load ended with {said.code}: {said.screen[-300:].strip()}")
    if quiet == ("p99" in said.screen):
        raise load.LoadError(
            f"with{'' if quiet else 'out'} --quiet it showed: {said.screen[-300:].strip()!r}"
        )
    return float(json.loads(said.answer)["throughput_per_s"])


if __name__ == "__main__":
    run(main)
