"""The flags of `crumple versus` as typed, except those that it shares with `load` and `find`.

`versus_plan` defines what they mean.
"""

# ruff: noqa: RUF009 - `flag` returns a dataclass's field

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crumple.load.load_flags import (
    ENGINE,
    OUTPUT,
    CurledFlags,
    FromFlags,
    KeepFlags,
    PageFlags,
    SaveFlags,
    TargetFlags,
    failing,
    flag,
    junit_file,
)

COMPARISON, SERVER = "Comparison", "Server"

What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="VERSION… [-- COMMAND…]",
        help="Two or more versions. Each is a URL with http:// or https://, the name of a server of the "
        "project, a variant such as name[key=value], a server's folder such as ./mine, or ./mine@COMMIT. A "
        "command after -- is a version, too: {port} in it, and PORT in its environment, stand for the port "
        "to listen on; {host}, and HOST with --from, for the address.",
    ),
]


@dataclass(frozen=True)
class ComparisonFlags:
    """How the versions are loaded, and for how long."""

    budget: str | None = flag(
        COMPARISON, "DURATION", "How long the comparison may take, starts included. Default: 2m."
    )
    rate: str | None = flag(
        COMPARISON,
        "PER_S|SHARE",
        "Requests per second at which response times are compared, the same for all; or a share, such as "
        "30%, of what the slowest version takes. Default: 50%.",
    )
    connections: int | None = flag(
        COMPARISON,
        "N",
        "The number of connections with which throughput and CPU time are compared. Default: 16.",
        short="-c",
    )
    alike: str | None = flag(
        COMPARISON, "SHARE", "A difference below this counts as none, such as 2%. Default: 5%."
    )
    warm_up: str | None = flag(
        COMPARISON,
        "DURATION",
        "Load each start of a server this long before it is measured. Default: as long as its throughput "
        "rises, 4s at most.",
    )
    arrivals: str | None = flag(
        COMPARISON,
        "even|poisson",
        "At the rate: send at random instants, as independent users do (poisson), or at even gaps. Default: "
        "poisson.",
    )


@dataclass(frozen=True)
class VersusServerFlags:
    """What servers are asked that crumple starts."""

    workload: str | None = flag(
        SERVER, "NAME", "The workload to send. Default: the first one that all of the servers have."
    )
    parameter: list[str] | None = flag(
        SERVER, "NAME=VALUE", "Set a parameter of the workload. May be repeated."
    )
    at: list[str] | None = flag(
        SERVER,
        "COMMIT",
        "Start the command in this folder as it was at a commit, such as main. Each --at is a version.",
    )
    build: str | None = flag(
        SERVER, "COMMAND", "Build each commit of --at first, by this line of a shell, such as 'make'."
    )
    path: str | None = flag(
        SERVER,
        "PATH",
        "Request this path instead of a workload. The flags of the request and of the expected answer apply. "
        "Of a command the default is /.",
    )


@dataclass(frozen=True)
class SendFlags:
    """How the engine sends."""

    disable_keepalive: bool = flag("Request", None, "Open a new connection for every request.")
    timeout: str | None = flag(
        ENGINE, "DURATION", "Give up a request this long after it was due. Default: 20s.", short="-t"
    )
    cores: str | None = flag(
        ENGINE,
        "LIST",
        "Bind the engine's threads to these cores, such as 0-3,7. Default: not bound; if crumple starts all "
        "servers, the engine and they have cores of their own.",
    )
    seed: int | None = flag(
        ENGINE, "N", "The seed of everything that is random. Default: random; the result names it."
    )


@dataclass(frozen=True)
class ComparedFlags(PageFlags):
    """How the result is shown and written."""

    fail_if: list[str] | None = failing("'slower>0', 'p99>+10%', 'throughput<-5%'")
    junit: Path | None = junit_file()
    json: bool = flag(OUTPUT, None, "Print the result as JSON on stdout, in place of the screen.")


# The first base class comes last in the help.
@dataclass(frozen=True)
class VersusFlags(
    KeepFlags,
    SaveFlags,
    ComparedFlags,
    FromFlags,
    SendFlags,
    TargetFlags,
    CurledFlags,
    VersusServerFlags,
    ComparisonFlags,
):
    """All flags of `crumple versus`."""
