"""The flags of `crumple load` as typed: names, help and panels, each in one place.

`load_plan` defines what they mean; `commands.spread_flags` makes parameters of a command of them.
"""

# ruff: noqa: RUF009 - `flag` returns a dataclass's field

from collections.abc import Iterable, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from crumple import streams
from crumple.load import typed_values

LOAD, REQUEST, ANSWER = "Load", "Request", "Expected answer"
TARGET, ENGINE, OUTPUT, STORE = "Target", "Engine", "Output", "Store"
# Flags that are taken so that a command for hey or oha works as it is.
HABIT = "As in hey and oha"

Url = Annotated[
    str | None,
    typer.Argument(metavar="URL", help="The URL to load. Without http:// or https://, http:// is assumed."),
]


def flag(
    panel: str,
    metavar: str | None,
    help_: str,
    *,
    short: str = "",
    also: Sequence[str] = (),
    default: str | None = None,
    **typed: Any,
) -> Any:
    """Return a dataclass's field that is a flag. `metavar`: what its value is; None: it takes none.

    `also`: further names, from other tools. `typed`: how Typer reads it, as for `typer.Option`.
    """
    shown = {"metavar": metavar, "help": help_, "rich_help_panel": panel, "show_default": False, **typed}
    absent = False if metavar is None else default
    return field(default=absent, metadata={"names": [*filter(None, [short]), *also], "shown": shown})


def count(panel: str, help_: str, name: str) -> Any:
    """Return a field that is a flag called `name` whose value is a number such as 500 or 10k."""
    return flag(panel, "N", help_, short=name, parser=partial(typed_values.read_count, name))


def names(of: Field[Any]) -> list[str]:
    """Return how a flag is typed: "--body-file", "-D" if it has a letter, and its other names."""
    return [f"--{long_name(of.name)}", *of.metadata["names"]]


def long_name(field_name: str) -> str:
    """Return the long name of the flag in a field; a field called as a word of Python ends with "_"."""
    return field_name.rstrip("_").replace("_", "-")


def typed_flags(flags: Any, named: Iterable[str]) -> list[str]:
    """Return those flags among the fields `named` that were typed, as they are typed."""
    known = {each.name: each for each in fields(flags)}
    return [names(known[name])[0] for name in named if getattr(flags, name) != known[name].default]


@dataclass(frozen=True)
class TargetFlags:
    """Where the load goes."""

    unix_socket: str | None = flag(
        TARGET, "PATH", "Connect to this Unix socket. Host and path still come from URL."
    )
    insecure: bool = flag(TARGET, None, "Do not verify the server's certificate.")
    cacert: str | None = flag(
        TARGET, "FILE", "Trust the certificates in this PEM file instead of the system's."
    )
    cert: str | None = flag(
        TARGET, "FILE", "Show this certificate (PEM) to a server that asks for one. Its key: --key."
    )
    key: str | None = flag(
        TARGET, "FILE", "The key of --cert (PEM). Default: the file of --cert holds it, too."
    )
    connect_to: list[str] | None = flag(
        TARGET,
        "HOST:PORT:HOST2:PORT2",
        "Where URL says HOST and PORT, connect to HOST2 and PORT2; request and certificate still name HOST. "
        "An empty HOST or PORT stands for any.",
    )
    ipv4: bool = flag(TARGET, None, "Connect to an IPv4 address.")
    ipv6: bool = flag(TARGET, None, "Connect to an IPv6 address.")
    proxy: str | None = flag(
        TARGET,
        "URL",
        "Go through this HTTP proxy, such as http://localhost:3128; to https, through a tunnel (CONNECT). "
        "Response times then include the proxy's.",
        short="-x",
    )
    proxy_header: list[str] | None = flag(
        TARGET, "'NAME: VALUE'", "Send this header to the proxy. May be repeated."
    )
    source_address: list[str] | None = flag(
        TARGET,
        "ADDRESS",
        "Connect from this address, or from a range such as 127.0.0.2-127.0.0.9. Each address adds a range "
        "of local ports. May be repeated.",
    )
    allow_remote: bool = flag(
        TARGET,
        None,
        "Allow a target that is neither a loopback nor a private address. Use it only with permission.",
    )


