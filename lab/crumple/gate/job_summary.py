"""Writes what came of a command as Markdown for a job summary. Text from a server cannot become markup."""

import re
from collections.abc import Iterator, Sequence

from crumple.drawing.terminal import shown, shown_text
from crumple.gate.condition import GLYPHS, Outcome
from crumple.gate.job_report import JobReport

# GitHub takes 1 MiB for a step; if there is more, it shows nothing at all.
BYTES_MAX = 1024 * 1024
# CommonMark takes a fence of at least three backticks.
FENCE_MIN = 3
CUT = "\nThe summary was cut here, as a job's summary holds 1 MiB; the log of the job has all.\n"
# CommonMark takes a backslash before any of these for the character itself.
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def markdown(report: JobReport, room_bytes: int = BYTES_MAX) -> str:
    """Return the summary in at most `room_bytes`. What does not fit is left out, with a sentence."""
    head = "\n".join(_head(report))
    screen = shown_text(report.screen).rstrip("\n").split("\n")
    whole = f"{head}{_fenced(screen)}"
    if len(whole.encode()) <= room_bytes:
        return whole
    room = room_bytes - len(CUT.encode())
    if room < 0:
        return ""
    # With the fences of all lines, which are at least as long as those of some.
    frame = len(_fenced(["", *screen]).encode()) - len("\n".join(["", *screen]).encode())
    left = room - len(head.encode()) - frame
    if left > 0:
        return f"{head}{_fenced(_fitting(screen, left))}{CUT}"
    return "\n".join(_fitting(head.split("\n"), room)) + CUT


def escaped(text: str) -> str:
    """Return text on one line that Markdown shows as it is."""
    return _PUNCTUATION.sub(r"\\\1", shown(text))


def _head(report: JobReport) -> Iterator[str]:
    yield ""
    yield f"### crumple {escaped(report.verb)}: {report.word}"
    yield ""
    yield f"{escaped(report.asked)}  "
    yield f"**{escaped(report.headline)}**"
    yield ""
    if report.problem:
        yield f"Nothing can be judged: {escaped(report.problem)}"
        yield ""
    if report.outcomes:
        yield "| | condition | outcome |"
        yield "|---|---|---|"
        yield from map(_row, report.outcomes)
        yield ""


def _row(outcome: Outcome) -> str:
    condition, _, words = outcome.sentence.partition(": ")
    return f"| {GLYPHS[outcome.state]} | {escaped(condition)} | {escaped(words)} |"


def _fenced(lines: Sequence[str]) -> str:
    """Return lines as a block of code, in fences longer than any in it."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(FENCE_MIN, longest + 1)
    body = "\n".join(lines)
    return f"\n{fence}text\n{body}\n{fence}\n"


def _fitting(lines: Sequence[str], room_bytes: int) -> list[str]:
    """Return as many of the first lines as fit, each with its end."""
    found: list[str] = []
    for line in lines:
        room_bytes -= len(line.encode()) + 1
        if room_bytes < 0:
            break
        found.append(line)
    return found
