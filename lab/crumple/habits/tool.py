"""The types of the data: a load generator, its flags, and what it sends by default."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from crumple.errors import UsageError

# Words of a command line of crumple.
Words = tuple[str, ...]
# The value of a flag of a tool → what --like writes for it.
Gives = Callable[[str], Words]
LONGEST = "24h"
# Which answers crumple counts as failed, if --expect-status names no other.
OWN_FAILED = "statuses other than 200 to 299"


@dataclass(frozen=True)
class Flag:
    """A flag of a tool, and what stands for it in crumple."""

    names: tuple[str, ...]
    ours: tuple[str, ...]
    """The flags of crumple that do the same; none: there is none, or none is needed."""
    remark: str
    """What the page says beside that. It begins with "here" if one of the names means something else here."""
    instead: str
    """What to do, for the error where the flag is typed; empty: it follows from `ours` and `remark`."""
    gives: Gives | None
    """What --like writes for it; None: --like refuses it as well."""
    takes_value: bool


def same(names: str, remark: str = "", *, value: bool = True, gives: Gives | None = None) -> Flag:
    """Return a flag that crumple has by the same name and with the same meaning."""
    every = tuple(names.split())
    return Flag(every, every[:1], remark, "", gives or as_typed(every[0], value), value)


def other(
    names: str,
    ours: str,
    remark: str = "",
    *,
    instead: str = "",
    value: bool = True,
    gives: Gives | Literal["ours"] | None = "ours",
) -> Flag:
    """Return a flag for which crumple has one by another name.

    `gives` "ours": --like writes the first of `ours`, with the value as it is.
    """
    flags = tuple(ours.split())
    meant = as_typed(flags[0], value) if gives == "ours" else gives
    return Flag(tuple(names.split()), flags, remark, instead, meant, value)


def needless(names: str, remark: str, *, instead: str = "", value: bool = False) -> Flag:
    """Return a flag that changes nothing that is sent: --like leaves it out."""
    return Flag(tuple(names.split()), (), remark, instead, nothing, value)


def lacking(names: str, remark: str, *, instead: str = "", value: bool = True) -> Flag:
    """Return a flag that asks for what crumple does not do."""
    return Flag(tuple(names.split()), (), remark, instead, None, value)


def as_typed(ours: str, value: bool = True) -> Gives:
    """Return what writes the flag `ours`, with the value as it is if it takes one."""
    return lambda typed: (ours, typed) if value else (ours,)


def nothing(typed: str) -> Words:
    """Write nothing."""
    return ()


def header(name: str) -> Gives:
    """Return what writes a header with the value."""
    return lambda typed: ("-H", f"{name}: {typed}")


def even_rate(typed: str) -> Words:
    """Write a rate whose requests are due at even gaps."""
    return ("--rate", typed, "--arrivals", "even")


def timeout(typed: str) -> Words:
    """Write a timeout; 0 is none, which is the longest in crumple."""
    return ("-t", LONGEST if typed.strip("s") == "0" else typed)


class CommandToSettle(Protocol):
    """The flags of crumple that a command has come to, by the names of their fields."""

    def value(self, name: str) -> str | None:
        """Return the last value of a flag; None: it was not given."""

    def put(self, name: str, value: str | None = None) -> None:
        """Give a flag a value instead of that which it has, or one more if it may be repeated."""


# Flags of the tool that were typed, by their first name → what follows beyond what each of them gives.
Settle = Callable[[CommandToSettle, Mapping[str, str]], None]


def no_more(asked: CommandToSettle, typed: Mapping[str, str]) -> None:
    """Do nothing more."""


@dataclass(frozen=True)
class Default:
    """What a tool does if no flag says otherwise, as far as it is on the wire or decides the figures.

    Tests compare it with what the tool sends to a recording server.
    """

    connections: int
    requests: int | None = None
    duration_s: float | None = None
    """None, as for `requests`: another end; both: it goes on until it is ended."""
    rate_per_s: int | None = None
    timeout_s: float | None = None
    """When it gives up a request; None: never."""
    headers: tuple[tuple[str, str], ...] = ()
    """Beside Host, User-Agent and the length of a body."""
    user_agent: str = ""
    """How it begins; empty: it sends none."""
    version: str = "HTTP/1.1"
    http2_over_tls: bool = False
    redirects: int = 0
    """How many it follows."""
    keeps_alive: bool = True
    verifies: bool = True
    """Whether it looks at the server's certificate."""
    waits_at_end: bool = False
    """Whether it waits for requests in flight at the end of a duration; otherwise it cuts them off."""
    equal_parts: bool = False
    """Whether each connection sends the same part of a number of requests; otherwise whichever is free."""
    body_method: str = "GET"
    """The method of a request with a body."""
    body_type: str = ""
    """The Content-Type of a body."""
    waits_under_rate: bool = True
    """Whether each connection waits for its answer under a rate, too, so that a slow server is asked less."""
    failed: str = "no status"
    """Which answers it counts as failed."""


@dataclass(frozen=True)
class Tool:
    """A load generator."""

    name: str
    command: str
    """How it is called: "vegeta attack"."""
    seen: str
    """The versions that were recorded or read."""
    about: str
    """What its section of the page begins with."""
    grammar: Literal["getopt", "go"]
    """How its flags are written: "getopt" -c100 and --long=x, "go" -c=100 and -long x."""
    default: Default
    flags: tuple[Flag, ...]
    differs: tuple[str, ...] = ()
    """What it does otherwise than a load --like it, beside what follows from `default`: "speaks HTTP/1.0"."""
    number_or_time: Literal["first", "number", "time"] = "first"
    """If a number of requests and a duration are typed: which of them counts."""
    settle: Settle = field(default=no_more)

    def flag(self, name: str) -> Flag | None:
        """Return the flag of this name."""
        return next((each for each in self.flags if name in each.names), None)


def per_connection(asked: CommandToSettle, flag: str, typed: Mapping[str, str]) -> None:
    """Make the rate of each connection, which `flag` of the tool gives, that of all of them."""
    if flag in typed:
        asked.put(
            "rate", f"{_number(flag, typed[flag]) * _number('-c', asked.value('connections') or '1'):.15g}"
        )


def _number(flag: str, typed: str) -> float:
    """Return a number. Raises UsageError."""
    try:
        return float(typed)
    except ValueError:
        raise UsageError(f"{flag} {typed}: that is no number", "write 100, for instance") from None
