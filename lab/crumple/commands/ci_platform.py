"""Delivers to the CI platform what came of a command: the job summary, annotations, a JUnit file."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from crumple.commands import output
from crumple.drawing import report_text, terminal
from crumple.drawing.report_parts import Note, Notes
from crumple.gate.condition import GLYPHS, TONES, Outcome
from crumple.gate.job_report import JobReport

# The width of a report in the log of a CI platform, in columns: every table of a report fits it.
COLUMNS = 100
SUMMARY = "GITHUB_STEP_SUMMARY"


def show(outcomes: Iterable[Outcome]) -> None:
    """Print what came of each condition, below the result."""
    rows = [Note(GLYPHS[each.state], each.sentence, TONES[each.state]) for each in outcomes]
    if rows:
        output.drawn(terminal.printed(report_text.notes(Notes(rows)), terminal.width(COLUMNS)))


def is_wanted(junit: Path | None) -> bool:
    """Return whether there is anything to report to."""
    return junit is not None or bool(os.environ.get(SUMMARY)) or output.is_github()


def report(junit: Path | None, make: Callable[[], JobReport]) -> None:
    """Report to whatever is there. Raises CrumpleError if the JUnit file cannot be written."""
    if not is_wanted(junit):
        return
    # Imported here because most commands run outside a CI platform.
    from crumple.gate import annotations
    from crumple.gate import junit as junit_file

    made = make()
    if output.is_github():
        output.annotate(annotations.lines(made))
    if place := os.environ.get(SUMMARY):
        _summarise(Path(place), made)
    if junit is not None:
        output.save(junit, junit_file.xml(made))


def _summarise(file: Path, made: JobReport) -> None:
    """Append to the job's summary, which other commands of the step have a part of."""
    from crumple.gate import job_summary

    try:
        there = file.stat().st_size if file.exists() else 0
        text = job_summary.markdown(made, job_summary.BYTES_MAX - there)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        output.say(f"the job's summary cannot be written ({file}): {error.strerror}")
