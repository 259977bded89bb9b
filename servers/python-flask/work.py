"""What handlers compute, whichever server runs them. Nothing here waits: that is the applications' part."""

import os
import random
from hashlib import sha256
from itertools import compress
from string import ascii_lowercase

FILE_CHARACTERS = 108_000
# A byte → one of the characters 65 to 121.
INTO_RANGE = bytes(65 + byte % 57 for byte in range(256))


def digest(content: bytes, rounds: int) -> str:
    """SHA-256 of `content`; each further round hashes `content` and the digest before. In hex."""
    found = sha256(content)
    for _ in range(rounds - 1):
        found = sha256(content + found.digest())
    return found.hexdigest()


def primes(below: int) -> list[int]:
    """All primes below `below`, by a sieve of Eratosthenes."""
    sieve = bytearray([1]) * below
    sieve[:2] = bytes(len(sieve[:2]))
    for number in range(2, int(below**0.5) + 1):
        if sieve[number]:
            multiples = range(number * number, below, number)
            sieve[number * number :: number] = bytes(len(multiples))
    return list(compress(range(below), sieve))


def text_filled_each() -> str:
    """Random characters, made one at a time."""
    return "".join(chr(random.randint(65, 121)) for _ in range(FILE_CHARACTERS))


def text_filled_in_bulk() -> str:
    """Random characters, made all at once."""
    return os.urandom(FILE_CHARACTERS).translate(INTO_RANGE).decode("ascii")


FILLS = {"each": text_filled_each, "bulk": text_filled_in_bulk}


def letters(length: int) -> str:
    """The letters a to z over and over, cut to `length`."""
    return (ascii_lowercase * (length // len(ascii_lowercase) + 1))[:length]