@dataclass(frozen=True)
class RequestFlags:
    """What is asked, and the answer that counts as ok."""

    method: str | None = flag(
        REQUEST, "METHOD", "The HTTP method. Default: GET, or POST with a body.", short="-m"
    )
    header: list[str] | None = flag(
        REQUEST, "'NAME: VALUE'", "Send this header. May be repeated.", short="-H"
    )
    body: str | None = flag(
        REQUEST,
        "TEXT|@FILE",
        "Send this text, or this file, as the body. @@ begins a text with @.",
        short="-d",
    )
    body_file: str | None = flag(REQUEST, "FILE", "Send this file as the body, like -d @FILE.", short="-D")
    body_lines: str | None = flag(
        REQUEST, "FILE", "Send the lines of this file as bodies, one after the other.", short="-Z"
    )
    form: list[str] | None = flag(
        REQUEST,
        "NAME=VALUE",
        "Send a form (multipart/form-data, or the type that -T says) with this field. name=@FILE sends a "
        "file, name=<FILE its text; ';type=TYPE' and ';filename=NAME' may follow. May be repeated.",
        short="-F",
    )
    content_type: str | None = flag(REQUEST, "TYPE", "Send this Content-Type header.", short="-T")
    accept: str | None = flag(REQUEST, "TYPE", "Send this Accept header.", short="-A")
    basic_auth: str | None = flag(
        REQUEST, "USER:PASSWORD", "Send them as an Authorization header (Basic).", short="-a"
    )
    user_agent: str | None = flag(
        REQUEST,
        "NAME",
        "Send this User-Agent header; '' sends none. Default: crumple and its version.",
        short="-U",
    )
    host: str | None = flag(
        REQUEST, "NAME", "Send this Host header. Default: the host of URL.", also=["-host"]
    )
    request_file: Path | None = flag(
        REQUEST,
        "FILE",
        "Send the requests that this TOML or JSON file lists under 'requests', each with path, name, "
        "method, headers, body or body_file, weight, expect_status, expect_body.",
    )
    no_vary: bool = flag(
        REQUEST,
        None,
        "Send {seq}, {random:1-1000} and {line:FILE} in path, headers and body as they are, and the method "
        "as it is typed. By default they become a count, a random number, and the lines of a file in turn, "
        "and the method is sent in capital letters.",
    )
    expect_status: str | None = flag(
        ANSWER, "STATUS", "The status that counts as ok, such as 201. Default: 2xx, any from 200 to 299."
    )
    expect_body: str | None = flag(
        ANSWER,
        "TEXT|@FILE",
        "The body that counts as ok. The engine checks the length of every answer, and the bytes of some.",
    )


@dataclass(frozen=True)
class LikeFlags:
    """Another load generator, whose command is taken over. `habits.like` replaces this flag beforehand."""

    like: str | None = flag(
        REQUEST,
        "TOOL",
        "Ask as this tool does by default, and take its flags as it does: ab, autocannon, "
        "bombardier, h2load, hey, "
        "k6, oha, vegeta, wrk or wrk2.",
    )


@dataclass(frozen=True)
class CurlFlags(LikeFlags):
    """A request that curl would send."""

    curl: str | None = flag(
        REQUEST,
        "COMMAND|@FILE|-",
        "Send what this command of curl sends, such as a browser copies ('Copy as cURL (bash)'), or the one "
        "in this file or on stdin. It has the URL. Nothing of it is executed.",
    )
    env: bool = flag(
        REQUEST,
        None,
        "Fill in $NAME and ${NAME} in the command of --curl from the environment. Their values are shown and "
        "stored as secrets are.",
    )


# The first base class comes last in the help.
@dataclass(frozen=True)
class CurledFlags(CurlFlags, RequestFlags):
    """A request, as flags say it or as a command of curl does."""


