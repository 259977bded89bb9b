"""The flags of `crumple find` as typed, except those that it shares with `crumple load` (`load.load_flags`).

`find_plan` defines what they mean.
"""

# ruff: noqa: RUF009 - `flag` returns a dataclass's field

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crumple.load.load_flags import (
    OUTPUT,
    CurledFlags,
    EngineFlags,
    FromFlags,
    HabitFlags,
    KeepFlags,
    PageFlags,
    SaveFlags,
    TargetFlags,
    count,
    failing,
    flag,
    junit_file,
)

SEARCH, SERVER = "Search", "Server"
OBJECTIVE = "p99<250ms, failed<0.1%"

What = Annotated[
    str | None,
    typer.Argument(
        metavar="URL|SERVER", help="A URL with http:// or https://, or the name of a server of the project."
    ),
]


@dataclass(frozen=True)
class SearchFlags:
    """What is searched, and for how long."""

    objective: str = flag(
        SEARCH,
        "TERMS",
        "The conditions that must all hold, on quantiles (p99<250ms), mean, max, failed<0.1% or "
        f"throughput>1000. Default: '{OBJECTIVE}'.",
        default=OBJECTIVE,
    )
    by: str = flag(
        SEARCH,
        "rate|connections",
        "What to raise: the rate of requests, sent without waiting for answers, or the number of "
        "connections, each of which sends its next request after the answer. Default: rate.",
        default="rate",
    )
    budget: str | None = flag(
        SEARCH, "DURATION", "How long the search may take, server starts included. Default: 90s."
    )
    warm_up: str | None = flag(
        SEARCH, "DURATION", "Load each start of the server this long before its first level. Default: 2s."
    )
    connections: int | None = count(
        SEARCH,
        "The most connections that may be open. Default: 1000 by rate; 10000 by connections, or fewer if "
        "open files or local ports do not suffice.",
        "-c",
    )
    arrivals: str | None = flag(
        SEARCH,
        "even|poisson",
        "By rate: send at random instants, as independent users do (poisson), or at even gaps. Default: "
        "poisson.",
    )
    pause: str | None = flag(
        SEARCH,
        "DURATION",
        "By connections: let each pause between an answer and its next request; 100ms is fixed, ~100ms "
        "exponential with that mean.",
    )


@dataclass(frozen=True)
class ServerFlags:
    """What is asked of a server of the project, and how it is started."""

    workload: str | None = flag(
        SERVER, "WORKLOAD", "The workload to send. Default: the first one that the server has."
    )
    parameter: list[str] | None = flag(
        SERVER, "NAME=VALUE", "Set a parameter of the workload. May be repeated."
    )
    path: str | None = flag(
        SERVER,
        "PATH",
        "Request this path instead of a workload. The flags of the request and of the expected answer apply.",
    )
    setting: list[str] | None = flag(SERVER, "NAME=VALUE", "Set a setting of the server. May be repeated.")


@dataclass(frozen=True)
class FoundFlags(PageFlags):
    """How the result is shown and written."""

    fail_if: list[str] | None = failing("'breaking-point<1000', 'highest-held<500'")
    junit: Path | None = junit_file()
    json: bool = flag(OUTPUT, None, "Print the result as JSON on stdout, in place of the screen.")
    csv: Path | None = flag(OUTPUT, "FILE", "Write a row per level, with times in nanoseconds.")


# The first base class comes last in the help.
@dataclass(frozen=True)
class FindFlags(
    HabitFlags,
    SaveFlags,
    KeepFlags,
    FoundFlags,
    FromFlags,
    EngineFlags,
    TargetFlags,
    CurledFlags,
    ServerFlags,
    SearchFlags,
):
    """All flags of `crumple find`."""
