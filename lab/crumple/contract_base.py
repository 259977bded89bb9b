"""Base classes of the documents in contract.py, which is generated; what is computed from their fields.

The files that the lab reads and stores are derived from `Frozen`, too.
"""

from typing import Annotated, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

# The engine reads counts into 64 bits.
COUNT_MAX = 2**64 - 1
Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]


class Frozen(BaseModel):
    """An immutable document that rejects unknown fields.

    What checks it is built at its first use: before its first request a load uses a few of them only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Lenient(Frozen):
    """An immutable document that ignores unknown fields."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Counted(Frozen):
    """Requests by outcome."""

    model_config = ConfigDict(alias_generator=_kebab, populate_by_name=True, serialize_by_alias=True)

    def as_dict(self) -> dict[str, int]:
        """Name of the outcome, as in the glossary → requests that ended so."""
        return self.model_dump(by_alias=True)

    @property
    def total(self) -> int:
        """The sum over all outcomes, which in a sound record equals the scheduled requests."""
        return sum(self.as_dict().values())

    @property
    def failed(self) -> int:
        """Requests with any outcome but `ok`, `not-sent` and `unfinished`."""
        kept = ("ok", "not-sent", "unfinished")
        return sum(number for name, number in self.as_dict().items() if name not in kept)


class _InParts(Protocol):
    @property
    def cpu_user_ns(self) -> int: ...
    @property
    def cpu_kernel_ns(self) -> int: ...


class CpuTimes(Frozen):
    """CPU time in user and in kernel mode."""

    @property
    def cpu_ns(self: _InParts) -> int:
        """CPU time in user and kernel mode together, in ns."""
        return self.cpu_user_ns + self.cpu_kernel_ns


_Machine = TypeVar("_Machine", covariant=True)
_Sockets = TypeVar("_Sockets", covariant=True)


class _OfTwoMachines(Protocol[_Machine, _Sockets]):
    @property
    def machine(self) -> _Machine: ...
    @property
    def server_machine(self) -> _Machine | None: ...
    @property
    def sockets(self) -> _Sockets: ...
    @property
    def server_sockets(self) -> _Sockets | None: ...


class MachineReadings(Frozen):
    """What was read of the machine that the load came from, and of the server's if that is another one."""

    @property
    def machine_of_server(self: _OfTwoMachines[_Machine, _Sockets]) -> _Machine:
        """The server's machine, also where the load came from it."""
        return self.machine if self.server_machine is None else self.server_machine

    @property
    def sockets_of_server(self: _OfTwoMachines[_Machine, _Sockets]) -> _Sockets:
        """TCP of the server's network namespace, also where the load came from it."""
        return self.sockets if self.server_sockets is None else self.server_sockets