@dataclass(frozen=True)
class EngineFlags:
    """How the engine sends, and which process it watches."""

    disable_keepalive: bool = flag(
        REQUEST, None, "Open a new connection for every request.", also=["-disable-keepalive"]
    )
    watch: str | None = flag(
        TARGET,
        "PID|:PORT",
        "Read the CPU time, memory and threads of this local process and its children, or of the process "
        "that listens on this port; say where the time inside it goes, and what limits it. Default: the "
        "process that listens at URL, if it is on this machine.",
    )
    no_watch: bool = flag(TARGET, None, "Watch no process.")
    timeout: str | None = flag(
        ENGINE, "DURATION", "Give up a request this long after it was due. Default: 20s.", short="-t"
    )
    connect_timeout: str | None = flag(
        ENGINE, "DURATION", "Give up an attempt to connect after this long. Default: 5s."
    )
    threads: int | None = flag(
        ENGINE,
        "N",
        "The engine's threads. Default: 1, or more for many connections or a high rate, up to half of the "
        "cores.",
    )
    cores: str | None = flag(
        ENGINE, "LIST", "Bind the engine's threads to these cores, such as 0-3,7. Default: not bound."
    )
    spin: bool = flag(
        ENGINE, None, "Never sleep. More requests are sent on time, and each thread uses a whole core."
    )
    no_kernel_timestamps: bool = flag(
        ENGINE, None, "Take the time of an answer when the engine reads it, not when the kernel receives it."
    )
    seed: int | None = flag(
        ENGINE, "N", "The seed of everything that is random. Default: random; the result names it."
    )


@dataclass(frozen=True)
class FromFlags:
    """Which machines the load comes from."""

    from_: list[str] | None = flag(
        ENGINE,
        "WHERE",
        "Let the load come from another machine, so that it takes no core of the server's: an ssh "
        "destination (loader, user@10.0.0.7), or a command that gives a shell there ('kubectl exec -i POD "
        "--'). May be repeated: then each machine puts a part of the load on. The server is watched here. "
        "--cores, --threads and --source-address are of each such machine; localhost in URL is this one.",
    )


@dataclass(frozen=True)
class ShapeFlags:
    """How many requests, when, and for how long; None: not given."""

    requests: int | None = count(
        LOAD,
        "End after this many requests, such as 500 or 10k; or after -z, if it is given and sooner.",
        "-n",
    )
    connections: int | None = count(
        LOAD,
        "The number of connections; each sends its next request after the answer. Default: 50. With a rate: "
        "the most that may be open, by default 1000.",
        "-c",
    )
    duration: str | None = flag(
        LOAD, "DURATION", "How long the load lasts, such as 500ms, 30s or 2m. Default: 10s.", short="-z"
    )
    rate: str | None = flag(
        LOAD,
        "PER_S",
        "Send this many requests per second over all connections, without waiting for answers. This is the "
        "-q of oha; the -q of hey is per worker.",
        short="-q",
    )
    steps: str | None = flag(
        LOAD,
        "RATES",
        "Send at these rates, one after the other: 1000,2000,3000:30s sends at each for 30 seconds. A step "
        "without a duration lasts as long as the next step that has one. If none follows, it takes an equal "
        "part of what is left of -z, or 10s.",
    )
    ramp: str | None = flag(
        LOAD,
        "FROM-TO",
        "Raise the connections evenly: 0-500:5m is from 0 to 500 in five minutes. Or raise the rate: "
        "1000-5000/s:1m. Default duration: -z. If -z is longer, the load stays at its end value.",
    )
    arrivals: str | None = flag(
        LOAD,
        "even|poisson",
        "With a rate: send at random instants, as independent users do (poisson), or at even gaps. Default: "
        "poisson.",
    )
    pause: str | None = flag(
        LOAD,
        "DURATION",
        "Let each connection pause between an answer and its next request: 100ms is fixed, ~100ms "
        "exponential with that mean. Connections begin spread over one pause.",
    )
    warm_up: str | None = flag(
        LOAD, "DURATION", "Load the server this long before measuring. Default: no warm-up."
    )


COLOURS = "Colour what is shown: auto (on a terminal), always or never."


def colour(when: str | None) -> str | None:
    """Choose the colours that --color says, if it was typed."""
    if when is not None:
        streams.choose_colours(when)
    return when


def _no_colour(given: bool) -> bool:
    if given:
        streams.choose_colours("never")
    return given


