"""Computes the right answers that a workload's file does not contain, and checks the bodies of answers.

Each kind is one pure function of the workload's parameters. The servers compute the same on their own, and
both must agree. This module also makes the file of 65,536 bytes that the workload `hash` reads, the same on
every machine.
"""

import hashlib
import json
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from crumple.subject import books, wp_options

BLOCKS = 2048


@cache
def content() -> bytes:
    """The file's bytes: the SHA-256 of "crumple 0", of "crumple 1" and so on, one after the other."""
    return b"".join(hashlib.sha256(b"crumple %d" % number).digest() for number in range(BLOCKS))


SHOWN_BYTES = 24


class Fault(NamedTuple):
    """What is wrong with a body, and what the contract requires."""

    message: str
    remedy: str


@dataclass(frozen=True)
class Exact:
    """One body, which an answer must match to the byte."""

    body: bytes
    fresh: ClassVar[bool] = False

    @property
    def length(self) -> int:
        """The body's length in bytes."""
        return len(self.body)

    @cached_property
    def sha256(self) -> str:
        """The body's SHA-256 in hex."""
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
    """A new body for each request: `length` random bytes, each from `lowest` to `highest`."""

    length: int
    lowest: int
    highest: int
    fresh: ClassVar[bool] = True
    sha256: ClassVar[None] = None

    def check(self, body: bytes) -> Fault | None:
        """Why `body` cannot have been made as the contract requires, or None."""
        if len(body) != self.length:
            return Fault(f"{len(body)} bytes", f"the contract says {self.length}")
        allowed = bytes(range(self.lowest, self.highest + 1))
        beyond = body.translate(None, delete=allowed)
        if beyond:
            at = body.index(beyond[:1])
            message = f"byte {at} is {beyond[0]}"
            return Fault(message, f"the contract says {self.lowest} to {self.highest}")
        # A random body of this length lacks one of the values less than once in 10^700 answers.
        absent = sorted(set(allowed) - set(body))
        if absent and self.length > 1000 * len(allowed):
            remedy = f"choose at random from {self.lowest} to {self.highest}, both included"
            return Fault(f"no byte of it is {absent[0]}", remedy)
        return None


ExpectedBody = Exact | Fresh


def _shown(body: bytes, at: int) -> str:
    return repr(body[at : at + SHOWN_BYTES])[1:] if at < len(body) else "nothing"


Value = int | float | str
Kind = Literal["hash", "primes", "mix", "options", "rows"]


@lru_cache(maxsize=32)
def computed(kind: Kind, parameters: frozenset[tuple[str, Value]]) -> Exact:
    """The body of that kind; `parameters` must be complete. Cached, as primes take half a megabyte."""
    return Exact(KINDS[kind](dict(parameters)))


def _hash(parameters: Mapping[str, Value]) -> bytes:
    file = hashlib.sha256(content())
    digest = file.digest()
    for _ in range(int(parameters["n"]) - 1):
        whole = file.copy()
        whole.update(digest)
        digest = whole.digest()
    return digest.hex().encode()


def _primes(parameters: Mapping[str, Value]) -> bytes:
    below = int(parameters["below"])
    prime = np.ones(max(below, 2), dtype=bool)
    prime[:2] = False
    for number in range(2, int(below**0.5) + 1):
        if prime[number]:
            prime[number * number :: number] = False
    return _json(np.flatnonzero(prime).tolist())


def _mix(parameters: Mapping[str, Value]) -> bytes:
    size = int(parameters["bytes"])
    letters = string.ascii_lowercase.encode()
    return (letters * (size // len(letters) + 1))[:size]


def _options(_: Mapping[str, Value]) -> bytes:
    return _json(_rows(wp_options.COLUMNS, wp_options.rows()[:50]))


def _book_rows(_: Mapping[str, Value]) -> bytes:
    return _json(_rows(books.COLUMNS, books.rows()[:10]))


def _rows(columns: Iterable[str], rows: Iterable[tuple[int | str, ...]]) -> list[dict[str, int | str]]:
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


KINDS: dict[Kind, Callable[[Mapping[str, Value]], bytes]] = {
    "hash": _hash,
    "primes": _primes,
    "mix": _mix,
    "options": _options,
    "rows": _book_rows,
}
assert set(KINDS) == set(get_args(Kind))
