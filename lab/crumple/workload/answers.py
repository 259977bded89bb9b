"""The right answers that a workload does not spell out: one pure function of its parameters for each kind.

Written once more than in the servers, so that both must agree. They are asked rarely and may be slow.
"""

import hashlib
import json
import string
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from crumple.workload import books, hash_file, wp_options
from crumple.workload.expected import Exact

Value = int | float | str
Kind = Literal["hash", "primes", "mix", "options", "rows"]


@lru_cache(maxsize=32)
def computed(kind: Kind, parameters: frozenset[tuple[str, Value]]) -> Exact:
    """The body of that kind, all parameters given. Kept: primes are half a megabyte."""
    return Exact(KINDS[kind](dict(parameters)))


def _hash(parameters: Mapping[str, Value]) -> bytes:
    file = hashlib.sha256(hash_file.content())
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
