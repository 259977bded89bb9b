"""The corpus's tables are whole, each cause has servers enough, and its halves are halves of each kind."""

import random
import re
import sys
import tomllib
from collections import defaultdict

import made_at_load
import pytest
from crumple import project

sys.path.insert(0, str(project.root() / "corpus"))

import check
import noise

import corpus

ENTRIES = corpus.read()
README = (corpus.HERE / "README.md").read_text(encoding="utf-8")
PARTS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
# The causes that README.md explains.
TABLE = README.split("\n| cause | meaning |\n")[1].split("\n\n")[0]
CAUSES = re.findall(r"^\| `([\w-]+)` \|", TABLE, re.MULTILINE)
PLANTED = [entry for entry in ENTRIES.values() if entry.cause]


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_its_server_can_be_described(entry: corpus.Entry) -> None:
    described = corpus.description(entry)
    assert set(entry.settings) <= set(described.settings)
    assert entry.beside is None or entry.beside in ENTRIES
    assert not set(entry.cause) & set(entry.near_miss)
    assert entry.both <= (len(entry.cause) > 1)


@pytest.mark.parametrize("cause", CAUSES)
def test_two_servers_have_each_cause_and_two_nearly(cause: str) -> None:
    assert sum(cause in entry.cause for entry in PLANTED) >= 2
    assert sum(cause in entry.near_miss for entry in PLANTED) >= 2


def test_each_name_of_a_half_is_a_server_of_that_part() -> None:
    halves = tomllib.loads(corpus.SPLIT.read_text())
    assert [
        (part, name) for part, half in halves.items() for name in half["tune"] if ENTRIES[name].part != part
    ] == []


@pytest.mark.parametrize("part", PARTS)
def test_the_half_that_may_be_looked_at_is_a_half_of_each_kind(part: str) -> None:
    kinds = defaultdict(list)
    for entry in ENTRIES.values():
        if entry.part == part:
            kind = (entry.cause[:1], entry.both, entry.noisy) if entry.cause else entry.io_model
            kinds[kind].append(entry.tune)
    assert kinds and all(abs(len(each) - 2 * sum(each)) <= 1 for each in kinds.values())
    every = [tune for each in kinds.values() for tune in each]
    assert abs(len(every) - 2 * sum(every)) <= 1


def test_no_cause_is_planted_that_the_readme_leaves_out() -> None:
    assert {cause for entry in PLANTED for cause in (*entry.cause, *entry.near_miss)} == {*CAUSES}


def test_a_server_is_in_the_folder_of_what_is_planted() -> None:
    of_folders = defaultdict(list)
    for entry in ENTRIES.values():
        of_folders[entry.folder].append(entry)
    for entries in of_folders.values():
        if all(entry.helper for entry in entries):
            kind = "dependencies"
        elif not any(entry.cause for entry in entries):
            kind = "plain"
        else:
            kind = "behind" if any(entry.beside for entry in entries) else "planted"
        assert {entry.kind for entry in entries} == {kind}, entries[0].folder


def test_each_server_is_in_a_part() -> None:
    assert {entry.part for entry in ENTRIES.values() if not entry.helper} == {*PARTS}


def test_a_server_that_misses_its_truth_is_found_out() -> None:
    assert check.near(5.9, 5) and not check.near(6.5, 5) and not check.near(3.5, 5)


def test_noise_changes_what_is_observed_and_keeps_how_many_requests_there_are() -> None:
    plain, drawn = made_at_load.DISK, random.Random(1)
    noisy = [noise.noisy(plain, drawn) for _ in range(50)]
    assert len({each.beyond.per_s for each in noisy}) == 50
    stages = [each.stage for each in noisy]
    assert all(each and sum(vars(each).values()) == pytest.approx(64) for each in stages)
    unnamed = [each.beyond.threads.places[""] for each in noisy if each.beyond.threads]
    assert 0 <= min(unnamed) < max(unnamed) <= noise.UNNAMED_MAX * 0.5


def test_the_first_finding_of_a_planted_cause_is_steady() -> None:
    for cause, plain in made_at_load.CAUSES.items():
        drawn = random.Random(cause)
        found = [noise.first(noise.noisy(plain, drawn))[0] for _ in range(40)]
        assert found.count(noise.first(plain)[0]) >= 36, (cause, found)
