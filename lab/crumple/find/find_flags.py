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
    typer.Argument(
        metavar="URL|SERVER", help="A URL with http:// or https://, or the name of a server of the project."
    ),
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
            help_="The conditions that must all hold, on quantiles (p99<250ms), mean, max, failed<0.1% or "
            f"throughput>1000. Default: '{OBJECTIVE}'.",
        ),
    ] = OBJECTIVE
    by: Annotated[
        str,
        flag(
            SEARCH,
            "--by",
            metavar="rate|connections",
            help_="What to raise: the rate of requests, sent without waiting for answers, or the number of "
            "connections, each of which sends its next request after the answer. Default: rate.",
        ),
    ] = "rate"
    budget: Annotated[
        str | None,
        flag(
            SEARCH,
            "--budget",
            metavar="DURATION",
            help_="How long the search may take, server starts included. Default: 90s.",
        ),
    ] = None
    warm_up: Annotated[
        str | None,
        flag(
            SEARCH,
            "--warm-up",
            metavar="DURATION",
            help_="Load each start of the server this long before its first level. Default: 2s.",
        ),
    ] = None
    connections: Annotated[
        int | None,
        flag(
            SEARCH,
            "--connections",
            "-c",
            metavar="N",
            help_="The most connections that may be open. Default: 1000 by rate; 10000 by connections, or "
            "fewer if open files or local ports do not suffice.",
        ),
    ] = None
    arrivals: Annotated[
        str | None,
        flag(
            SEARCH,
            "--arrivals",
            metavar="even|poisson",
            help_="By rate: send at random instants, as independent users do (poisson), or at even gaps. "
            "Default: poisson.",
        ),
    ] = None
    pause: Annotated[
        str | None,
        flag(
            SEARCH,
            "--pause",
            metavar="DURATION",
            help_="By connections: let each pause between an answer and its next request; 100ms is fixed, "
            "~100ms exponential with that mean.",
        ),
    ] = None


@dataclass(frozen=True)
class ServerFlags:
    """What is asked of a server of the project, and how it is started."""

    workload: Annotated[
        str | None,
        flag(
            SERVER,
            "--workload",
            metavar="NAME",
            help_="The workload to send. Default: the first one that the server has.",
        ),
    ] = None
    parameter: Annotated[
        list[str] | None,
        flag(
            SERVER,
            "--parameter",
            metavar="NAME=VALUE",
            help_="Set a parameter of the workload. May be repeated.",
        ),
    ] = None
    path: Annotated[
        str | None,
        flag(
            SERVER,
            "--path",
            metavar="PATH",
            help_="Request this path instead of a workload. The flags of the request and of the expected "
            "answer apply.",
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        flag(
            SERVER, "--setting", metavar="NAME=VALUE", help_="Set a setting of the server. May be repeated."
        ),
    ] = None


@dataclass(frozen=True)
class FoundFlags:
    """How the result is shown and written."""

    quiet: Annotated[bool, flag(OUTPUT, "--quiet", metavar=None, help_="Do not show progress.")] = False
    json: Annotated[
        bool, flag(OUTPUT, "--json", metavar=None, help_="Print the same facts as JSON on stdout.")
    ] = False
    csv: Annotated[
        Path | None,
        flag(OUTPUT, "--csv", metavar="FILE", help_="Write a row per level, with times in nanoseconds."),
    ] = None
    html: Annotated[
        Path | None,
        flag(OUTPUT, "--html", metavar="FILE", help_="Write a web page that loads nothing else."),
    ] = None


# The first base class comes last in the help.
@dataclass(frozen=True)
class FindFlags(FoundFlags, EngineFlags, TargetFlags, RequestFlags, ServerFlags, SearchFlags):
    """All flags of `crumple find`."""
