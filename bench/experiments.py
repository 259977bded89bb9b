"""What would another way of working save? Variants of the bare loop (bare_loop/) in turn within one process,
in slices of some milliseconds and a random order of each round's own.

    python bench/experiments.py --seconds 30
    python bench/experiments.py --only large

CPU time is that of the loop's thread, per answer or, of large answers, per byte; beside it its ratio to the
loop that takes timestamps and stores times: the median over the rounds with its 95 % interval. Throughput
likewise. Nothing is judged. What came of it is in experiments.md.
"""

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import load
import options
import targets
from bounds import run, skip
from intervals import median_interval

BASE = "stamped"
WORKING = (
    ["bare", *(f"{BASE}+{way}" for way in ("two-passes", "three-passes", "timeout", "timerfd"))],
    [f"{BASE}+{way}" for way in ("first-byte", "two-lines", "three-lines", "four-lines")],
)
URING = [f"{BASE}+uring"]
RECEIVING = [
    f"{BASE}+{way}"
    for way in (
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
# The exit code of the loop where io_uring cannot be had.
NOT_PERMITTED = 3


@dataclass(frozen=True)
class Slice:
    """What one variant did in one slice; `waits`: how often it asked the kernel what has come."""

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
    parser.add_argument("--seconds", type=float, default=30.0, help="of each table")
    options.cores(parser)
    parser.add_argument("--connections", type=options.numbers, default=[32, 256, 1000])
    parser.add_argument("--only", choices=("working", "uring", "large"))
    return options.parse(parser, seconds=0.05, connections=[4])


def small(program: Path, name: str, address: str, arguments: argparse.Namespace) -> None:
    """Small answers."""
    groups = {None: [*WORKING, URING], "working": WORKING, "uring": [URING]}[arguments.only]
    for connections in arguments.connections:
        slice_ms = max(SLICE_MS_MIN, connections // 25)
        for variants in groups:
            slices = of_loop(program, address, "/", connections, variants, slice_ms, arguments)
            if slices:
                report(f"{name}, {connections} connections", slices, "answered")


def large(program: Path, arguments: argparse.Namespace) -> None:
    """Large answers, from a file."""
    if not targets.has_nginx():
        skip(f"nginx is not installed (to install: {targets.INSTALL_NGINX})")
    for size_bytes, connections in LARGE[: 1 if arguments.shortest else None]:
        with targets.nginx(arguments.server_core, size_bytes) as address:
            path = targets.LARGE_PATH
            slices = of_loop(program, address, path, connections, RECEIVING, LARGE_SLICE_MS, arguments)
        report(f"nginx, {size_bytes:,} bytes, {connections} connections", slices, "received_bytes")


def of_loop(
    program: Path,
    address: str,
    path: str,
    connections: int,
    variants: list[str],
    slice_ms: int,
    arguments: argparse.Namespace,
) -> list[Slice]:
    """Runs the base and the variants in turn; of the last round only if it is whole. Says where io_uring is
    not to be had, and brings nothing."""
    command = [
        *(str(program), address, str(connections), str(arguments.seconds), BASE, *variants),
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
    return [Slice(**json.loads(line)) for line in output.splitlines()]


def report(title: str, slices: list[Slice], per: str) -> None:
    """Prints one table."""
    of: dict[str, list[Slice]] = defaultdict(list)
    for one in slices:
        of[one.variant].append(one)
    base, unit = of[BASE], "answer" if per == "answered" else "byte"
    print(f"\n{title}, {len(base)} rounds")
    print(f"{'':32}{f'CPU ns/{unit}':>16}   {'over ' + BASE:24}{'throughput':24}{'answers at once':>16}")
    for variant, its in of.items():
        cpu_ns = [one.cpu_ns / getattr(one, per) for one in its]
        base_ns = [one.cpu_ns / getattr(one, per) for one in base]
        rates = [getattr(one, per) / one.ns for one in its]
        base_rates = [getattr(one, per) / one.ns for one in base]
        at_once = sum(one.answered for one in its) / sum(one.waits for one in its)
        print(
            f"{variant:32}{load.middle(cpu_ns):16,.3f}   {ratio(cpu_ns, base_ns):24}"
            f"{ratio(rates, base_rates):24}{at_once:16.1f}",
            flush=True,
        )


def ratio(values: list[float], base: list[float]) -> str:
    interval = median_interval([one / other for one, other in zip(values, base, strict=True)])
    return f"{interval.estimate:.3f} ({interval.low:.3f} to {interval.high:.3f})"


if __name__ == "__main__":
    run(main)
