"""The command that repeats a measurement: crumple reads it and measures the same, and it writes no file."""

import shlex
from dataclasses import Field, fields
from typing import Any

import pytest
from crumple import cli
from crumple.commands import saving
from crumple.load import load_flags
from crumple.typed import masked_command, typed_command
from hypothesis import given, settings
from hypothesis import strategies as st

SEED = 7
TEXTS = ["a", "a b", "-x", "--json", "$HOME", "'", '"', "é", "", "a=b", "--name=x", "--"]
FILES = ["made.txt", "-made.txt", "made by it.txt"]
# By what the help calls a value, where not any text will do.
VALUES = {"N": ["1", "50"], "FILE": FILES, "URL": ["http://a:1/"], "WHEN": ["auto"]}


# Besides files: what a result is called and where it is shown.
SHOWN_ONLY = ("name", "json", "open_")


def files_written(kind: Any) -> list[str]:
    """The flags that name a file to write: of those that name one by its type, only one is read."""
    return [of.name for of in fields(kind) if "Path" in str(of.type) and of.name != "request_file"]


def words_of(of: Field[Any], name: str, value: str, is_joined: bool) -> list[str]:
    """A flag as it may be typed: what looks like a flag itself is joined to it."""
    if not typed_command.takes_value(of):
        return [name]
    if not (is_joined or value.startswith("-")) or not value:
        return [name, value]
    return [f"{name}={value}" if name.startswith("--") else f"{name}{value}"]


@st.composite
def commands(draw: st.DrawFn, verb: str) -> list[str]:
    """A command with its URL and some flags, each at most once."""
    (kind,) = cli.saved_kinds(verb).values()
    given_flags = draw(st.lists(st.sampled_from(fields(kind)), unique_by=lambda of: of.name, max_size=8))
    pieces = [["http://a/b c"]]
    for of in given_flags:
        names = [name for name in load_flags.names(of) if name.startswith("--") or len(name) == 2]
        value = draw(st.sampled_from(VALUES.get(of.metadata["shown"]["metavar"], TEXTS)))
        piece = words_of(of, draw(st.sampled_from(names)), value, draw(st.booleans()))
        pieces.insert(draw(st.integers(0, len(pieces))), piece)
    return [verb, *(word for piece in pieces for word in piece)]


def read(words: list[str]) -> dict[str, Any]:
    """What the command line reads."""
    group = cli.group(words[0])
    command = group.get_command(group.make_context("crumple", words[:1]), words[0])
    assert command is not None
    return dict(command.make_context(words[0], words[1:]).params)


@pytest.mark.long
@pytest.mark.parametrize("verb", sorted(cli.SAVED))
@settings(max_examples=1_000)
@given(st.data())
def test_it_measures_the_same_and_writes_no_file(verb: str, data: st.DataObject) -> None:
    words = data.draw(commands(verb))
    (kind,) = cli.saved_kinds(verb).values()
    # Secrets, and texts that may have some, are masked in both.
    masked = [words[0], *masked_command.arguments(words[1:])]
    typed, absent = read(masked), read([words[0], "http://a/"])
    wanted = {**typed, "seed": SEED if typed["seed"] is None else typed["seed"]}
    wanted |= {name: absent[name] for name in (*files_written(kind), *SHOWN_ONLY) if name in absent}
    program, *again = shlex.split(saving.command_to_repeat(words, kind(), SEED))
    assert program == "crumple" and read(again) == wanted
