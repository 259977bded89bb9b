"""Memory of the engine: resident at 10,000 connections, beside its peers; and whether a long run keeps it
flat.

    python bench/memory.py
    python bench/memory.py --minutes 0                # only the connections

Resident memory is the highest that the kernel noted (VmHWM), with the files seen open at once beside it: a
tool with fewer than there should be connections is not compared. Flat means: at the end of the long run no
more than 1 MiB above what it was after the first minute. Exits 1 where a bound is missed.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import load
import targets
from bounds import Bounds, run, skip
from crumple.machine import facts, machine
from peers import INSTALL, PEERS

MIB = 1024 * 1024
AT_MOST_MIB = 24
GROWTH_AT_MOST_MIB = 1
# Besides the connections: standard streams, epoll, probes, libraries.
SPARE_DESCRIPTORS = 200
POLL_S = 0.05


@dataclass(frozen=True)
class Sight:
    """What a process held at one moment, `at_s` after it began."""

    at_s: float
    resident_bytes: int
    peak_bytes: int
    open_files: int


def main() -> None:
    arguments = parse()
    machine.raise_open_files()
    may_open = facts.open_files_soft()
    if may_open < arguments.connections + SPARE_DESCRIPTORS:
        skip(f"{arguments.connections} connections need more open files than the {may_open} allowed here")
    bounds = Bounds()
    with targets.null_server(arguments.server_core) as address:
        held(address, arguments, bounds)
        if arguments.minutes:
            flat(address, arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--minutes", type=float, default=10.0, help="of the long run; 0 leaves it out")
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    return parser.parse_args()


def held(address: str, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """One load per tool and connections enough; prints the table."""
    connections, seconds, core = arguments.connections, arguments.seconds, arguments.load_core
    spec = load.spec(address, load.closed(connections), seconds, core)
    start: dict[str, Callable[[], load.Running]] = {"crumple": lambda: load.begun(spec)}
    for peer in PEERS:
        command = peer.command(f"http://{address}/", connections, seconds)
        if peer.installed:
            start[peer.name] = lambda command=command: load.Running(command, core)
        else:
            print(f"not installed, left out: {peer.name}  (to install: {INSTALL})")
    print(f"\nnull server, {connections:,} keep-alive connections")
    print(f"{'':10}{'resident MiB':>14}{'open files':>14}")
    for who, begin in start.items():
        running = begin()
        sights = watch(running, POLL_S)
        try:
            running.finish()
        except load.LoadError as error:
            print(f"{who:10}failed: {error}")
            if who == "crumple":
                bounds.missed.append("a load of the engine's")
            continue
        peak_mib = max(sight.peak_bytes for sight in sights) / MIB
        most = max(sight.open_files for sight in sights)
        word = "holds too few to compare" if most < connections else ""
        if who == "crumple":
            word = bounds.at_most(f"memory at {connections} connections", peak_mib, AT_MOST_MIB, " MiB")
            if most < connections:
                bounds.missed.append("connections held")
        print(f"{who:10}{peak_mib:14.1f}{most:14,}   {word}".rstrip(), flush=True)


def flat(address: str, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """A long load: resident memory after the first minute (of a short one, a tenth of it) and at the end."""
    seconds = arguments.minutes * 60
    spec = load.spec(address, load.closed(256), seconds, arguments.load_core)
    running = load.begun(spec)
    sights = watch(running, 1.0)
    running.finish()
    settled_s = min(60.0, seconds / 10)
    # The last second may see the record being written, which is no part of the load.
    during = [sight for sight in sights if settled_s <= sight.at_s <= seconds - 1]
    first, last = during[0], during[-1]
    grown_mib = (last.resident_bytes - first.resident_bytes) / MIB
    word = bounds.at_most("growth in the long run", grown_mib, GROWTH_AT_MOST_MIB, " MiB")
    print(f"\nnull server, 256 connections, {arguments.minutes:g} minutes: resident memory of crumple")
    print(
        f"after {first.at_s:.0f} s {first.resident_bytes / MIB:.2f} MiB, "
        f"after {last.at_s:.0f} s {last.resident_bytes / MIB:.2f} MiB: {grown_mib:+.2f} MiB   {word}"
    )
    minutes = [next(s for s in during if s.at_s >= at_s) for at_s in range(60, int(last.at_s), 60)]
    if minutes:
        print("minute by minute: " + "  ".join(f"{sight.resident_bytes / MIB:.2f}" for sight in minutes))


def watch(running: load.Running, every_s: float) -> list[Sight]:
    """Looks at a process until it ends."""
    began = time.monotonic()
    sights = []
    while sight := look(running.process.pid, time.monotonic() - began):
        sights.append(sight)
        time.sleep(every_s)
    return sights


def look(pid: int, at_s: float) -> Sight | None:
    """None once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        open_files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in status.splitlines())
    if "VmHWM" not in fields:
        return None
    resident, peak = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return Sight(at_s, resident, peak, open_files)


if __name__ == "__main__":
    run(main)
