"""Computed answers, each compared with the result of another way to compute it."""

import hashlib
import json
from itertools import pairwise

import pytest
from crumple.subject import workload
from crumple.subject.table_rows import books, wp_options
from crumple.subject.workload import Computed, Value


def body(kind: Computed, **parameters: Value) -> bytes:
    return workload.computed_body(kind, frozenset(parameters.items())).body


def test_the_file_to_hash_is_the_same_on_every_machine():
    assert len(workload.hash_content()) == 65_536
    assert workload.hash_content()[32:64] == hashlib.sha256(b"crumple 1").digest()


def test_each_round_hashes_the_file_and_the_digest_before():
    file = workload.hash_content()
    first = hashlib.sha256(file).digest()
    second = hashlib.sha256(file + first).digest()
    assert body("hash", n=1) == first.hex().encode()
    assert body("hash", n="3") == hashlib.sha256(file + second).hexdigest().encode()


@pytest.mark.parametrize(("below", "written"), [(0, "[]"), (2, "[]"), (3, "[2]"), (30, None), (50, None)])
def test_the_number_of_primes_below_a_limit(below, written):
    by_division = [n for n in range(2, below) if all(n % d for d in range(2, n))]
    assert body("primes", below=below).decode() == json.dumps(by_division, separators=(",", ":"))
    assert written in (None, body("primes", below=below).decode())


def test_the_primes_below_a_million():
    primes = json.loads(body("primes", below=1_000_000))
    assert (len(primes), primes[-1], len(body("primes", below=1_000_000))) == (78_498, 999_983, 538_469)


def test_a_large_body_is_computed_once():
    once = workload.computed_body("primes", frozenset({("below", 500_000)}))
    assert workload.computed_body("primes", frozenset({("below", 500_000)})) is once


@pytest.mark.parametrize(("size", "text"), [(0, ""), (3, "abc"), (26, None), (53, None)])
def test_the_letters_of_a_body_repeat(size, text):
    made = body("mix", wait_ms=5, spin_us=0, bytes=size).decode()
    assert len(made) == size and text in (None, made)
    assert all((ord(b) - ord(a)) % 26 == 1 for a, b in pairwise(made))


def test_the_fifty_options_are_those_of_the_table():
    rows = json.loads(body("options"))
    assert [tuple(row.values()) for row in rows] == list(wp_options().rows[:50])
    assert list(rows[0]) == ["option_id", "option_name", "option_value", "autoload"]


def test_the_ten_books_have_about_the_stated_size():
    rows = json.loads(body("rows"))
    assert [tuple(row.values()) for row in rows] == list(books().rows[:10])
    assert 1100 < len(body("rows")) < 1300


def test_both_tables_avoid_characters_that_serialisers_write_differently():
    texts = [part for table in (wp_options(), books()) for row in table.rows for part in row]
    seen = {letter for text in texts if isinstance(text, str) for letter in text}
    assert all(" " <= letter <= "~" for letter in seen)
    assert not seen & set("<>&'`") and seen >= set('"\\/:')


def test_the_options_have_the_size_of_a_real_installation():
    rows = wp_options().rows
    assert 300 <= len(rows) <= 600 and len({name for _, name, _, _ in rows}) == len(rows)
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert max(len(value) for _, _, value, _ in rows[:50]) > 3_000
    # Rows that differ between machines would make right answers wrong on one of them.
    digest = hashlib.sha256(repr([rows, books().rows]).encode()).hexdigest()
    assert digest.startswith("91fe434e93581bd3")
