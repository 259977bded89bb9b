"""Do several load hosts together measure what one measures? The hosts are in namespaces of their own, behind
links of their own, each with a real sshd.

    python bench/several_hosts.py --results several.jsonl             # all parts: about two hours
    python bench/several_hosts.py --only merge                        # 10,000 made-up loads: minutes
    python bench/several_hosts.py --only starts,pairs                 # 50 starts, 20 pairs: eight minutes
    python bench/several_hosts.py --only lost --rounds 20
    python bench/several_hosts.py --only find --seeds 3 --results several.jsonl

merge: of loads whose every request is made up, the parts put together have to be the record of the whole.
starts: when the first connection of either host comes, by the kernel's stamp on this side of each link: the
median of how far they are apart must be 0.2 ms at most, the largest 1 ms. pairs: loads of one server at one
rate, in random order: from one host, from it again, from both; p50 and p99 from both may differ from those
of one as far as the two of one differ. lost: one of two hosts is killed, frozen or cut off while both load:
the load must be over after 4 s, with no engine left, and the result be named agent-lost. find: the intervals
of a search from here and of one from both hosts overlap for 95 % of servers and seeds. Rows in the file of
--results are not measured again. It takes root and sshd, and is skipped without.
"""

import argparse
import socket
import statistics
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import asked_corpus
import elsewhere
import load_pairs
import lost_agents  # type: ignore[import-not-found]
import made_parts  # type: ignore[import-not-found]
import options
import secure_shell  # type: ignore[import-not-found]
import several_loaders  # type: ignore[import-not-found]
from asked_corpus import Row, Rows
from bounds import Bounds, run
from crumple import contract, engine, project
from crumple.engine import Engine
from crumple.load_host import where
from crumple.load_host.load_host import LoadHost
from crumple.load_host.several_hosts import SeveralHosts
from crumple.record import together
from crumple.stats.interval import Interval
from load_hosts import Elsewhere
from load_pairs import worded

CASES, STARTS, PAIRS, SEEDS, ROUNDS = 10_000, 50, 20, 10, 20
APART_MEDIAN_MS, APART_MOST_MS, OVER_S = 0.2, 1.0, 4.0
NAMES = ("first", "second")
ONE, TWIN, BOTH = "one", "twin", "both"
# The kernel's numbers: a packet's stamp, IPv4, and the flags of TCP.
SO_TIMESTAMPNS, ETH_P_IP, SYN, SYN_ACK = 35, 0x0800, 0x02, 0x12
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
PARTS = ("merge", "starts", "pairs", "lost", "find")


def main() -> None:
    arguments = parse()
    asked_corpus.skip_unless_possible(secure_shell.why_not())
    rows, bounds = Rows(arguments.results), Bounds(judging=not arguments.shortest)
    parts: dict[str, Callable[..., None]] = dict(zip(PARTS, (merge, starts, pairs, lost, finds), strict=True))
    with tempfile.TemporaryDirectory() as folder, several_loaders.started(NAMES, Path(folder)) as loaders:
        for part in arguments.only:
            print(f"== {part}", flush=True)
            parts[part](loaders, rows, bounds, arguments)
    bounds.close()


def parse() -> argparse.Namespace:
    """The flags as typed."""
    parser = options.parser(__doc__)
    parser.add_argument("--only", type=options.words, default=list(PARTS), help="these parts")
    parser.add_argument("--cases", type=int, default=CASES, help="made-up loads")
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each fault")
    parser.add_argument("--seconds", type=float, default=5.0, help="of one load")
    parser.add_argument("--servers", type=options.words, help="search these")
    parser.add_argument("--seed", type=int, default=elsewhere.SEED, help="of the order")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="searches of each server")
    parser.add_argument("--budget", default="60s", help="of a search")
    parser.add_argument("--results", type=Path, help="append each row to this file, and continue it")
    shortest = {"only": ["merge", "starts", "pairs"], "cases": 20, "starts": 2, "pairs": 1, "seconds": 3.0}
    return options.parse(parser, **shortest)


