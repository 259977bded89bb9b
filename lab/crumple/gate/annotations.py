"""Annotations of a GitHub job: a line for each condition that holds, which the runner takes for a command.

A line from elsewhere that the runner would take for a command is `defused`.
"""

import re

from crumple.drawing.terminal import shown
from crumple.gate.job_report import JobReport

# GitHub shows ten annotations of a kind for a step.
MOST = 10
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
# The runner looks for commands at the beginning of a line, and for those of an older form anywhere.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|##(?=\[)", re.MULTILINE)


def lines(report: JobReport) -> list[str]:
    """Return a line for each condition that holds; the last names all for which there is no line."""
    failed = report.failed
    shown_ones = failed if len(failed) <= MOST else failed[: MOST - 1]
    texts = [f"{outcome.sentence} ({report.asked})" for outcome in shown_ones]
    if rest := failed[len(shown_ones) :]:
        texts.append(f"{len(rest)} more: {'; '.join(outcome.sentence for outcome in rest)}")
    title = _replaced(shown(f"crumple {report.verb}"), _PROPERTY)
    return [f"::error title={title}::{_replaced(shown(text), _DATA)}" for text in texts]


def defused(text: str) -> str:
    """Return a text in which the runner finds no command: such a line begins with a full stop instead."""
    return _COMMAND.sub(lambda found: f"{found[1]}.:" if found[1] is not None else "## ", text)


def _replaced(text: str, escapes: dict[str, str]) -> str:
    # The percent sign comes first, as the others bring new ones.
    for letter, escape in escapes.items():
        text = text.replace(letter, escape)
    return text
