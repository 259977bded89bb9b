"""Annotations of a GitHub job: a line for each condition that holds, which the runner takes for a command.

A line from elsewhere that the runner would take for a command is `defused`.
"""

import re

from crumple.drawing.terminal import shown
from crumple.gate.told import Told

# The platform shows no more of a kind for a step.
MOST = 10
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
# The runner looks for commands at the beginning of a line, and for those of an older form anywhere.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|##(?=\[)", re.MULTILINE)


def lines(told: Told) -> list[str]:
    """Return a line for each condition that holds; the last one names those that are too many."""
    failed = told.failed
    shown_ones = failed if len(failed) <= MOST else failed[: MOST - 1]
    said = [f"{each.said} ({told.asked})" for each in shown_ones]
    if rest := failed[len(shown_ones) :]:
        said.append(f"{len(rest)} more: {'; '.join(each.said for each in rest)}")
    title = _replaced(shown(f"crumple {told.verb}"), _PROPERTY)
    return [f"::error title={title}::{_replaced(shown(each), _DATA)}" for each in said]


def defused(text: str) -> str:
    """Return a text in which the runner finds no command: such a line begins with a full stop instead."""
    return _COMMAND.sub(lambda found: f"{found[1]}.:" if found[1] is not None else "## ", text)


def _replaced(text: str, escapes: dict[str, str]) -> str:
    # The percent sign comes first, as the others bring new ones.
    for letter, escape in escapes.items():
        text = text.replace(letter, escape)
    return text
