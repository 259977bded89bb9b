"""The flags that the scripts share."""

import argparse
import os
import sys
from typing import Any

SHORTEST = "--shortest"


def parser(doc: str | None, **kwargs: Any) -> argparse.ArgumentParser:
    """A parser that knows --shortest; the others are the script's own."""
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
    """Adds how often and, unless None, how long."""
    made.add_argument("--rounds", type=int, default=rounds)
    if seconds is not None:
        made.add_argument("--seconds", type=float, default=seconds, help="of one load")


def cores(made: argparse.ArgumentParser) -> None:
    """Adds which core is the server's, and which the load generator's."""
    usable = sorted(os.sched_getaffinity(0))
    made.add_argument("--server-core", type=int, default=usable[0])
    made.add_argument("--load-core", type=int, default=usable[-1])


def parse(made: argparse.ArgumentParser, **shortest: Any) -> argparse.Namespace:
    """The flags as typed; `shortest`: defaults in the shortest form."""
    if SHORTEST in sys.argv[1:]:
        made.set_defaults(**shortest)
    return made.parse_args()


def words(text: str) -> list[str]:
    """`wrk,hey`; of nothing none."""
    return [word for word in text.split(",") if word]


def numbers(text: str) -> list[int]:
    """`32,256,1000`."""
    return [int(number) for number in text.split(",")]
