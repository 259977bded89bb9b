"""Several runs on one page: every claim with its verdict, study by study, and the way to each report.

Pure: RunViews → str. What one run holds in full is `html`'s and `text`'s.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from crumple.drawing import numerals, page, terminal
from crumple.report import sentences, tables
from crumple.report.markdown import overview as of_runs
from crumple.report.text import GLYPHS, WIDTH_MAX, WIDTH_MIN
from crumple.report.view import RunView
from crumple.verdict.effect import Answer


def html(views: Sequence[RunView], links: Mapping[str, str]) -> str:
    """The page. `links`: run id → where its own report lies, relative to the page."""
    template = page.templates().get_template("overview.html.j2")
    return template.render(
        runs=[(view, tables.claims(view), _counted(view)) for view in views],
        answers=[answer.value for answer in Answer],
        links=links,
        say=sentences,
        style=page.style(),
        summary=summary(views),
        titles=_titles(views),
    )


def markdown(views: Sequence[RunView]) -> str:
    """A table of claims for each run, with what was published, what was measured, and why."""
    return of_runs(views, summary(views))


def text(views: Sequence[RunView], width: int | None = None, styled: bool | None = None) -> str:
    """One line for each claim. Without `width` and `styled`: as the terminal has it."""
    chosen = width or terminal.width(WIDTH_MIN, WIDTH_MAX)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for ratio in (None, None, 1, None):
        table.add_column(no_wrap=ratio is None, ratio=ratio)
    for view in views:
        table.add_row("", "", Text(view.run.study.title, style="bold"), "")
        for claim in tables.asked(view):
            glyph, style = GLYPHS[claim.answer]
            table.add_row(
                Text(glyph, style=style),
                Text(claim.verdict.claim_id),
                Text(claim.verdict.text),
                Text(claim.answer, style=style),
            )
    return terminal.printed(Group(table, Text(), Text(summary(views))), chosen, styled)


def _unasked(views: Sequence[RunView]) -> str:
    """How many claims are left, and how to ask them."""
    number = sum(view.unasked for view in views)
    scales = ", ".join(sorted({view.run.scale for view in views if view.unasked}))
    if not number:
        return ""
    are = "is" if number == 1 else "are"
    return f" {number} more {are} not asked at scale {scales}: crumple run --all --scale full asks all."


def summary(views: Sequence[RunView]) -> str:
    """How all claims came out: "52 claims of 5 studies: 20 supported, …"."""
    answers = Counter(verdict.answer for view in views for verdict in view.asked)
    counted = ", ".join(f"{answers[answer]} {answer.value}" for answer in Answer if answers[answer])
    asked = f"{answers.total()} claims of {_studies(views)}: {counted or 'none judged'}."
    return asked + _unasked(views)


def _counted(view: RunView) -> list[tuple[str, int]]:
    """Each answer, and how often it was given."""
    answers = Counter(verdict.answer for verdict in view.verdicts)
    return [(answer.value, answers[answer]) for answer in Answer]


def _titles(views: Sequence[RunView]) -> str:
    scales = sorted({view.run.scale for view in views})
    return f"{_studies(views)} at scale {', '.join(scales)}"


def _studies(views: Sequence[RunView]) -> str:
    return numerals.count(len(views), "study", "studies")
