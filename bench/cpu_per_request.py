"""CPU per request of the engine and of its peers, in the same interleaved run.

    make bench                                        # all there is
    python bench/cpu_per_request.py --rounds 5 --connections 32,256

Each load generator has one core, the server another. Order within a round is random; what is compared is the
ratio of engine to peer within a round, with its 95 % interval over rounds.
"""

import argparse
import random
import shutil

import load
from crumple import stats
from peers import INSTALL, PEERS, Peer


def main() -> None:
    arguments = parse()
    missing = [peer.name for peer in PEERS if not peer.installed]
    if missing:
        print(f"not installed, left out: {', '.join(missing)}  (to install: {INSTALL})")
    peers = [peer for peer in PEERS if peer.installed]
    servers = {"null server": load.null_server(arguments.server_core)}
    if shutil.which("nginx"):
        servers["nginx"] = load.nginx(arguments.server_core)
    for name, server in servers.items():
        with server as address:
            for connections in arguments.connections:
                compare(name, address, connections, peers, arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument(
        "--connections", type=lambda text: [int(n) for n in text.split(",")], default=[32, 256]
    )
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    return parser.parse_args()


def compare(
    name: str, address: str, connections: int, peers: list[Peer], arguments: argparse.Namespace
) -> None:
    """Runs the rounds against one server and prints the table."""
    costs: dict[str, list[load.Cost]] = {"crumple": [], **{peer.name: [] for peer in peers}}
    shuffled = random.Random(connections)
    for _ in range(arguments.rounds):
        for who in shuffled.sample(sorted(costs), len(costs)):
            costs[who].append(once(who, address, connections, peers, arguments))
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
        middle = sorted(theirs)[len(theirs) // 2]
        rate = sorted(cost.throughput_per_s for cost in spent)[len(spent) // 2]
        ratio = ""
        if who != "crumple" and len(ours) > 1:
            interval = stats.paired_ratio(ours, theirs)
            ratio = f"{interval.estimate:.2f}  ({interval.low:.2f} to {interval.high:.2f})"
        print(f"{who:10}{middle:16.2f}{rate:14,.0f}   {ratio}")


def once(
    who: str, address: str, connections: int, peers: list[Peer], arguments: argparse.Namespace
) -> load.Cost:
    if who == "crumple":
        return load.with_engine(address, "/", connections, arguments.seconds, arguments.load_core)
    peer = next(peer for peer in peers if peer.name == who)
    return load.with_peer(peer, f"http://{address}/", connections, arguments.seconds, arguments.load_core)


if __name__ == "__main__":
    main()
