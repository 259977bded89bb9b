"""Reads workloads from contract/workloads/<name>.toml: what a request asks and the exact answer expected.

A right answer that the file does not contain is computed, each kind by one pure function of the workload's
parameters. The servers compute the same on their own, and both must agree. The file of 65,536 bytes that
the workload `hash` reads is computed, too.
"""

import hashlib
import json
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, get_args
from urllib.parse import quote

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from crumple import contract, parsing
from crumple.contract_base import Frozen
from crumple.errors import FileInvalid, Problem, UsageError
from crumple.subject.table_rows import TableRows, books, wp_options

# The SHA-256 digests, of 32 bytes each, that make up the file of the workload `hash`: 64 KiB.
HASH_BLOCKS = 2048


@cache
def hash_content() -> bytes:
    """The file's bytes: the SHA-256 of "crumple 0", of "crumple 1" and so on, one after the other."""
    return b"".join(hashlib.sha256(b"crumple %d" % number).digest() for number in range(HASH_BLOCKS))


# The bytes of a wrong body that an error shows, from where it differs.
SHOWN_BYTES = 24


class WrongBody(NamedTuple):
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

    def check(self, body: bytes) -> WrongBody | None:
        """Where `body` differs, or None."""
        if body == self.body:
            return None
        pairs = enumerate(zip(body, self.body, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(body), self.length))
        return WrongBody(
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

    def check(self, body: bytes) -> WrongBody | None:
        """Why `body` cannot have been made as the contract requires, or None."""
        if len(body) != self.length:
            return WrongBody(f"{len(body)} bytes", f"the contract says {self.length}")
        allowed = bytes(range(self.lowest, self.highest + 1))
        beyond = body.translate(None, delete=allowed)
        if beyond:
            at = body.index(beyond[:1])
            message = f"byte {at} is {beyond[0]}"
            return WrongBody(message, f"the contract says {self.lowest} to {self.highest}")
        # A random body of this length lacks one of the values less than once in 10^700 answers.
        absent = sorted(set(allowed) - set(body))
        if absent and self.length > 1000 * len(allowed):
            remedy = f"choose at random from {self.lowest} to {self.highest}, both included"
            return WrongBody(f"no byte of it is {absent[0]}", remedy)
        return None


ExpectedBody = Exact | Fresh


def _shown(body: bytes, at: int) -> str:
    return repr(body[at : at + SHOWN_BYTES])[1:] if at < len(body) else "nothing"


Value = int | float | str
Computed = Literal["hash", "primes", "mix", "options", "rows"]


@lru_cache(maxsize=32)
def computed_body(kind: Computed, parameters: frozenset[tuple[str, Value]]) -> Exact:
    """The body of that kind; `parameters` must be complete. Cached, as primes take half a megabyte."""
    return Exact(KINDS[kind](dict(parameters)))


def _hash(parameters: Mapping[str, Value]) -> bytes:
    file = hashlib.sha256(hash_content())
    digest = file.digest()
    for _ in range(int(parameters["n"]) - 1):
        whole = file.copy()
        whole.update(digest)
        digest = whole.digest()
    return digest.hex().encode()


def _primes(parameters: Mapping[str, Value]) -> bytes:
    below = int(parameters["below"])
    # Imported here because loads are stored and shown without it.
    import numpy as np

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
    return _first_rows(wp_options(), 50)


def _book_rows(_: Mapping[str, Value]) -> bytes:
    return _first_rows(books(), 10)


def _first_rows(table: TableRows, number: int) -> bytes:
    return _json([dict(zip(table.columns, row, strict=True)) for row in table.rows[:number]])


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


KINDS: dict[Computed, Callable[[Mapping[str, Value]], bytes]] = {
    "hash": _hash,
    "primes": _primes,
    "mix": _mix,
    "options": _options,
    "rows": _book_rows,
}
assert set(KINDS) == set(get_args(Computed))


# Length and status of every answer are checked. Hashing all bodies would lower the engine's ceiling.
HASH_ONE_IN = 64
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
WHOLE = re.compile(r"[0-9]+")
BODIES = ("body", "computed", "fresh")
ONE_BODY = "write one of body, computed and fresh"


class RequestPattern(Frozen):
    """The request as written; `path` holds {parameters}."""

    method: str = "GET"
    path: str = Field(min_length=1, pattern="^/")
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None


class Parameter(Frozen):
    """What may differ between experiments: a whole number in a range, one of a few words, or any value."""

    default: Value
    meaning: str
    least: int | None = None
    most: int | None = None
    among: tuple[str, ...] = ()

    def fault(self, value: Value) -> str:
        """What to write instead of `value`; empty if it is allowed."""
        if self.among:
            return "" if value in self.among else f"write {' or '.join(self.among)}"
        if self.least is None or self.most is None:
            return ""
        whole = WHOLE.fullmatch(str(value))
        if whole and self.least <= int(str(value)) <= self.most:
            return ""
        return f"write a whole number from {self.least} to {self.most}"


class Bounds(Frozen):
    """A body that is new for each request: its length, and the least and greatest value of its bytes."""

    bytes: int = Field(ge=1)
    lowest: int = Field(ge=0, le=255)
    highest: int = Field(ge=0, le=255)


class Answer(Frozen):
    """The right answer; its body is given, computed or bounded, exactly one of the three."""

    status: int = Field(default=200, ge=100, le=599)
    content_type: str
    body: str | None = None
    computed: Computed | None = None
    fresh: Bounds | None = None

    @model_validator(mode="after")
    def _one_body(self) -> "Answer":
        given = [name for name in BODIES if getattr(self, name) is not None]
        if len(given) != 1:
            context = {"message": f"has {' and '.join(given) or 'no body'}", "remedy": ONE_BODY}
            raise PydanticCustomError("impossible", "{message}", context)
        return self


class Query(Frozen):
    """The one query that each answer needs: the table, and how many of its rows the query reads."""

    table: Literal["wp_options", "books"]
    rows: int = Field(ge=1)


class Workload(Frozen):
    """One workload. `name`: its file's, without .toml."""

    name: str
    title: str
    about: str = ""
    request: RequestPattern
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    database: Query | None = None
    answer: Answer

    def answer_to(self, parameters: Mapping[str, Value]) -> ExpectedBody:
        """The expected body; parameters not given have their defaults. Raises UsageError."""
        values = self._filled(parameters)
        answer = self.answer
        if answer.fresh is not None:
            return Fresh(answer.fresh.bytes, answer.fresh.lowest, answer.fresh.highest)
        if answer.computed is not None:
            return computed_body(answer.computed, frozenset(values.items()))
        assert answer.body is not None
        return Exact(answer.body.encode("utf-8"))

    def request_with(self, parameters: Mapping[str, Value]) -> contract.RequestSpec:
        """The request with its expected answer; parameters not given have defaults. Raises UsageError."""
        values = self._filled(parameters)
        expected = self.answer_to(parameters)
        headers = {"Accept": self.answer.content_type, **self.request.headers}
        return contract.RequestSpec(
            method=self.request.method,
            path=PLACEHOLDER.sub(lambda found: quote(str(values[found[1]]), safe=""), self.request.path),
            headers=tuple(headers.items()),
            body=self.request.body,
            expect=contract.ExpectSpec(
                status=self.answer.status,
                body_bytes=expected.length,
                body_sha256=expected.sha256,
                hash_one_in=0 if expected.fresh else HASH_ONE_IN,
            ),
        )

    def _filled(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        for name, value in parameters.items():
            if name not in self.parameters:
                remedy = parsing.did_you_mean(name, self.parameters)
                raise UsageError(f"workload {self.name} has no parameter {name}", remedy)
            remedy = self.parameters[name].fault(value)
            if remedy:
                raise UsageError(f"workload {self.name} takes no {name}={value}", remedy)
        return {name: each.default for name, each in self.parameters.items()} | dict(parameters)


def find(root: Path) -> dict[str, Workload]:
    """Name → workload, for all workloads of the project. Raises FileInvalid."""
    return {path.stem: load(path) for path in sorted((root / "contract" / "workloads").glob("*.toml"))}


def load(file: Path) -> Workload:
    """The workload in `file`. Raises FileInvalid with all its problems."""
    written = parsing.read_toml(file)
    workload, problems = parsing.meant(Workload, {**written, "name": file.stem}, file)
    if workload is not None:
        for name in sorted(set(PLACEHOLDER.findall(workload.request.path)) - set(workload.parameters)):
            remedy = parsing.did_you_mean(name, workload.parameters)
            problems.append(Problem(file, "request.path", f"{{{name}}} is no parameter", remedy))
        for name, each in workload.parameters.items():
            remedy = each.fault(each.default)
            if remedy:
                place = f"parameters.{name}.default"
                problems.append(Problem(file, place, f"{each.default} is no value of it", remedy))
    if problems or workload is None:
        raise FileInvalid(problems)
    return workload
