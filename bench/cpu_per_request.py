"""CPU per request of the engine, of its peers and of a bare loop, in the same interleaved run.

    make bench                                        # all there is
    python bench/cpu_per_request.py --rounds 5 --connections 32,256

Each load generator has one core, the server another; all ask the same address for the same time, and their
CPU is what the kernel charged the whole process with. Order within a round is random; what is compared is
the ratio of engine to peer within a round, with its 95 % interval over rounds. Exits 1 where a ratio is
above its bound.
"""

import argparse

import load
import targets
from bounds import Bounds, run
from crumple.machine import machine
from crumple.stats import stats
from peers import INSTALL, PEERS

BARE = "bare loop"
# The engine's CPU per request over this one's.
AT_MOST = {"wrk": 0.85, "h2load": 0.8, "oha": 0.6, "hey": 0.3, BARE: 1.12}


def main() -> None:
    arguments = parse()
    machine.raise_open_files()
    missing = [peer.name for peer in PEERS if not peer.installed]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}  (to install: {INSTALL})")
    beside = [peer.name for peer in PEERS if peer.installed]
    try:
        load.example("bare_loop")
        beside.append(BARE)
    except FileNotFoundError as error:
        print(f"left out: {error}")
    bounds = Bounds()
    for name, start in targets.installed().items():
        with start(arguments.server_core) as address:
            for connections in arguments.connections:
                compare(name, address, connections, beside, arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument(
        "--connections", type=lambda text: [int(n) for n in text.split(",")], default=[32, 256, 1000]
    )
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    return parser.parse_args()


def compare(
    name: str,
    address: str,
    connections: int,
    beside: list[str],
    arguments: argparse.Namespace,
    bounds: Bounds,
) -> None:
    """Runs the rounds against one server and prints the table."""
    costs: dict[str, list[load.Cost]] = {"crumple": [], **{who: [] for who in beside}}
    for who in load.interleaved(costs, arguments.rounds, connections):
        costs[who].append(once(who, address, connections, arguments))
    print(
        f"\n{name}, {connections} keep-alive connections, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    print(
        f"{'':10}{'CPU µs/request':>16}{'requests/s':>14}   "
        "crumple's CPU per request over this one's (95 % interval)"
    )
    ours = [cost.cpu_per_request_us for cost in costs["crumple"]]
    for who, spent in costs.items():
        theirs = [cost.cpu_per_request_us for cost in spent]
        rate = load.middle([cost.throughput_per_s for cost in spent])
        ratio = ""
        if who != "crumple":
            interval = stats.paired_ratio(ours, theirs)
            ratio = f"{interval.estimate:.2f}  ({interval.low:.2f} to {interval.high:.2f})"
            if who in AT_MOST:
                where = f"{who}, {name}, {connections} connections"
                ratio += f"  {bounds.at_most(where, interval.estimate, AT_MOST[who])}"
        print(f"{who:10}{load.middle(theirs):16.2f}{rate:14,.0f}   {ratio}", flush=True)


def once(who: str, address: str, connections: int, arguments: argparse.Namespace) -> load.Cost:
    seconds, core = arguments.seconds, arguments.load_core
    if who == "crumple":
        return load.with_engine(load.spec(address, load.closed(connections), seconds, core))
    if who == BARE:
        return load.bare_loop(address, connections, seconds, core)
    peer = next(peer for peer in PEERS if peer.name == who)
    return load.with_peer(peer, f"http://{address}/", connections, seconds, core)


if __name__ == "__main__":
    run(main)
