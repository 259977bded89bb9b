"""The flags of `crumple load` as typed: names, help and panels, each in one place.

`load_plan` defines what they mean. `spread` makes a command of a function that takes them as one value.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., None])

LOAD, REQUEST, ANSWER = "Load", "Request", "Expected answer"
TARGET, ENGINE, OUTPUT = "Target", "Engine", "Output"

Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="The URL to load. Without http:// or https://, http:// is assumed."),
]


def flag(panel: str, *names: str, metavar: str | None, help_: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help_, rich_help_panel=panel, show_default=False)


@dataclass(frozen=True)
class TargetFlags:
    """Where the load goes."""

    unix_socket: Annotated[
        str | None,
        flag(
            TARGET,
            "--unix-socket",
            metavar="PATH",
            help_="Connect to this Unix socket. Host and path still come from URL.",
        ),
    ] = None
    insecure: Annotated[
        bool, flag(TARGET, "--insecure", metavar=None, help_="Do not verify the server's certificate.")
    ] = False
    cacert: Annotated[
        str | None,
        flag(
            TARGET,
            "--cacert",
            metavar="FILE",
            help_="Trust the certificates in this PEM file instead of the system's.",
        ),
    ] = None
    source_address: Annotated[
        list[str] | None,
        flag(
            TARGET,
            "--source-address",
            metavar="ADDRESS",
            help_="Connect from this address, or from a range such as 127.0.0.2-127.0.0.9. Each address adds "
            "a range of local ports. May be repeated.",
        ),
    ] = None
    allow_remote: Annotated[
        bool,
        flag(
            TARGET,
            "--allow-remote",
            metavar=None,
            help_="Allow a target that is neither a loopback nor a private address. Use it only with "
            "permission.",
        ),
    ] = False


@dataclass(frozen=True)
class RequestFlags:
    """What is asked, and the answer that counts as ok."""

    method: Annotated[
        str | None,
        flag(
            REQUEST,
            "--method",
            "-m",
            metavar="METHOD",
            help_="The HTTP method. Default: GET, or POST with a body.",
        ),
    ] = None
    header: Annotated[
        list[str] | None,
        flag(REQUEST, "--header", "-H", metavar="'NAME: VALUE'", help_="Send this header. May be repeated."),
    ] = None
    body: Annotated[
        str | None,
        flag(
            REQUEST, "--body", "-d", metavar="TEXT|@FILE", help_="Send this text, or this file, as the body."
        ),
    ] = None
    body_file: Annotated[
        str | None,
        flag(
            REQUEST, "--body-file", "-D", metavar="FILE", help_="Send this file as the body, like -d @FILE."
        ),
    ] = None
    content_type: Annotated[
        str | None,
        flag(REQUEST, "--content-type", "-T", metavar="TYPE", help_="Send this Content-Type header."),
    ] = None
    accept: Annotated[
        str | None, flag(REQUEST, "--accept", "-A", metavar="TYPE", help_="Send this Accept header.")
    ] = None
    request_file: Annotated[
        Path | None,
        flag(
            REQUEST,
            "--request-file",
            metavar="FILE",
            help_="Send the requests that this TOML or JSON file lists under 'requests', each with path, "
            "name, method, headers, body or body_file, weight, expect_status, expect_body.",
        ),
    ] = None
    no_vary: Annotated[
        bool,
        flag(
            REQUEST,
            "--no-vary",
            metavar=None,
            help_="Send {seq}, {random:1-1000} and {line:FILE} in path, headers and body as they are. By "
            "default they become a count, a random number, and the lines of a file in turn.",
        ),
    ] = False
    expect_status: Annotated[
        str | None,
        flag(
            ANSWER,
            "--expect-status",
            metavar="STATUS",
            help_="The status that counts as ok, such as 201. Default: 2xx, any from 200 to 299.",
        ),
    ] = None
    expect_body: Annotated[
        str | None,
        flag(
            ANSWER,
            "--expect-body",
            metavar="TEXT|@FILE",
            help_="The body that counts as ok. The engine checks the length of every answer, and the bytes "
            "of some.",
        ),
    ] = None


@dataclass(frozen=True)
class EngineFlags:
    """How the engine sends, and which process it watches."""

    disable_keepalive: Annotated[
        bool,
        flag(REQUEST, "--disable-keepalive", metavar=None, help_="Open a new connection for every request."),
    ] = False
    watch: Annotated[
        str | None,
        flag(
            TARGET,
            "--watch",
            metavar="PID|:PORT",
            help_="Read the CPU time, memory and threads of this local process and its children, or of the "
            "process that listens on this port.",
        ),
    ] = None
    timeout: Annotated[
        str | None,
        flag(
            ENGINE,
            "--timeout",
            "-t",
            metavar="DURATION",
            help_="Give up a request this long after it was due. Default: 20s.",
        ),
    ] = None
    connect_timeout: Annotated[
        str | None,
        flag(
            ENGINE,
            "--connect-timeout",
            metavar="DURATION",
            help_="Give up an attempt to connect after this long. Default: 5s.",
        ),
    ] = None
    threads: Annotated[
        int | None,
        flag(
            ENGINE,
            "--threads",
            metavar="N",
            help_="The engine's threads. Default: 1, or more for many connections or a high rate, up to half "
            "of the cores.",
        ),
    ] = None
    cores: Annotated[
        str | None,
        flag(
            ENGINE,
            "--cores",
            metavar="LIST",
            help_="Bind the engine's threads to these cores, such as 0-3,7. Default: not bound.",
        ),
    ] = None
    spin: Annotated[
        bool,
        flag(
            ENGINE,
            "--spin",
            metavar=None,
            help_="Never sleep. More requests are sent on time, and each thread uses a whole core.",
        ),
    ] = False
    no_kernel_timestamps: Annotated[
        bool,
        flag(
            ENGINE,
            "--no-kernel-timestamps",
            metavar=None,
            help_="Take the time of an answer when the engine reads it, not when the kernel receives it.",
        ),
    ] = False
    seed: Annotated[
        int | None,
        flag(
            ENGINE,
            "--seed",
            metavar="N",
            help_="The seed of everything that is random. Default: random; the result names it.",
        ),
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
            help_="End after this many requests, or after -z if that is sooner.",
        ),
    ] = None
    connections: Annotated[
        int | None,
        flag(
            LOAD,
            "--connections",
            "-c",
            metavar="N",
            help_="The number of connections; each sends its next request after the answer. Default: 50. "
            "With a rate: the most that may be open, by default 1000.",
        ),
    ] = None
    duration: Annotated[
        str | None,
        flag(
            LOAD,
            "--duration",
            "-z",
            metavar="DURATION",
            help_="How long the load lasts, such as 500ms, 30s or 2m. Default: 10s.",
        ),
    ] = None
    rate: Annotated[
        str | None,
        flag(
            LOAD,
            "--rate",
            "-q",
            metavar="PER_S",
            help_="Send this many requests per second over all connections, without waiting for answers. "
            "This is the -q of oha; the -q of hey is per worker.",
        ),
    ] = None
    steps: Annotated[
        str | None,
        flag(
            LOAD,
            "--steps",
            metavar="RATES",
            help_="Send at these rates, one after the other: 1000,2000,3000:30s is 30 seconds each. A "
            "duration applies to its step and to the steps before it that have none. Steps after the last "
            "duration share the rest of -z, or take 10s each.",
        ),
    ] = None
    ramp: Annotated[
        str | None,
        flag(
            LOAD,
            "--ramp",
            metavar="FROM-TO",
            help_="Raise the connections evenly: 0-500:5m is from 0 to 500 in five minutes. Or raise the "
            "rate: 1000-5000/s:1m. Default duration: -z. If -z is longer, the load stays at its end value.",
        ),
    ] = None
    arrivals: Annotated[
        str | None,
        flag(
            LOAD,
            "--arrivals",
            metavar="even|poisson",
            help_="With a rate: send at random instants, as independent users do (poisson), or at even gaps. "
            "Default: poisson.",
        ),
    ] = None
    pause: Annotated[
        str | None,
        flag(
            LOAD,
            "--pause",
            metavar="DURATION",
            help_="Let each connection pause between an answer and its next request: 100ms is fixed, ~100ms "
            "exponential with that mean. Connections begin spread over one pause.",
        ),
    ] = None
    warm_up: Annotated[
        str | None,
        flag(
            LOAD,
            "--warm-up",
            metavar="DURATION",
            help_="Load the server this long before measuring. Default: no warm-up.",
        ),
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
            help_="Exit with 1 if this condition holds: 'p99>250ms', 'failed>0.1%', 'throughput<1000'. "
            "May be repeated.",
        ),
    ] = None
    debug: Annotated[
        bool,
        flag(
            OUTPUT,
            "--debug",
            metavar=None,
            help_="Put no load on. Send each request once, and show the request and the answer.",
        ),
    ] = False
    quiet: Annotated[bool, flag(OUTPUT, "--quiet", metavar=None, help_="Do not show progress.")] = False
    json: Annotated[
        bool, flag(OUTPUT, "--json", metavar=None, help_="Print the same facts as JSON on stdout.")
    ] = False
    csv: Annotated[
        Path | None,
        flag(
            OUTPUT,
            "--csv",
            metavar="FILE",
            help_="Write a row per interval. A second file, a.requests.csv beside a.csv, gets a row per kind "
            "of request, with its outcomes and statuses.",
        ),
    ] = None
    hdr: Annotated[
        Path | None,
        flag(OUTPUT, "--hdr", metavar="FILE", help_="Write the response times to an HdrHistogram log."),
    ] = None
    html: Annotated[
        Path | None,
        flag(OUTPUT, "--html", metavar="FILE", help_="Write a web page that loads nothing else."),
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
    return called  # type: ignore[return-value]