def merge(_loaders: Any, _rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Compare parts that are put together with the record of all requests."""
    different = []
    for seed in range(arguments.cases):
        whole, parts = made_parts.case(seed)
        try:
            made_parts.check(whole, together.together(parts))
        except AssertionError:
            different.append(seed)
    print(f"{arguments.cases:,} loads: {len(different)} differ {different[:5]}")
    if different:
        bounds.miss("merge")


def starts(loaders: Any, _rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Measure how far apart the first connections of both hosts come."""
    apart_ms = []
    with server(loaders.address) as port, source(loaders) as load:
        for _ in range(arguments.starts):
            with first_syns(loaders, port) as stamped_ns:
                record = engine.run(load, short(f"{loaders.address}:{port}"), lambda _: None)
            apart_ms.append((max(stamped_ns) - min(stamped_ns)) / 1e6)
            assert len(record.load_hosts) == len(NAMES)
    median_ms, most_ms = statistics.median(apart_ms), max(apart_ms)
    print(f"{len(apart_ms)} starts: median {median_ms:.3f} ms apart, 90 % within "
          f"{sorted(apart_ms)[round(0.9 * (len(apart_ms) - 1))]:.3f} ms, worst {most_ms:.3f} ms")  # fmt: skip
    for name, figure, bound in (("median", median_ms, APART_MEDIAN_MS), ("worst", most_ms, APART_MOST_MS)):
        sure = Interval(figure, figure, figure, 0.95, len(apart_ms))
        print(f"{name} {bounds.at_most(f'{name} start', sure, bound, ' ms')}")


@contextmanager
def source(loaders: Any) -> Iterator[Engine]:
    """An engine whose loads come from both hosts."""
    near = engine.load(project.root())
    with ExitStack() as stack:
        hosts = [stack.enter_context(LoadHost(where.read(each.where), near.path)) for each in loaders.each]
        yield replace(near, load_host=SeveralHosts(hosts))


def short(address: str) -> contract.TrialSpec:
    """A load of a connection from each host for a fifth of a second."""
    expect = contract.ExpectSpec(status=200, body_bytes=2, body_sha256=None, hash_one_in=0)
    return contract.TrialSpec(
        label="start",
        target=contract.Target(address=address, host=address),
        requests=(contract.RequestSpec(method="GET", path="/", expect=expect),),
        shape=contract.ClosedShapeSpec(connections=len(NAMES)),
        connection="keep-alive",
        warm_up=None,
        stop=contract.DurationStopSpec(duration_s=0.2),
        timeouts=contract.TimeoutSpec(connect_s=5.0, request_s=5.0),
        threads=1,
        cores=(),
        probe=contract.ProbeSpec(interval_ms=100, server_pid=None),
        seed=1,
    )


@contextmanager
def server(address: str) -> Iterator[int]:
    """A server that answers slowly, so that it leaves the cores to the engines; its port."""
    listens = socket.create_server((address, 0))

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while connection.recv(1 << 16):
                threading.Event().wait(0.02)
                connection.sendall(ANSWER)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listens.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listens.getsockname()[1]
    finally:
        listens.close()


@contextmanager
def first_syns(loaders: Any, port: int) -> Iterator[list[int]]:
    """When the first SYN to that port came over each link, by the kernel; known when the `with` has ended."""
    stamped_ns: list[int] = []
    with ExitStack() as stack:
        taps = []
        for loader in loaders.each:
            opened = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
            tap = stack.enter_context(opened)
            tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            tap.bind((loader.link.devices[0], ETH_P_IP))
            tap.setblocking(False)
            taps.append(tap)
        yield stamped_ns
        stamped_ns += [stamp_ns for tap in taps if (stamp_ns := first_syn(tap, port)) is not None]


def first_syn(tap: socket.socket, port: int) -> int | None:
    """The kernel's stamp on the first SYN to that port; None: none came."""
    with suppress(BlockingIOError):
        while True:
            packet, beside, _, _ = tap.recvmsg(128, 128)
            head = 4 * (packet[0] & 0x0F)
            tcp = packet[head : head + 14]
            is_tcp = packet[9] == socket.IPPROTO_TCP and len(tcp) == 14
            if is_tcp and tcp[13] & SYN_ACK == SYN and struct.unpack_from(">H", tcp, 2)[0] == port:
                seconds, ns = struct.unpack("@qq", beside[0][2])
                return int(seconds * 10**9 + ns)
    return None


def pairs(loaders: Any, rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Compare response times of interleaved loads of one server from one host and from both."""
    one, other = (("--from", loader.where) for loader in loaders.each)
    from_where = {ONE: one, TWIN: one, BOTH: (*one, *other)}
    with asked_corpus.served(load_pairs.SERVER) as port:
        url = f"http://{loaders.address}:{port}{load_pairs.PATH}"

        def put_on(place: str, seed: int) -> Row:
            return load_pairs.loaded(url, arguments.seconds, seed, *from_where[place])

        figures = load_pairs.interleaved(
            "several", (ONE, TWIN, BOTH), arguments.pairs, arguments.seconds, arguments.seed, rows, put_on
        )
    for figure in ("p50", "p99"):
        compared = load_pairs.compare(figures.get(figure, {}), BOTH, ONE, TWIN)
        if compared is None:
            print(f"{figure}: not known, as loads failed")
            continue
        ratio, twins, floor = compared
        word = bounds.within(f"{figure} of both", ratio, round(1 / floor, 4), round(floor, 4))
        shown = f"twins {worded(twins)}, pairs within {floor:.3f}"
        print(f"{figure}: of both {worded(ratio)} {word}; {shown}")


def lost(loaders: Any, rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Lose one of both hosts while they load."""
    program = engine.load(project.root()).path
    keys = [(name, round_) for round_ in range(1, arguments.rounds + 1) for name in lost_agents.FAULTS]

    def made(name: str) -> Row:
        suffered = lost_agents.suffer(loaders, name, program)
        return {"said": vars(suffered)}

    for far, key in asked_corpus.counted(keys, rows.has):
        said = rows.once(key, partial(made, key[0]))["said"]
        print(f"{far:22} {key[0]:22} over after {said['over_s']:5.2f} s  {said['said'][-90:]}", flush=True)
        is_named = said["said"].startswith("agent-lost") and said["how"] == lost_agents.FAULTS[key[0]].how
        if said["left"] or said["over_s"] > OVER_S or not is_named:
            bounds.miss(f"{key[0]}: {said}")


def finds(loaders: Any, rows: Rows, bounds: Bounds, arguments: argparse.Namespace) -> None:
    """Compare breaking points from here and from both hosts."""
    words = tuple(word for loader in loaders.each for word in ("--from", loader.where))
    elsewhere.finds(Elsewhere(words, asked_corpus.PATH, loaders.address, None, None), rows, bounds, arguments)


if __name__ == "__main__":
    run(main)
