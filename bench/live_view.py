"""What does it cost to watch? Throughput of `crumple load` with its live view on a terminal, over that with
--quiet, in interleaved rounds; engine and server have one core each, the view runs where it finds room.

    python bench/live_view.py --rounds 10

Exits 1 where the view costs more than 2 %.
"""

import argparse
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from pathlib import Path

import load
import targets
from bounds import Bounds, run, skip
from crumple.stats import stats

COST_AT_MOST_PERCENT = 2
ROWS, COLUMNS = 40, 120
# Done, and the measurement is not valid: against a server that does nothing the engine is the limit.
MEASURED = (0, 3)
CRUMPLE = Path(sys.executable).parent / "crumple"


def main() -> None:
    arguments = parse()
    if not CRUMPLE.is_file():
        skip(f"no crumple beside {sys.executable} (to install: make develop)")
    bounds = Bounds()
    print(
        f"throughput of {arguments.connections} connections watched over that with --quiet, "
        f"{arguments.rounds} rounds of {arguments.seconds:g} s"
    )
    for name, start in targets.installed().items():
        with start(arguments.server_core) as address:
            seen: dict[str, list[float]] = {"watched": [], "quiet": []}
            for how in load.interleaved(seen, arguments.rounds):
                seen[how].append(throughput_per_s(address, how == "quiet", arguments))
        ratio = stats.paired_ratio(seen["watched"], seen["quiet"])
        cost = 100 * (1 - ratio.estimate)
        word = bounds.at_most(f"cost of the view, {name}", cost, COST_AT_MOST_PERCENT, " %")
        print(
            f"{name:14}{ratio.estimate:6.3f}  ({ratio.low:.3f} to {ratio.high:.3f}, 95 % interval)   "
            f"cost {cost:.1f} % {word}",
            flush=True,
        )
    bounds.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--load-core", type=int, default=1)
    return parser.parse_args()


def throughput_per_s(address: str, quiet: bool, arguments: argparse.Namespace) -> float:
    """One load on a terminal of its own. Raises LoadError where it fails, or shows what it should not."""
    command = [
        *(str(CRUMPLE), "load", f"http://{address}/", "--json"),
        *("-c", str(arguments.connections), "-z", f"{arguments.seconds:g}s"),
        *("--cores", str(arguments.load_core)),
        *(["--quiet"] if quiet else []),
    ]
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen = bytearray()
    reader = threading.Thread(target=read_to_end, args=(ours, screen))
    with tempfile.TemporaryFile() as answer:
        try:
            process = subprocess.Popen(
                command, stdin=its, stdout=answer, stderr=its, env={**os.environ, "TERM": "xterm-256color"}
            )
        finally:
            os.close(its)
        reader.start()
        code = process.wait()
        reader.join()
        os.close(ours)
        shown = screen.decode(errors="replace")
        if code not in MEASURED:
            raise load.LoadError(f"crumple load ended with {code}: {shown[-300:].strip()}")
        if quiet == ("p99" in shown):
            raise load.LoadError(f"with{'' if quiet else 'out'} --quiet it showed: {shown[-300:].strip()!r}")
        answer.seek(0)
        return json.load(answer)["throughput_per_s"]


def read_to_end(terminal: int, screen: bytearray) -> None:
    """Takes up what is drawn, so that nobody waits for the terminal."""
    while True:
        try:
            drawn = os.read(terminal, 65536)
        except OSError:  # The last program that held the other end has gone.
            return
        if not drawn:
            return
        screen += drawn


if __name__ == "__main__":
    run(main)