@dataclass(frozen=True)
class ScreenFlags:
    """How a result is shown on the terminal. The colours are chosen where the flags are read."""

    quiet: bool = flag(OUTPUT, None, "Do not show progress.", also=["--no-tui"])
    color: str | None = flag(
        OUTPUT,
        "WHEN",
        COLOURS,
        callback=colour,
        is_eager=True,
    )
    no_color: bool = flag(
        OUTPUT, None, "As --color never.", also=["--disable-color"], callback=_no_colour, is_eager=True
    )


def failing(examples: str) -> Any:
    """Return a field that is the flag --fail-if. `examples`: conditions on figures of the command."""
    said = f"Exit with 1 if this condition holds: {examples}. May be repeated."
    return flag(OUTPUT, "CONDITION", said)


def junit_file() -> Any:
    """Return a field that is the flag --junit."""
    return flag(OUTPUT, "FILE", "Write what came of each condition as JUnit XML, which CI platforms read.")


@dataclass(frozen=True)
class PageFlags(ScreenFlags):
    """Whether the result is written as a page."""

    html: Path | None = flag(OUTPUT, "FILE", "Write a web page that loads nothing else.")
    open_: bool = flag(
        OUTPUT,
        None,
        "Open the page in a browser. Without --html it is written beside the stored result.",
    )


@dataclass(frozen=True)
class OutputFlags(PageFlags):
    """How the result is shown and written."""

    fail_if: list[str] | None = failing("'p99>250ms', 'failed>0.1%', 'throughput<1000'")
    junit: Path | None = junit_file()
    first_look: bool = flag(
        OUTPUT,
        None,
        "Look at the server alone, load it for some seconds unless a flag says how long, and show in a dozen "
        "lines what it is, what limits it, and which command goes on from there, as crumple URL does.",
    )
    debug: bool = flag(
        OUTPUT, None, "Put no load on. Send each request once, and show the request and the answer."
    )
    json: bool = flag(OUTPUT, None, "Print the result as JSON on stdout, in place of the screen.")
    csv: Path | None = flag(
        OUTPUT,
        "FILE",
        "Write a row per interval. A second file, a.requests.csv beside a.csv, gets a row per kind of "
        "request, with its outcomes and statuses.",
    )
    hdr: Path | None = flag(OUTPUT, "FILE", "Write the response times to an HdrHistogram log.")


@dataclass(frozen=True)
class KeepFlags:
    """Whether the result is stored, and by what it is found again."""

    name: str | None = flag(
        STORE, "NAME", "Store the result under this name. Default: the command and the time."
    )
    tag: list[str] | None = flag(STORE, "TAG", "Tag the stored result. May be repeated.")
    no_store: bool = flag(STORE, None, "Do not store the result.")


@dataclass(frozen=True)
class SaveFlags:
    """Whether the command is saved, to be repeated."""

    save: Path | None = flag(
        STORE,
        "FILE",
        "Write the command to this TOML file, without its secrets. To repeat it, name the file in place of "
        "the URL, behind the same command: crumple load load.toml.",
    )


@dataclass(frozen=True)
class HabitFlags:
    """What changes nothing, or must be what it is anyway. `habit_flags` refuses other values."""

    redirect: str | None = flag(HABIT, "N", "Redirects are not followed, so N can only be 0.", short="-r")
    disable_redirects: bool = flag(
        HABIT, None, "As always: redirects are not followed.", also=["-disable-redirects"]
    )
    disable_compression: bool = flag(
        HABIT,
        None,
        "As always: no compressed answer is asked for, unless -H does. Nor does load ask, when it is over, "
        "whether the server would have compressed.",
        also=["-disable-compression"],
    )
    http_version: str | None = flag(HABIT, "VERSION", "Only HTTP/1.1 is spoken, so VERSION can only be 1.1.")
    latency_correction: bool = flag(
        HABIT, None, "As always: with a rate, a response time begins when the request was due."
    )


# The first base class comes last in the help.
@dataclass(frozen=True)
class LoadFlags(
    HabitFlags,
    SaveFlags,
    KeepFlags,
    OutputFlags,
    FromFlags,
    EngineFlags,
    TargetFlags,
    CurledFlags,
    ShapeFlags,
):
    """All flags of `crumple load`."""
