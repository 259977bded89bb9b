"""What would another way of working save? Variants of the bare loop (bare_loop/) run in turn within one
process, in slices of some milliseconds. Each round has a random order of its own.

    python bench/experiments.py --starts 8 --seconds 5
    python bench/experiments.py --only large

CPU time is that of the loop's thread: per answer, or per byte of large answers. Beside it are its ratio to
the loop that takes timestamps and stores times, and the ratio of the throughputs. Each loop has connections
of its own. One set of connections may be cheaper than another for as long as a process lives. So each process
has them in another order, the ratio of a process is the median over its rounds, and the interval is over
processes. The twin is the same loop a second time: its difference from 1 is noise. Nothing is judged. The
results are in experiments.md.
"""

import argparse
import json
import random
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import load
import options
import targets
from bounds import run, skip
from crumple.stats import estimate

BASE = "stamped"
WORKING = (
    ["bare", *(f"{BASE}+{way}" for way in ("twin", "two-passes", "three-passes", "timeout", "timerfd"))],
    [f"{BASE}+{way}" for way in ("twin", "first-byte", "two-lines", "three-lines", "four-lines")],
)
URING = [f"{BASE}+twin", f"{BASE}+uring"]
RECEIVING = [
    f"{BASE}+{way}"
    for way in (
        "twin",
        "64k",
        "discard",
        "low-water",
        "discard+low-water",
        *(f"discard+low-water-{mark}" for mark in ("64k", "128k", "256k", "512k")),
    )
]
# Bytes and connections.
LARGE = [(1 << 20, 8), (1 << 20, 64), (1 << 18, 64), (1 << 16, 64)]
LARGE_SLICE_MS = 100
SLICE_MS_MIN = 15
# The exit code of the loop if io_uring cannot be had.
NOT_PERMITTED = 3


@dataclass(frozen=True)
class Slice:
    """What one variant did in one slice. `waits`: how often it asked the kernel for what has come."""

    round: int
    variant: str
    answered: int
    received_bytes: int
    cpu_ns: int
    ns: int
    waits: int


def main() -> None:
    arguments = parse()
    try:
        program = load.example("bare_loop", debug_will_do=arguments.shortest)
    except load.NotBuiltError as error:
        skip(str(error))
    if arguments.only in (None, "working", "uring"):
        for name, start in targets.installed().items():
            with start(arguments.server_core) as address:
                small(program, name, address, arguments)
    if arguments.only in (None, "large"):
        large(program, arguments)


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    parser.add_argument("--starts", type=int, default=8, help="processes for each table")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each")
    options.cores(parser)
    parser.add_argument("--connections", type=options.numbers, default=[32, 256, 1000])
    parser.add_argument("--only", choices=("working", "uring", "large"))
    return options.parse(parser, starts=1, seconds=0.3, connections=[4])


def small(program: Path, name: str, address: str, arguments: argparse.Namespace) -> None:
    """Small answers."""
    groups = {None: [*WORKING, URING], "working": WORKING, "uring": [URING]}[arguments.only]
    for connections in arguments.connections:
        slice_ms = max(SLICE_MS_MIN, connections // 25)
        for variants in groups:
            starts = of_loop(program, address, "/", connections, variants, slice_ms, arguments)
            if starts:
                report(f"{name}, {connections} connections", variants, starts, "answered")


def large(program: Path, arguments: argparse.Namespace) -> None:
    """Large answers, from a file."""
    if not targets.has_nginx():
        skip(f"nginx is not installed (to install: {targets.INSTALL_NGINX})")
    for size_bytes, connections in LARGE[: 1 if arguments.shortest else None]:
        with targets.nginx(arguments.server_core, size_bytes) as address:
            path = targets.LARGE_PATH
            starts = of_loop(program, address, path, connections, RECEIVING, LARGE_SLICE_MS, arguments)
        report(f"nginx, {size_bytes:,} bytes, {connections} connections", RECEIVING, starts, "received_bytes")


def of_loop(
    program: Path,
    address: str,
    path: str,
    connections: int,
    variants: list[str],
    slice_ms: int,
    arguments: argparse.Namespace,
) -> list[list[Slice]]:
    """The slices of each process. If io_uring cannot be had, prints the reason and returns none."""
    starts = []
    order = random.Random(connections)
    for _ in range(arguments.starts):
        names = order.sample([BASE, *variants], len(variants) + 1)
        command = [
            *(str(program), address, str(connections), str(arguments.seconds), *names),
            *("--path", path, "--slice-ms", str(slice_ms)),
        ]
        running = load.Running(command, arguments.load_core)
        try:
            output, _ = running.finish()
        except load.LoadError as error:
            if running.process.returncode != NOT_PERMITTED:
                raise
            print(f"skipped: {error}")
            return []
        starts.append([Slice(**json.loads(line)) for line in output.splitlines()])
    return starts


def report(title: str, variants: list[str], starts: list[list[Slice]], per: str) -> None:
    """Prints one table. `per` is the unit of CPU time and throughput."""
    unit = "answer" if per == "answered" else "byte"
    print(f"\n{title}, {len(starts)} processes with {len(starts[0]) // (len(variants) + 1)} rounds or so")
    print(f"{'':32}{f'CPU ns/{unit}':>16}   {'over ' + BASE:26}{'throughput':26}{'answers at once':>16}")
    for variant in (BASE, *variants):
        cpu_ns, ratios, throughputs = [], [], []
        own = [one for slices in starts for one in slices if one.variant == variant]
        for slices in starts:
            its, base = ([one for one in slices if one.variant == name] for name in (variant, BASE))
            cpu_ns += [cost(one, per) for one in its]
            pairs = list(zip(its, base, strict=True))
            ratios.append(median([cost(one, per) / cost(other, per) for one, other in pairs]))
            throughputs.append(median([rate(one, per) / rate(other, per) for one, other in pairs]))
        at_once = sum(one.answered for one in own) / sum(one.waits for one in own)
        print(
            f"{variant:32}{median(cpu_ns):16,.3f}   {said(ratios):26}{said(throughputs):26}{at_once:16.1f}",
            flush=True,
        )


def cost(one: Slice, per: str) -> float:
    return float(one.cpu_ns / getattr(one, per))


def rate(one: Slice, per: str) -> float:
    return float(getattr(one, per) / one.ns)


def said(ratios: list[float]) -> str:
    interval = estimate.geometric_mean(ratios)
    return f"{interval.estimate:.3f} ({interval.low:.3f} to {interval.high:.3f})"


if __name__ == "__main__":
    run(main)
