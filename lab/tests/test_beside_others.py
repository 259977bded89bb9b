"""docs/beside-others.md counts its rows rightly, and every command and flag that it names exists."""

import re
from collections import Counter
from pathlib import Path

import pytest
from crumple import cli
from typer.main import get_command

PAGE = (Path(__file__).parents[2] / "docs" / "beside-others.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+) \|$", PAGE, re.M)
COMMANDS = sorted(set(re.findall(r"`crumple ([^`]+)`", PAGE)))
STATES = ("whole", "part", "lacks")


def test_the_rows_are_numbered_and_each_has_a_state() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, 73))
    assert {re.split(r"[:,; ]", state)[0] for _, _, state, _, _ in ROWS} == set(STATES)


def test_a_part_says_which() -> None:
    assert [number for number, _, state, _, _ in ROWS if state.startswith("part") and ": " not in state] == []


def test_the_sentence_counts_the_rows() -> None:
    found = Counter(re.split(r"[:,; ]", state)[0] for _, _, state, _, _ in ROWS)
    whole, part, lacks = (found[state] for state in STATES)
    assert f"Of {len(ROWS)} features crumple has {whole} whole, {part} in part, and lacks {lacks}." in PAGE


@pytest.mark.parametrize("typed", COMMANDS)
def test_a_command_that_is_named_has_these_flags(typed: str) -> None:
    known = get_command(cli.app)
    name, *words = typed.split()
    flags = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)} - {"-X"}
    if name == "--version":
        flags, command = {name}, known
    else:
        command = known.commands[name]  # type: ignore[attr-defined]
    assert flags - {option for each in command.params for option in each.opts} == set()
