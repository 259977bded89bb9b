"""CPU per request of the engine, of its peers and of a bare loop, in the same interleaved run.

    make bench                                        # all there is
    python bench/cpu_per_request.py --rounds 5 --connections 32,256

Each load generator has one core, and the server has another. All of them load the same address for the same
time. Their CPU is what the kernel charged to the whole process. The order within a round is random. The
script compares the engine with each peer by their ratio within a round, with its 95 % interval over rounds.
The bare loop is `stamped`: it takes the kernel's timestamps, reads the clock and stores the time of each
answer, as every program that measures has to. Below each table is what the engine's CPU was spent on: the
loop; collector and probes; start and end, whose share is smaller in longer rounds. Beside it is the ratio of
the two loops alone, which is not judged. Exits 1 if a ratio is above its bound.
"""

import argparse
from collections import defaultdict

import load
import options
import targets
from bounds import Bounds, run
from crumple.machine import capacity
from crumple.stats import estimate
from crumple.stats.interval import Interval
from peers import INSTALL, PEERS

CRUMPLE, BARE = "crumple", "bare loop"
# The most that the engine's CPU per request may be of the peer's, on each server.
AT_MOST = {
    BARE: {"null server": 1.05, "nginx": 1.05},
    "wrk": {"null server": 0.80, "nginx": 0.88},
    "h2load": {"null server": 0.8, "nginx": 0.8},
    "oha": {"null server": 0.6, "nginx": 0.6},
    "hey": {"null server": 0.3, "nginx": 0.3},
}


def main() -> None:
    arguments = parse()
    capacity.raise_open_files()
    missing = [peer.name for peer in PEERS if not peer.installed]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}  (to install: {INSTALL})")
    beside = [peer.name for peer in PEERS if peer.installed and peer.name in arguments.peers]
    try:
        arguments.bare_loop = load.example("bare_loop", debug_will_do=arguments.shortest)
        beside.append(BARE)
    except load.NotBuiltError as error:
        print(f"left out: {error}")
    bounds = Bounds(judging=not arguments.shortest)
    for name, start in targets.installed().items():
        with start(arguments.server_core) as address:
            for connections in arguments.connections:
                compare(name, address, connections, beside, arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 6, 3.0)
    options.cores(parser)
    parser.add_argument("--connections", type=options.numbers, default=[32, 256, 1000])
    parser.add_argument("--peers", type=options.words, default=[peer.name for peer in PEERS])
    return options.parse(parser, rounds=1, seconds=0.6, connections=[8], peers=[])


def compare(
    name: str,
    address: str,
    connections: int,
    beside: list[str],
    arguments: argparse.Namespace,
    bounds: Bounds,
) -> None:
    """Runs the rounds against one server and prints the table."""
    costs: dict[str, list[load.Cost]] = {CRUMPLE: [], **{who: [] for who in beside}}
    parts: dict[str, list[float]] = defaultdict(list)  # Of its CPU, in µs per request.
    for who in load.interleaved(costs, arguments.rounds, connections):
        costs[who].append(once(who, address, connections, arguments, parts))
    print(
        f"\n{name}, {connections} keep-alive connections, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    print(
        f"{'':10}{'CPU µs/request':>16}{'requests/s':>14}   "
        "crumple's CPU per request over this one's (95 % interval)"
    )
    ours = [cost.cpu_per_request_us for cost in costs[CRUMPLE]]
    for who, spent in costs.items():
        theirs = [cost.cpu_per_request_us for cost in spent]
        rate = load.middle([cost.throughput_per_s for cost in spent])
        ratio = ""
        if who != CRUMPLE:
            interval = estimate.paired_ratio(ours, theirs)
            ratio = said(interval)
            if who in AT_MOST:
                where = f"{who}, {name}, {connections} connections"
                ratio += f"  {bounds.at_most(where, interval, AT_MOST[who][name])}"
        print(f"{who:10}{load.middle(theirs):16.2f}{rate:14,.0f}   {ratio}", flush=True)
    floor = parts.pop(BARE, None)
    spent_on = ", ".join(f"{part} {load.middle(us):.2f}" for part, us in parts.items())
    print(f"crumple's CPU: {spent_on}", end="")
    if floor:
        print(f"; its loop over the bare loop's {said(estimate.paired_ratio(parts['loop'], floor))}", end="")
    print(flush=True)


def said(ratio: Interval) -> str:
    return f"{ratio.estimate:.2f}  ({ratio.low:.2f} to {ratio.high:.2f})"


def once(
    who: str, address: str, connections: int, arguments: argparse.Namespace, parts: dict[str, list[float]]
) -> load.Cost:
    """One load. `parts` gets what the engine's CPU was spent on, and the CPU of the bare loop's own loop."""
    seconds, core = arguments.seconds, arguments.load_core
    if who == CRUMPLE:
        record, cost = load.measured(load.spec(address, load.closed(connections), seconds, core))
        for part, us in load.parts(record, cost).items():
            parts[part].append(us)
        return cost
    if who == BARE:
        cost, loop_us = load.bare_loop(arguments.bare_loop, address, connections, seconds, core)
        parts[BARE].append(loop_us)
        return cost
    peer = next(peer for peer in PEERS if peer.name == who)
    return load.with_peer(peer, f"http://{address}/", connections, seconds, core)


if __name__ == "__main__":
    run(main)
