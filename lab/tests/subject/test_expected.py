"""Checking bodies: right ones pass, and the fault of wrong ones is named."""

import hashlib
import random

import pytest
from crumple.subject.workload import Exact, Fresh, WrongBody

LETTERS = Fresh(length=108_000, lowest=65, highest=121)


def letters(lowest: int = 65, highest: int = 121, length: int = 108_000) -> bytes:
    draw = random.Random(7)
    return bytes(draw.randint(lowest, highest) for _ in range(length))


def test_an_exact_body_must_match_every_byte():
    right = Exact(b"Hello, World!")
    assert right.check(b"Hello, World!") is None
    assert (right.length, right.sha256) == (13, hashlib.sha256(b"Hello, World!").hexdigest())
    assert right.check(b"Hello, world!") == WrongBody(
        "13 bytes that differ from byte 7 on: 'world!'", "the contract says 13 bytes, there 'World!'"
    )


def test_a_fresh_body_must_lie_within_its_bounds():
    assert LETTERS.check(letters()) is None
    assert (LETTERS.length, LETTERS.sha256) == (108_000, None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (letters(length=107_999), "107999 bytes; the contract says 108000"),
        (letters()[:-1] + b"z", "byte 107999 is 122; the contract says 65 to 121"),
        (letters(highest=120), "no byte of it is 121; choose at random from 65 to 121, both included"),
        (b"A" * 108_000, "no byte of it is 66; choose at random from 65 to 121, both included"),
    ],
)
def test_a_body_outside_its_bounds_is_reported(body, said):
    fault = LETTERS.check(body)
    assert fault and "; ".join(fault) == said
