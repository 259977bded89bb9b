"""Other programs: processes that use a share of a core at random times, as a browser or a build beside does.

    python bench/disturbed.py one -- crumple find http://localhost:8080/     # a command beside one of them
    python bench/disturbed.py both                                           # until Ctrl-C

The other scripts show what crumple's answers are worth beside them:
`python bench/disturbed.py one -- python bench/find.py --holds`.

`one` uses 30 % of a core, on whichever core it gets; `both` are two of these; `bursts` takes a whole core for
half a second at a time, 20 % of the time; `steal` takes 5 % of each core at real-time priority, as a
hypervisor does, though the kernel counts it as a program's time (root only).
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

# A program is busy for so long at a time, every length on a logarithmic scale being as likely.
SHORTEST_S, LONGEST_S = 0.001, 0.1


@dataclass(frozen=True)
class Program:
    """One of them: the share of a core that it uses (0..1), how long it is busy at a time, on which core.

    `core` None: whichever it gets. `is_urgent`: at real-time priority.
    """

    share: float
    shortest_s: float = SHORTEST_S
    longest_s: float = LONGEST_S
    core: int | None = None
    is_urgent: bool = False


def profiles() -> dict[str, tuple[Program, ...]]:
    """Name → the programs."""
    cores = sorted(os.sched_getaffinity(0))
    return {
        "calm": (),
        "one": (Program(0.3),),
        "both": (Program(0.3), Program(0.3)),
        "bursts": (Program(0.2, 0.5, 0.5),),
        "steal": tuple(Program(0.05, 0.001, 0.02, core, is_urgent=True) for core in cores),
    }


@contextlib.contextmanager
def beside(name: str) -> Iterator[None]:
    """Run the programs of that profile until the context ends."""
    started = [
        subprocess.Popen([sys.executable, __file__, "--as-program", name, str(number)], stdin=subprocess.PIPE)
        for number in range(len(profiles()[name]))
    ]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def work(program: Program, seed: int) -> None:
    """Be busy at random times until the process that started this one has ended."""
    if program.core is not None:
        os.sched_setaffinity(0, [program.core])
    if program.is_urgent:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    drawn, parent = random.Random(seed), os.getppid()
    while os.getppid() == parent:
        busy_s = program.shortest_s * (program.longest_s / program.shortest_s) ** drawn.random()
        until_s = time.thread_time() + busy_s
        while time.thread_time() < until_s:
            pass
        time.sleep(busy_s * (1 - program.share) / program.share * drawn.expovariate(1))


def main() -> None:
    """Run a command beside a profile, and end with its exit code."""
    words = sys.argv[1:]
    if words[:1] == ["--as-program"]:
        work(profiles()[words[1]][int(words[2])], seed=int(words[2]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("profile", choices=profiles())
    parser.add_argument("command", nargs="*", help="what to run beside it; none: until Ctrl-C")
    arguments = parser.parse_args()
    with beside(arguments.profile), contextlib.suppress(KeyboardInterrupt):
        if arguments.command:
            sys.exit(subprocess.call(arguments.command))
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main()
