"""A first look in a dozen lines: what the server is, a request alone, the load, what limits it, how to go on.

Pure. All that was measured is in the report of `load_report`, which a command at the end shows.
"""

import shlex
from collections.abc import Iterator
from functools import partial

from crumple.documents import result
from crumple.drawing import terminal
from crumple.drawing.report_parts import (
    ByWidth,
    Facts,
    Notes,
    Paragraph,
    Report,
    Section,
    Span,
    join,
    phrase,
)
from crumple.load.report import load_answer, load_report, server_sentences
from crumple.load.report.load_document import LoadDocument
from crumple.record.stages import Budget
from crumple.words import cause_sentences

# The most kinds of unexpected answers that are listed: this screen is to be short, and `crumple show` has
# more.
UNEXPECTED_MAX = 2
# The blanks between a command and what it is for.
GAP = 2
# The usual limit of `crumple find`, in ms; and the largest share of a limit that a request alone may take,
# since it is to keep the limit by far.
OBJECTIVE_MS, OBJECTIVE_SHARE = 250.0, 0.25


def report(load: LoadDocument) -> Report:
    """Return the first look as a report."""
    answer = load_answer.of(load)
    said = load_answer.names(load)
    # A limit says what share of the time it takes, and this screen is to be short.
    said = said | {"time"} if "first limit" in said else said
    return Report(
        verb="load",
        title=load.headline,
        head=[Paragraph(server_sentences.program(load))],
        sections=[
            Section([Notes([*load_report.notes(load, UNEXPECTED_MAX, brief=True)])]),
            Section([Facts([row for row in rows(load) if row[0] not in said])]),
            Section([ByWidth(partial(_lines, commands(load)))]),
        ],
        engine_version=load.engine_version,
        answer=result.located(answer, load),
    )


def _lines(commands: list[tuple[str, str]], columns: int) -> Iterator[Paragraph]:
    """The commands with what they are for: beside them, or below them if there is no room."""
    wide = max(len(typed) for typed, _ in commands)
    if wide + GAP + max(len(meaning) for _, meaning in commands) <= columns:
        for typed, meaning in commands:
            yield Paragraph(join(Span(typed, "command"), " " * (wide + GAP - len(typed)), meaning))
        return
    for typed, meaning in commands:
        yield Paragraph(phrase(typed, "command"), breaks_words=True)
        yield Paragraph(f"    {meaning}")


def rows(load: LoadDocument) -> Iterator[tuple[str, str]]:
    """Yield what was found, each with its name."""
    if load.alone is not None:
        yield "alone", server_sentences.alone(load.alone)
    if isinstance(load.stages, Budget):
        yield "time", server_sentences.time(load)
    if in_parts := server_sentences.in_parts(load):
        yield "an answer", in_parts
    yield from cause_sentences.in_short(load.findings)


def commands(load: LoadDocument) -> list[tuple[str, str]]:
    """Return commands that go on from here, each with what it is for."""
    url, limit = f"{shlex.quote(load.url)}{load.from_flag}", limit_of(load)
    objective = "" if limit == f"{OBJECTIVE_MS:g}ms" else f" --objective 'p99<{limit}, failed<0.1%'"
    found = [(f"crumple {url} --debug", "one request, and its answer")] if load.record.outcomes.failed else []
    if load.lost is not None:
        return [*found, (f"crumple show {load.name}" if load.name else f"crumple load {url}", "all figures")]
    found.append((f"crumple find {url}{objective}", f"the highest rate with p99 below {limit}"))
    if load.program is not None:
        found.append((f"crumple diagnose {url}", "how it waits, and what it holds"))
    found.append((f"crumple versus {url} OTHER_URL", "whether another version is faster"))
    found.append((f"crumple show {load.name}" if load.name else f"crumple load {url}", "all figures"))
    return found


def limit_of(load: LoadDocument) -> str:
    """Return a limit of the response time that a request alone keeps by far: "250ms", "2s"."""
    alone_ms = 1e3 * load.alone.mean_s if load.alone is not None else 0.0
    if alone_ms <= OBJECTIVE_SHARE * OBJECTIVE_MS:
        return f"{OBJECTIVE_MS:g}ms"
    limit_ms = terminal.rounded_up(alone_ms / OBJECTIVE_SHARE)
    return f"{limit_ms:g}ms" if limit_ms < 1e3 else f"{limit_ms / 1e3:g}s"
