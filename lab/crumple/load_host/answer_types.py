"""What the engine on a load host answers to a command, each with its type: what comes is not trusted."""

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Literal

from pydantic import Field

from crumple.contract_base import Lenient


class Stated(Lenient):
    """Of which version an engine is, and the documents that it exchanges."""

    engine_version: str
    contract_version: int


class Resolved(Lenient):
    """The addresses of a name, in the order of preference; or why there are none."""

    addresses: tuple[IPv4Address | IPv6Address, ...] = ()
    error: str = "it has no address"


class Knocked(Lenient):
    """Why a connect came to nothing, other than that it was refused, or that no answer came."""

    error: str


# The engine counts nanoseconds in 64 bits.
Nanoseconds = Annotated[int, Field(ge=0, lt=1 << 64)]


class Clock(Lenient):
    """The wall clock, and the monotonic one."""

    unix_ns: Nanoseconds
    monotonic_ns: Nanoseconds


class Listening(Lenient):
    """Where a null server listens."""

    port: Annotated[int, Field(gt=0, lt=1 << 16)]


class Ended(Lenient):
    """How the engine of a trial ended: its code, negative for a signal."""

    code: Annotated[int, Field(gt=-256, lt=256)]


class EndedLine(Lenient):
    """The last line of a trial."""

    ended: Ended


Knock = Literal["listens", "refused", "silent"] | Knocked
