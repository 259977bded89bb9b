"""Tell a CI platform what a command came to: the job's summary, annotations and a JUnit file."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from crumple.commands import output
from crumple.drawing import terminal
from crumple.gate.condition import GLYPHS, Outcome, State
from crumple.gate.told import Told

STYLES: Mapping[State, str] = {
    "holds": "bold red",
    "does not hold": "green",
    "not shown": "dim",
    "not known": "yellow",
}
# Wide enough for every table of a report.
COLUMNS = 100
SUMMARY = "GITHUB_STEP_SUMMARY"


def show(outcomes: Iterable[Outcome]) -> None:
    """Print what came of each condition, below the result."""
    lines = [(GLYPHS[each.state], each.said, STYLES[each.state]) for each in outcomes]
    if lines:
        output.drawn(terminal.printed(terminal.marked(lines), terminal.width(COLUMNS)))


def is_wanted(junit: Path | None) -> bool:
    """Return whether there is anybody to tell."""
    return junit is not None or bool(os.environ.get(SUMMARY)) or output.is_github()


def tell(junit: Path | None, told: Callable[[], Told]) -> None:
    """Tell whoever is there. Raises CrumpleError if the JUnit file cannot be written."""
    if not is_wanted(junit):
        return
    # Imported here because most commands have nobody to tell.
    from crumple.gate import annotations
    from crumple.gate import junit as junit_file

    said = told()
    if output.is_github():
        output.annotate(annotations.lines(said))
    if place := os.environ.get(SUMMARY):
        _summarise(Path(place), said)
    if junit is not None:
        output.save(junit, junit_file.xml(said))


def _summarise(file: Path, told: Told) -> None:
    """Append to the job's summary, which other commands of the step have a part of."""
    from crumple.gate import job_summary

    try:
        there = file.stat().st_size if file.exists() else 0
        text = job_summary.markdown(told, job_summary.BYTES_MAX - there)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        output.say(f"the job's summary cannot be written ({file}): {error.strerror}")
