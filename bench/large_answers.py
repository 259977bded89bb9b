"""What do large answers cost? Bytes received per second of CPU, in answers of 1 MiB that are not hashed. The
engine and wrk take turns; nginx sends a file.

    python bench/large_answers.py --rounds 10 --connections 8,64

Each load generator has one core, and the server has another. The script compares the engine with wrk by their
ratio within a round, with its 95 % interval over rounds. Exits 1 if the ratio is below its bound.
"""

import argparse

import load
import options
import targets
from bounds import Bounds, run, skip
from crumple.stats import estimate
from peers import INSTALL, PEERS

AT_LEAST = 3
MIB = 1024 * 1024
CRUMPLE, WRK = "crumple", "wrk"


def main() -> None:
    arguments = parse()
    wrk = next(peer for peer in PEERS if peer.name == WRK)
    if not wrk.installed:
        skip(f"wrk is not installed (to install: {INSTALL})")
    if not targets.has_nginx():
        skip(f"nginx is not installed (to install: {targets.INSTALL_NGINX})")
    bounds = Bounds(judging=not arguments.shortest)
    print(
        f"nginx, answers of {arguments.bytes:,} bytes, not hashed, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    print(f"{'connections':>12}{'':10}{'MiB/CPU s':>12}{'MiB/s':>10}   crumple's over wrk's (95 % interval)")
    with targets.nginx(arguments.server_core, arguments.bytes) as address:
        for connections in arguments.connections:
            compare(address, connections, arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 10, 2.0)
    options.cores(parser)
    parser.add_argument("--connections", type=options.numbers, default=[8, 64])
    parser.add_argument("--bytes", type=int, default=MIB)
    return options.parse(parser, rounds=1, seconds=0.8, connections=[8])


def compare(address: str, connections: int, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """Runs the rounds with one number of connections and prints its rows."""
    costs: dict[str, list[load.Cost]] = {CRUMPLE: [], WRK: []}
    for who in load.interleaved(costs, arguments.rounds, connections):
        costs[who].append(once(who, address, connections, arguments))
    per_cpu_s = {
        who: [cost.answered * arguments.bytes / MIB / cost.cpu_s for cost in spent]
        for who, spent in costs.items()
    }
    ratio = estimate.paired_ratio(per_cpu_s[CRUMPLE], per_cpu_s[WRK])
    word = bounds.at_least(f"bytes per CPU second, {connections} connections", ratio, AT_LEAST)
    for who, spent in costs.items():
        rate = load.middle([cost.throughput_per_s * arguments.bytes / MIB for cost in spent])
        row = f"{connections:12}  {who:8}{load.middle(per_cpu_s[who]):12,.0f}{rate:10,.0f}"
        if who == CRUMPLE:
            row += f"   {ratio.estimate:.2f}  ({ratio.low:.2f} to {ratio.high:.2f})  {word}"
        print(row, flush=True)


def once(who: str, address: str, connections: int, arguments: argparse.Namespace) -> load.Cost:
    seconds, core = arguments.seconds, arguments.load_core
    if who == WRK:
        wrk = next(peer for peer in PEERS if peer.name == WRK)
        # wrk counts whole seconds.
        url = f"http://{address}{targets.LARGE_PATH}"
        return load.with_peer(wrk, url, connections, max(seconds, 1.0), core)
    spec = load.spec(address, load.closed(connections), seconds, core, path=targets.LARGE_PATH)
    return load.with_engine(spec)


if __name__ == "__main__":
    run(main)
