"""What a right answer's body looks like: known to the byte, or new each time within known bounds.

It is told bodies and says what is wrong with them; it asks nobody.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

SHOWN_BYTES = 24


class Fault(NamedTuple):
    """What is wrong with a body, and what the contract says."""

    message: str
    remedy: str


@dataclass(frozen=True)
class Exact:
    """One body, to the byte."""

    body: bytes
    fresh: ClassVar[bool] = False

    @property
    def length(self) -> int:
        """In bytes."""
        return len(self.body)

    @cached_property
    def sha256(self) -> str:
        """Hex digest."""
        return hashlib.sha256(self.body).hexdigest()

    def check(self, body: bytes) -> Fault | None:
        """Where `body` differs, or None."""
        if body == self.body:
            return None
        pairs = enumerate(zip(body, self.body, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(body), self.length))
        return Fault(
            f"{len(body)} bytes that differ from byte {at} on: {_shown(body, at)}",
            f"the contract says {self.length} bytes, there {_shown(self.body, at)}",
        )


@dataclass(frozen=True)
class Fresh:
    """A body that is made anew for each request, of `length` bytes from `lowest` to `highest`, at random."""

    length: int
    lowest: int
    highest: int
    fresh: ClassVar[bool] = True
    sha256: ClassVar[None] = None

    def check(self, body: bytes) -> Fault | None:
        """What no body made as the contract says would be, or None."""
        if len(body) != self.length:
            return Fault(f"{len(body)} bytes", f"the contract says {self.length}")
        allowed = bytes(range(self.lowest, self.highest + 1))
        beyond = body.translate(None, delete=allowed)
        if beyond:
            at = body.index(beyond[:1])
            message = f"byte {at} is {beyond[0]}"
            return Fault(message, f"the contract says {self.lowest} to {self.highest}")
        # At random, a value is absent from so long a body once in more than 10^700 answers.
        absent = sorted(set(allowed) - set(body))
        if absent and self.length > 1000 * len(allowed):
            remedy = f"choose at random from {self.lowest} to {self.highest}, both included"
            return Fault(f"no byte of it is {absent[0]}", remedy)
        return None


ExpectedBody = Exact | Fresh


def _shown(body: bytes, at: int) -> str:
    return repr(body[at : at + SHOWN_BYTES])[1:] if at < len(body) else "nothing"
