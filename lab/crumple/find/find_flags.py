"""The flags of `crumple find` as typed, except those that it shares with `crumple load` (`load.load_flags`).

`find_plan` defines what they mean.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crumple.load.load_flags import OUTPUT, EngineFlags, RequestFlags, TargetFlags, flag

SEARCH, SERVER = "Search", "Server"
OBJECTIVE = "p99<250ms, failed<0.1%"

What = Annotated[
    str,
    typer.Argument(metavar="URL|SERVER", help="http:// or https://…, or a server of the project by name."),
]


@dataclass(frozen=True)
class SearchFlags:
    """What is searched, and for how long."""

    objective: Annotated[
        str,
        flag(
            SEARCH,
            "--objective",
            metavar="TERMS",
            help_="What must hold, all of it: quantiles (p99<250ms), mean, max, failed<0.1%, "
            f"throughput>1000. '{OBJECTIVE}' otherwise.",
        ),
    ] = OBJECTIVE
    by: Annotated[
        str,
        flag(
            SEARCH,
            "--by",
            metavar="rate|connections",
            help_="What is raised: requests per second, sent when due (rate, which is the default), or "
            "connections, each sending its next request after the answer.",
        ),
    ] = "rate"
    budget: Annotated[
        str | None,
        flag(SEARCH, "--budget", metavar="DURATION", help_="Wall time, start-up included; 90s otherwise."),
    ] = None
    warm_up: Annotated[
        str | None,
        flag(
            SEARCH, "--warm-up", metavar="DURATION", help_="Before the first level of a start; 2s otherwise."
        ),
    ] = None
    connections: Annotated[
        int | None,
        flag(
            SEARCH,
            "--connections",
            "-c",
            metavar="N",
            help_="The most that are opened. By rate 1000 otherwise; by connections 10000, or as many as "
            "there are files and ports for.",
        ),
    ] = None
    arrivals: Annotated[
        str | None,
        flag(
            SEARCH,
            "--arrivals",
            metavar="even|poisson",
            help_="By rate: poisson as of independent users, which is the default, or at even gaps.",
        ),
    ] = None
    pause: Annotated[
        str | None,
        flag(
            SEARCH,
            "--pause",
            metavar="DURATION",
            help_="By connections: of each after an answer; 100ms, or ~100ms for exponential ones.",
        ),
    ] = None


@dataclass(frozen=True)
class ServerFlags:
    """What is asked of a server of the project, and how it is started."""

    workload: Annotated[
        str | None,
        flag(SERVER, "--workload", metavar="NAME", help_="The first of those the server has, otherwise."),
    ] = None
    parameter: Annotated[
        list[str] | None,
        flag(SERVER, "--parameter", metavar="NAME=VALUE", help_="Of the workload. May be repeated."),
    ] = None
    path: Annotated[
        str | None,
        flag(
            SERVER,
            "--path",
            metavar="PATH",
            help_="Ask for this instead of a workload, with the flags of a request and of its answer.",
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        flag(SERVER, "--setting", metavar="NAME=VALUE", help_="Of the server. May be repeated."),
    ] = None


@dataclass(frozen=True)
class FoundFlags:
    """How the result is shown and written."""

    quiet: Annotated[bool, flag(OUTPUT, "--quiet", metavar=None, help_="Nothing while it runs.")] = False
    json: Annotated[bool, flag(OUTPUT, "--json", metavar=None, help_="The same facts as JSON on stdout.")] = (
        False
    )
    csv: Annotated[
        Path | None, flag(OUTPUT, "--csv", metavar="FILE", help_="Write a row per level, times in ns.")
    ] = None
    html: Annotated[
        Path | None, flag(OUTPUT, "--html", metavar="FILE", help_="Write a page that needs no network.")
    ] = None


# The first base class comes last in the help.
@dataclass(frozen=True)
class FindFlags(FoundFlags, EngineFlags, TargetFlags, RequestFlags, ServerFlags, SearchFlags):
    """All flags of `crumple find`."""
