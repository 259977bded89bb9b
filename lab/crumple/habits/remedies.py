"""A flag of another tool that crumple does not have → what to write instead, for the error."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from crumple.errors import UsageError
from crumple.habits import curl
from crumple.habits.tool import Flag
from crumple.habits.tools import TOOLS
from crumple.load import load_flags
from crumple.load.load_flags import LoadFlags

_OF_EACH: dict[str, tuple[Flag, ...]] = {
    **{each.name: each.flags for each in TOOLS.values()},
    "curl": curl.FLAGS,
}

_LEAVE = "; leave it out"
# What says what to do.
_TO_DO = re.compile(r"\b(write|leave|let)\b|only$")


def of(flag: Flag) -> str:
    """Return what to write instead of a flag of a tool."""
    if flag.instead:
        return flag.instead
    if flag.ours:
        return f"write {_with_value(flag.ours[0])}"
    meant = flag.remark.rpartition("; ")[2] if flag.remark.startswith("here ") else flag.remark
    return f"{meant.replace('`', '')}{_LEAVE}"


def _with_value(ours: str) -> str:
    shown = _own()[ours].metadata["shown"]["metavar"]
    return f"{ours} {shown}" if shown else ours


def _own() -> dict[str, Any]:
    return {name: each for each in fields(LoadFlags) for name in load_flags.names(each)}


def _instead() -> dict[str, str]:
    """Return option → remedy. Where tools mean different things by it, the remedy of each is given."""
    own = _own()
    found: dict[str, dict[str, list[str]]] = {}
    for tool, flags in _OF_EACH.items():
        for flag in flags:
            for name in (*flag.names, *_with_two(flag.names)):
                if name not in own:
                    found.setdefault(name, {}).setdefault(of(flag).removesuffix(_LEAVE), []).append(tool)
    return {name: _joined(remedies) for name, remedies in found.items()}


def _with_two(names: Sequence[str]) -> list[str]:
    """Return long names of one hyphen as they are written with two, which tools in Go take as well."""
    return [f"-{name}" for name in names if len(name) > 2 and name[1] != "-"]


def _joined(remedies: Mapping[str, Sequence[str]]) -> str:
    if len(remedies) > 1:
        return "; ".join(f"{', '.join(tools)}: {remedy}" for remedy, tools in remedies.items())
    (remedy,) = remedies
    return remedy if _TO_DO.search(remedy) else remedy + _LEAVE


INSTEAD = _instead()


def check(arguments: Sequence[str]) -> None:
    """Return unless a word with one hyphen, such as -duration, would be read as a letter and its value.

    `arguments`: the words behind the name of a command. Raises UsageError.
    """
    for typed in arguments:
        word = typed.partition("=")[0]
        if word in INSTEAD and word[:2] != "--" and len(word) > 2:
            raise UsageError(f"No such option: {word}", INSTEAD[word])
