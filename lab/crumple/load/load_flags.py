"""The flags of `crumple load` as typed: names, help and panels, each in one place.

`load_plan` defines what they mean. `spread` makes a command of a function that takes them as one value.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

Command = Callable[..., None]

LOAD, REQUEST, ANSWER = "Load", "Request", "Expected answer"
TARGET, ENGINE, OUTPUT = "Target", "Engine", "Output"

Url = Annotated[
    str, typer.Argument(metavar="URL", help="Host, port, path and query; http:// where nothing else is said.")
]


def flag(panel: str, *names: str, metavar: str | None, help_: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help_, rich_help_panel=panel, show_default=False)


@dataclass(frozen=True)
class TargetFlags:
    """Where the load goes."""

    unix_socket: Annotated[
        str | None,
        flag(TARGET, "--unix-socket", metavar="PATH", help_="Connect to this socket; URL says the rest."),
    ] = None
    insecure: Annotated[
        bool, flag(TARGET, "--insecure", metavar=None, help_="Do not verify the certificate.")
    ] = False
    cacert: Annotated[
        str | None,
        flag(TARGET, "--cacert", metavar="FILE", help_="Trust these certificates (PEM), not the system's."),
    ] = None
    source_address: Annotated[
        list[str] | None,
        flag(
            TARGET,
            "--source-address",
            metavar="ADDRESS",
            help_="Connect from here; each address has ports of its own. A range: 127.0.0.2-127.0.0.9. "
            "May be repeated.",
        ),
    ] = None
    allow_remote: Annotated[
        bool,
        flag(
            TARGET,
            "--allow-remote",
            metavar=None,
            help_="Load an address that is neither loopback nor private. Only where you may.",
        ),
    ] = False


@dataclass(frozen=True)
class RequestFlags:
    """What is asked, and the answer that counts as ok."""

    method: Annotated[
        str | None,
        flag(REQUEST, "--method", "-m", metavar="METHOD", help_="GET; with a body POST."),
    ] = None
    header: Annotated[
        list[str] | None,
        flag(REQUEST, "--header", "-H", metavar="'NAME: VALUE'", help_="May be repeated."),
    ] = None
    body: Annotated[
        str | None,
        flag(
            REQUEST, "--body", "-d", metavar="TEXT|@FILE", help_="The body to send, typed out or in a file."
        ),
    ] = None
    body_file: Annotated[
        str | None,
        flag(REQUEST, "--body-file", "-D", metavar="FILE", help_="The file; -d @FILE means the same."),
    ] = None
    content_type: Annotated[
        str | None,
        flag(REQUEST, "--content-type", "-T", metavar="TYPE", help_="The Content-Type header to send."),
    ] = None
    accept: Annotated[
        str | None, flag(REQUEST, "--accept", "-A", metavar="TYPE", help_="The Accept header to send.")
    ] = None
    request_file: Annotated[
        Path | None,
        flag(
            REQUEST,
            "--request-file",
            metavar="FILE",
            help_="Several requests, as TOML or JSON: a list 'requests' of path, name, method, headers, body "
            "or body_file, weight, expect_status, expect_body.",
        ),
    ] = None
    no_vary: Annotated[
        bool,
        flag(
            REQUEST,
            "--no-vary",
            metavar=None,
            help_="Send {seq}, {random:1-1000} and {line:FILE} as they are. Otherwise they vary in path, "
            "headers and body: a count, a random number, the lines of a file in turn.",
        ),
    ] = False
    expect_status: Annotated[
        str | None,
        flag(
            ANSWER,
            "--expect-status",
            metavar="STATUS",
            help_="This one; 2xx, any from 200 to 299, otherwise.",
        ),
    ] = None
    expect_body: Annotated[
        str | None,
        flag(
            ANSWER,
            "--expect-body",
            metavar="TEXT|@FILE",
            help_="The length of every answer is checked, and the bytes of some.",
        ),
    ] = None


@dataclass(frozen=True)
class EngineFlags:
    """How the engine sends, and which process it watches."""

    disable_keepalive: Annotated[
        bool,
        flag(
            REQUEST, "--disable-keepalive", metavar=None, help_="A connection of its own for every request."
        ),
    ] = False
    watch: Annotated[
        str | None,
        flag(
            TARGET,
            "--watch",
            metavar="PID|:PORT",
            help_="Probe this local server: the process and its children, or whoever listens there.",
        ),
    ] = None
    timeout: Annotated[
        str | None,
        flag(
            ENGINE,
            "--timeout",
            "-t",
            metavar="DURATION",
            help_="Give a request up after this long from when it was due; 20s otherwise.",
        ),
    ] = None
    connect_timeout: Annotated[
        str | None,
        flag(
            ENGINE, "--connect-timeout", metavar="DURATION", help_="The same for a connection; 5s otherwise."
        ),
    ] = None
    threads: Annotated[
        int | None,
        flag(
            ENGINE,
            "--threads",
            metavar="N",
            help_="Otherwise 1, and more for many connections or a high rate, up to half of the cores.",
        ),
    ] = None
    cores: Annotated[
        str | None,
        flag(ENGINE, "--cores", metavar="LIST", help_="Bind the threads to these: 0-3,7; unbound otherwise."),
    ] = None
    spin: Annotated[
        bool,
        flag(
            ENGINE, "--spin", metavar=None, help_="Never sleep: sends most on time, and costs a whole core."
        ),
    ] = False
    no_kernel_timestamps: Annotated[
        bool,
        flag(
            ENGINE,
            "--no-kernel-timestamps",
            metavar=None,
            help_="Time answers when the engine reads them, not when the kernel receives them.",
        ),
    ] = False
    seed: Annotated[
        int | None,
        flag(ENGINE, "--seed", metavar="N", help_="Of all that is random; drawn otherwise, and recorded."),
    ] = None


@dataclass(frozen=True)
class ShapeFlags:
    """How many requests, when, and for how long. The fields have the names of load_shape.WrittenShape."""

    requests: Annotated[
        int | None,
        flag(
            LOAD,
            "--requests",
            "-n",
            metavar="N",
            help_="End after so many, or after -z if sooner.",
        ),
    ] = None
    connections: Annotated[
        int | None,
        flag(
            LOAD,
            "--connections",
            "-c",
            metavar="N",
            help_="So many, each sending its next request after the answer; 50 otherwise. With a rate: the "
            "most that are opened; 1000 otherwise.",
        ),
    ] = None
    duration: Annotated[
        str | None,
        flag(LOAD, "--duration", "-z", metavar="DURATION", help_="30s, 2m, 500ms; 10s otherwise."),
    ] = None
    rate: Annotated[
        str | None,
        flag(
            LOAD,
            "--rate",
            "-q",
            metavar="PER_S",
            help_="Requests per second in all, sent when due whether answers came or not (as in oha; the -q "
            "of hey is per worker).",
        ),
    ] = None
    steps: Annotated[
        str | None,
        flag(
            LOAD,
            "--steps",
            metavar="RATES",
            help_="Rates one after the other: 1000,2000,3000:30s, 30 seconds each. A duration is of all "
            "steps before it that have none; steps behind the last share what is left of -z, or take 10s.",
        ),
    ] = None
    ramp: Annotated[
        str | None,
        flag(
            LOAD,
            "--ramp",
            metavar="FROM-TO",
            help_="Connections from 0 to 500 over five minutes: 0-500:5m. Rates: 1000-5000/s:1m. Without a "
            "duration over all of -z; with a longer -z it stays at its end.",
        ),
    ] = None
    arrivals: Annotated[
        str | None,
        flag(
            LOAD,
            "--arrivals",
            metavar="even|poisson",
            help_="Of a rate: poisson as of independent users, which is the default, or at even gaps.",
        ),
    ] = None
    pause: Annotated[
        str | None,
        flag(
            LOAD,
            "--pause",
            metavar="DURATION",
            help_="Between requests; each connection begins within one: 100ms; ~100ms is exponential.",
        ),
    ] = None
    warm_up: Annotated[
        str | None,
        flag(LOAD, "--warm-up", metavar="DURATION", help_="Load before the clock counts; none otherwise."),
    ] = None


@dataclass(frozen=True)
class OutputFlags:
    """How the result is shown and written."""

    fail_if: Annotated[
        list[str] | None,
        flag(
            OUTPUT,
            "--fail-if",
            metavar="CONDITION",
            help_="Exit with 1 if it holds: 'p99>250ms', 'failed>0.1%', 'throughput<1000'. May be repeated.",
        ),
    ] = None
    debug: Annotated[
        bool,
        flag(
            OUTPUT,
            "--debug",
            metavar=None,
            help_="Put no load on: send each request once, and show both sides of it.",
        ),
    ] = False
    quiet: Annotated[bool, flag(OUTPUT, "--quiet", metavar=None, help_="Nothing while it runs.")] = False
    json: Annotated[
        bool, flag(OUTPUT, "--json", metavar=None, help_="The same facts as data: JSON on stdout.")
    ] = False
    csv: Annotated[
        Path | None,
        flag(
            OUTPUT,
            "--csv",
            metavar="FILE",
            help_="Write the series: a row per interval. Beside it, for a.csv in a.requests.csv, a row per "
            "request: how they ended, by outcome and status.",
        ),
    ] = None
    hdr: Annotated[
        Path | None,
        flag(OUTPUT, "--hdr", metavar="FILE", help_="Write the response times as an HdrHistogram log."),
    ] = None
    html: Annotated[
        Path | None, flag(OUTPUT, "--html", metavar="FILE", help_="Write a page that needs no network.")
    ] = None


# The first base class comes last in the help.
@dataclass(frozen=True)
class LoadFlags(OutputFlags, EngineFlags, TargetFlags, RequestFlags, ShapeFlags):
    """All flags of `crumple load`."""


def spread(command: Command) -> Command:
    """Return the command with each field of its last parameter, a dataclass, as a parameter of its own."""
    *before, last = inspect.signature(command).parameters.values()
    kind: Any = last.annotation
    fields = dataclasses.fields(kind)

    @functools.wraps(command)
    def called(**given: Any) -> None:
        flags = kind(**{field.name: given.pop(field.name) for field in fields})
        command(**given, **{last.name: flags})

    parameters = [
        *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in before),
        *(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
            )
            for field in fields
        ),
    ]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(called)["__signature__"] = inspect.Signature(parameters)
    return called
