"""The flags that the scripts share."""

import argparse
import os
import sys
from typing import Any

SHORTEST = "--shortest"


def parser(doc: str | None, **kwargs: Any) -> argparse.ArgumentParser:
    """A parser with --shortest. Each script adds its own flags."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs
    )
    made.add_argument(
        SHORTEST,
        action="store_true",
        help="only to see that it runs: one round, fractions of a second, nothing is judged",
    )
    return made


def rounds(made: argparse.ArgumentParser, rounds: int, seconds: float | None = None) -> None:
    """Adds how often a script measures and, unless None, how long."""
    made.add_argument("--rounds", type=int, default=rounds)
    if seconds is not None:
        made.add_argument("--seconds", type=float, default=seconds, help="of one load")


def cores(made: argparse.ArgumentParser) -> None:
    """Adds the core of the server and that of the load generator."""
    usable = sorted(os.sched_getaffinity(0))
    made.add_argument("--server-core", type=int, default=usable[0])
    made.add_argument("--load-core", type=int, default=usable[-1])


def parse(made: argparse.ArgumentParser, **shortest: Any) -> argparse.Namespace:
    """The flags as typed. `shortest` gives the defaults of the shortest form."""
    if SHORTEST in sys.argv[1:]:
        made.set_defaults(**shortest)
    return made.parse_args()


def words(text: str) -> list[str]:
    """Splits `wrk,hey`. An empty text has no words."""
    return [word for word in text.split(",") if word]


def numbers(text: str) -> list[int]:
    """Splits `32,256,1000`."""
    return [int(number) for number in text.split(",")]
