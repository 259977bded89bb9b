"""The flags of `crumple diagnose` as typed, except those that it shares with `load` and `find`.

`diagnose_plan` defines what they mean.
"""

# ruff: noqa: RUF009 - `flag` returns a dataclass's field

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crumple.find.find_flags import OBJECTIVE
from crumple.load.load_flags import (
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

DIAGNOSIS, SERVER = "Diagnosis", "Server"

What = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="URL|SERVER [-- COMMAND…]",
        help="A URL, the name of a server of the project, or a command that starts a server: {port} in it, "
        "and PORT in its environment, stand for the port to listen on. {NAME=VALUE} in it stands for VALUE, "
        "which --try changes.",
    ),
]


@dataclass(frozen=True)
class DiagnosisFlags:
    """What is asked of the server."""

    slow: str | None = flag(
        DIAGNOSIS,
        "[METHOD] PATH",
        "A path whose answer takes 50 ms or more and only waits, such as /wait?ms=100. It shows how many "
        "requests can wait at a time. Without a METHOD, as in 'POST /wait', it is asked by GET, whatever the "
        "work is asked by; so are --heavy and --light.",
    )
    heavy: str | None = flag(
        DIAGNOSIS,
        "[METHOD] PATH",
        "A path whose answer takes 10 ms or more and only computes, such as /compute?ms=20. It shows how "
        "many cores compute, and whether other requests wait while they do.",
    )
    light: str | None = flag(
        DIAGNOSIS,
        "[METHOD] PATH",
        "A path that is answered at once. It shows whether light requests have to wait beside the work. "
        "Default: the path of the URL.",
    )
    objective: str = flag(
        DIAGNOSIS,
        "TERMS",
        f"The conditions that must hold, as in crumple find. Default: '{OBJECTIVE}'.",
        default=OBJECTIVE,
    )
    no_search: bool = flag(DIAGNOSIS, None, "Do not search the load at which the objective breaks.")
    watch: str | None = flag(
        DIAGNOSIS,
        "PID|:PORT",
        "The server's process, if it is another than the one that listens on the URL's port.",
    )
    only_loads: bool = flag(
        DIAGNOSIS,
        None,
        "Put loads on, and do no more: stop no thread of the server, and bind it to no core.",
    )
    intervene: bool = flag(
        DIAGNOSIS, None, "Allow to stop what the server asks, on this machine, for less than a second."
    )
    if_: list[str] | None = flag(
        DIAGNOSIS,
        "PART=VALUE",
        "Also compute, without another load, how many requests it would answer with workers=16, cores=4, "
        "connections=20 (to its dependency), gate=2 (requests let in at a time), dependency=5ms (its time "
        "for one request) or cpu=90% (of today's CPU time for one). May be repeated: all change together.",
    )
    ask: bool = flag(
        DIAGNOSIS,
        None,
        "Ask the runtime and what the server asks, under load, what their threads and sessions do: a JVM by "
        "jcmd, Python by py-spy, Go by its pprof, php-fpm, PostgreSQL, MySQL and MariaDB. It only reads.",
    )
    seed: int | None = flag(
        DIAGNOSIS, "N", "The seed of everything that is random. Default: random; the result names it."
    )
    setting: list[str] | None = flag(
        SERVER, "NAME=VALUE", "Set a setting of a server of the project. May be repeated."
    )
    try_: list[str] | None = flag(
        SERVER,
        "NAME=VALUE",
        "After the diagnosis, start the server a second time with this change, put the same load on both in "
        "turn, and compare what it gave with what was predicted. NAME is a setting of a server of the "
        "project, a slot {NAME=VALUE} of the command, or else a variable of its environment. May be "
        "repeated: all are one change.",
    )


@dataclass(frozen=True)
class ShownFlags(PageFlags):
    """How the result is shown and written."""

    fail_if: list[str] | None = failing("'breaking-point<1000', 'memory-per-connection>64KiB', 'gate>30%'")
    junit: Path | None = junit_file()
    json: bool = flag(OUTPUT, None, "Print the result as JSON on stdout, in place of the screen.")


# The first base class comes last in the help.
@dataclass(frozen=True)
class DiagnoseFlags(SaveFlags, KeepFlags, ShownFlags, FromFlags, TargetFlags, CurledFlags, DiagnosisFlags):
    """All flags of `crumple diagnose`."""
