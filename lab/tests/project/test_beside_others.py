"""docs/beside-others.md counts its rows rightly, and every command and flag that it names exists."""

import re
from collections import Counter
from pathlib import Path

import pytest
from crumple import cli
from crumple.habits.tools import TOOLS

PAGE = (Path(__file__).parents[3] / "docs" / "beside-others.md").read_text()
ROWS = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+) \|$", PAGE, re.M)
COMMANDS = sorted(set(re.findall(r"`crumple ([^`]+)`", PAGE)))
STATES = ("whole", "part", "lacks")


def test_the_rows_are_numbered_and_each_has_a_state() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, len(ROWS) + 1))
    assert {re.split(r"[:,; ]", state)[0] for _, _, state, _, _ in ROWS} == set(STATES)


def test_a_part_says_which() -> None:
    assert [number for number, _, state, _, _ in ROWS if state.startswith("part") and ": " not in state] == []


def test_the_sentence_counts_the_rows() -> None:
    found = Counter(re.split(r"[:,; ]", state)[0] for _, _, state, _, _ in ROWS)
    whole, part, lacks = (found[state] for state in STATES)
    assert f"Of {len(ROWS)} features crumple has {whole} whole, {part} in part, and lacks {lacks}." in PAGE


@pytest.mark.parametrize("typed", COMMANDS)
def test_a_command_that_is_named_has_these_flags(typed: str) -> None:
    known = cli.group()
    name, *words = typed.split()
    flags = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)} - {"-X"}
    if name == "--version":
        flags, command = {name}, known
    else:
        command = known.commands[name]  # type: ignore[attr-defined]
    assert flags - {option for each in command.params for option in each.opts} == set()


def others(feature: str) -> str:
    (found,) = [others for _, name, _, others, _ in ROWS if name == feature]
    return found


def named(feature: str) -> set[str]:
    """Return which of the tools whose habits are known a row names."""
    return {name for name in TOOLS if re.search(rf"\b{name}\b", others(feature))}


def test_the_tools_that_speak_http_2_are_those_that_say_so() -> None:
    flags = {"--http2", "-http2", "-h2", "--npn-list"}
    speak = {
        name for name, tool in TOOLS.items() if tool.default.http2_over_tls or any(map(tool.flag, flags))
    }
    assert named("HTTP/2") == speak


def test_the_tools_that_ask_for_compressed_answers_are_those_that_are_named() -> None:
    ask = {name for name, tool in TOOLS.items() if "Accept-Encoding" in dict(tool.default.headers)}
    assert named("compressed answers") == ask


def test_the_tools_that_end_early_have_a_flag_for_it_or_a_script() -> None:
    early = named("an early end where it is hopeless")
    assert early == {"k6", *(name for name, tool in TOOLS.items() if tool.flag("--bailout"))}


def test_what_the_page_says_that_crumple_lacks_the_readme_does_not_promise() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    cannot = readme.split("## What it cannot do\n\n")[1].split("\n\n")[0]
    for word in ("HTTP/2", "script", "redirect", "macOS"):
        assert word in cannot
