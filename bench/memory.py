"""Memory of the engine: resident at 9,500 connections, compared with its peers; what each further connection
takes; and whether it stays flat in a long run. Memory of the lab beside the engine, in `crumple load`.

    python bench/memory.py
    python bench/memory.py --minutes 0                # only the connections

Resident memory is the highest that the kernel recorded (VmHWM). Beside it is the highest number of open
files: a tool with fewer connections than it should have is not compared. What each further connection takes
is the slope over several sizes and all rounds. Flat means that over the long run, without its beginning, the
line through the readings rises by no more than 1 MiB. Exits 1 if a bound is not met.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import load
import options
import targets
import terminal
from bounds import Bounds, run, skip
from crumple.machine import capacity, facts
from crumple.stats import estimate
from intervals import slope_interval
from peers import INSTALL, PEERS

MIB = 1024 * 1024
AT_MOST_MIB = 11
EACH_AT_MOST_BYTES = 450
GROWTH_AT_MOST_MIB = 1
LAB_AT_MOST_MIB = 60
# Done; and done, but not valid, which does not matter here.
MEASURED = (0, 3)
# Besides the connections: standard streams, epoll, probes, libraries.
SPARE_DESCRIPTORS = 200
POLL_S = 0.05
# The readings of the long run. If they are closer together, they are not independent of one another.
READINGS = 20


@dataclass(frozen=True)
class Sight:
    """What a process held at one moment, `at_s` seconds after it began."""

    at_s: float
    resident_bytes: int
    peak_bytes: int
    open_files: int


@dataclass(frozen=True)
class Held:
    """The most that a process held."""

    peak_bytes: int
    open_files: int


def main() -> None:
    arguments = parse()
    capacity.raise_open_files()
    may_open = facts.open_files_soft()
    if may_open < max(arguments.connections) + SPARE_DESCRIPTORS:
        skip(
            f"{max(arguments.connections)} connections need more open files than the {may_open} allowed here"
        )
    bounds = Bounds(judging=not arguments.shortest)
    with targets.null_server(arguments.server_core) as address:
        of_connections(address, arguments, bounds)
        of_lab(address, arguments, bounds)
        if arguments.peers:
            of_peers(address, arguments)
        if arguments.minutes:
            flat(address, arguments, bounds)
    bounds.close()


def parse() -> argparse.Namespace:
    parser = options.parser(__doc__)
    options.rounds(parser, 4, 8.0)
    options.cores(parser)
    parser.add_argument(
        "--connections",
        type=options.numbers,
        default=[1_000, 4_000, 9_500],
        help="sizes; the largest is held against the bound",
    )
    parser.add_argument("--peers", type=options.words, default=[peer.name for peer in PEERS])
    parser.add_argument("--minutes", type=float, default=10.0, help="of the long run; 0 leaves it out")
    return options.parse(parser, rounds=1, seconds=0.6, connections=[50, 100, 200], peers=[], minutes=0.0)


def of_connections(address: str, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """Runs the engine at each size in each round and prints the table."""
    most = max(arguments.connections)
    sizes: list[int] = []
    peaks: list[int] = []
    for name in load.interleaved([str(size) for size in arguments.connections], arguments.rounds):
        connections = int(name)
        spec = load.spec(address, load.closed(connections), arguments.seconds, arguments.load_core)
        held = most_held(load.begun(spec))
        if held.open_files < connections:
            bounds.miss(f"{connections} connections held, which were {held.open_files}")
            continue
        sizes.append(connections)
        peaks.append(held.peak_bytes)
    print(f"null server, keep-alive connections, {arguments.rounds} rounds of {arguments.seconds:g} s each")
    for size in sorted(set(sizes)):
        of_size = [peak / MIB for connections, peak in zip(sizes, peaks, strict=True) if connections == size]
        interval = estimate.of_values(of_size, logarithmic=False).interval(0.95)
        row = f"{size:8,} connections{interval.estimate:9.2f} MiB  "
        row += f"({interval.low:.2f} to {interval.high:.2f})"
        if size == most:
            row += f"   {bounds.at_most(f'memory at {size} connections', interval, AT_MOST_MIB, ' MiB')}"
        print(row, flush=True)
    if len(set(sizes)) < 2:
        return
    each = slope_interval(sizes, peaks)
    word = bounds.at_most("memory of each more", each, EACH_AT_MOST_BYTES, " bytes")
    print(f"each more takes {each.estimate:.0f} bytes  ({each.low:.0f} to {each.high:.0f})   {word}")


def of_lab(address: str, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """Runs `crumple load`, watching the server, and prints the most that the lab took, without the engine."""
    if not terminal.CRUMPLE.is_file():
        print(f"not installed, left out: crumple beside Python  (to install: {terminal.INSTALL})")
        return
    command = [str(terminal.CRUMPLE), "load", f"http://{address}/", "-z", f"{arguments.seconds}s"]
    command += ["--watch", f":{address.rpartition(':')[2]}"]
    peaks = []
    for _ in range(arguments.rounds):
        running = load.Running(command, arguments.load_core)
        sights = watch(running, POLL_S)
        try:
            running.finish()
        except load.LoadError:
            if running.process.returncode not in MEASURED:
                raise
        peaks.append(max(sight.peak_bytes for sight in sights) / MIB)
    interval = estimate.of_values(peaks, logarithmic=False).interval(0.95)
    word = bounds.at_most("memory of the lab", interval, LAB_AT_MOST_MIB, " MiB")
    print(
        f"the lab beside the engine, in crumple load: {interval.estimate:.1f} MiB  "
        f"({interval.low:.1f} to {interval.high:.1f})   {word}"
    )


def of_peers(address: str, arguments: argparse.Namespace) -> None:
    """Runs one load of each peer with the most connections and prints the table."""
    connections, seconds, core = max(arguments.connections), arguments.seconds, arguments.load_core
    print(f"\n{connections:,} keep-alive connections\n{'':10}{'resident MiB':>14}{'open files':>14}")
    for peer in PEERS:
        if peer.name not in arguments.peers:
            continue
        if not peer.installed:
            print(f"not installed, left out: {peer.name}  (to install: {INSTALL})")
            continue
        command = peer.command(f"http://{address}/", connections, max(seconds, 1.0))
        try:
            held = most_held(load.Running(command, core))
        except load.LoadError as error:
            print(f"{peer.name:10}failed: {error}")
            continue
        word = "holds too few to compare" if held.open_files < connections else ""
        print(
            f"{peer.name:10}{held.peak_bytes / MIB:14.1f}{held.open_files:14,}   {word}".rstrip(), flush=True
        )


def most_held(running: load.Running) -> Held:
    """Watches a load until it ends. Raises LoadError if it fails."""
    sights = watch(running, POLL_S)
    running.finish()
    if not sights:
        raise load.LoadError(f"{running.command[0]} ended before it could be seen")
    return Held(max(sight.peak_bytes for sight in sights), max(sight.open_files for sight in sights))


def flat(address: str, arguments: argparse.Namespace, bounds: Bounds) -> None:
    """A long load: how resident memory rises after the first minute, or the first tenth of a short load."""
    seconds = arguments.minutes * 60
    spec = load.spec(address, load.closed(256), seconds, arguments.load_core)
    running = load.begun(spec)
    sights = watch(running, max(seconds / READINGS / 4, POLL_S))
    running.finish()
    settled_s = min(60.0, seconds / 10)
    # In the last second the engine may write the record, which is not part of the load.
    during = [sight for sight in sights if settled_s <= sight.at_s <= seconds - 1]
    during = during[:: max(1, len(during) // READINGS)]
    spans = [sight.at_s / (during[-1].at_s - during[0].at_s) for sight in during]
    grown = slope_interval(spans, [sight.resident_bytes / MIB for sight in during])
    word = bounds.at_most("growth in the long run", grown, GROWTH_AT_MOST_MIB, " MiB")
    print(
        f"\nnull server, 256 connections, {arguments.minutes:g} minutes: resident memory of crumple rises by "
        f"{grown.estimate:+.2f} MiB  ({grown.low:+.2f} to {grown.high:+.2f})   {word}"
    )
    print("in order: " + "  ".join(f"{sight.resident_bytes / MIB:.2f}" for sight in during))


def watch(running: load.Running, every_s: float) -> list[Sight]:
    """Reads the memory of a process until it ends."""
    began = time.monotonic()
    sights = []
    while sight := look(running.process.pid, time.monotonic() - began):
        sights.append(sight)
        time.sleep(every_s)
    return sights


def look(pid: int, at_s: float) -> Sight | None:
    """Reads the memory of a process once. Returns None if it has ended."""
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
