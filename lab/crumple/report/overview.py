"""Several runs on one page: every claim with its verdict, study by study, and the way to each report.

Pure: RunViews → str. What one run holds in full is `html`'s and `text`'s.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from crumple.drawing import numerals, page, terminal
from crumple.report import answers, circumstances, screen, sentences, tables
from crumple.report.markdown import overview as of_runs
from crumple.report.text import WIDTH_MAX, WIDTH_MIN
from crumple.report.view import RunView
from crumple.verdict.effect import Answer
from crumple.verdict.verdict import Verdict

NOT_ASKED = "not asked"


def html(views: Sequence[RunView], links: Mapping[str, str]) -> str:
    """The page. `links`: run id → where its own report lies, relative to the page."""
    template = page.templates().get_template("overview.html.j2")
    return template.render(
        runs=[(view, tables.claims(view), _counted(view)) for view in views],
        answers=[*(answer.value for answer in Answer), NOT_ASKED],
        links=links,
        given=answers.answers(views),
        circumstances=circumstances.of_all(views),
        say=sentences,
        style=page.style(),
        summary=summary(views),
        titles=_titles(views),
    )


def markdown(views: Sequence[RunView]) -> str:
    """A table of claims for each run, with what was published, what was measured, and why."""
    return of_runs(views, answers.answers(views), f"{summary(views)} {circumstances.of_all(views)}".strip())


def text(views: Sequence[RunView], width: int | None = None, styled: bool | None = None) -> str:
    """One screen: an answer to each study, a line for each claim. Without `width`: as the terminal has it."""
    chosen = width or terminal.width(WIDTH_MIN, WIDTH_MAX)
    return terminal.printed(screen.screen(views, chosen, _closing(views)), chosen, styled)


def picture(views: Sequence[RunView], width: int, title: str) -> str:
    """The same screen as an SVG."""
    return terminal.picture(screen.screen(views, width, _closing(views)), width, title)


def _closing(views: Sequence[RunView]) -> list[str]:
    """What else could be asked, and the way to the report of the greatest surprise."""
    first = next((each.view.run.id for each in answers.answers(views)), "")
    return [
        _unasked(views).strip(),
        f"Why, with charts: crumple report {first} --open" if first else "",
    ]


def _unasked(views: Sequence[RunView]) -> str:
    """How many claims are left, and how to ask them."""
    number = sum(view.unasked for view in views)
    scales = ", ".join(sorted({view.run.scale for view in views if view.unasked}))
    if not number:
        return ""
    are = "claim is" if number == 1 else "claims are"
    return f" {number} more {are} not asked at scale {scales}: crumple run --all --scale full asks all."


def summary(views: Sequence[RunView]) -> str:
    """How all claims came out: "52 claims of 5 studies: 20 supported, …"."""
    verdicts = [verdict for view in views for verdict in view.asked]
    parts = [_count(verdicts, answer) for answer in Answer if any(v.answer is answer for v in verdicts)]
    return (
        f"{len(verdicts)} claims of {_studies(views)}: {', '.join(parts) or 'none judged'}.{_unasked(views)}"
    )


def _count(verdicts: Sequence[Verdict], answer: Answer) -> str:
    """ "5 contradicted (2 in size only)"."""
    alike = [verdict for verdict in verdicts if verdict.answer is answer]
    partly = sum(verdict.in_size_only for verdict in alike)
    return f"{len(alike)} {answer.value}{f' ({partly} {sentences.IN_SIZE_ONLY})' if partly else ''}"


def _counted(view: RunView) -> list[tuple[str, int]]:
    """Each answer, and how often it was given; and how many claims this scale does not ask."""
    answers = Counter(verdict.answer for verdict in view.asked)
    return [*((answer.value, answers[answer]) for answer in Answer), (NOT_ASKED, view.unasked)]


def _titles(views: Sequence[RunView]) -> str:
    scales = sorted({view.run.scale for view in views})
    return f"{_studies(views)} at scale {', '.join(scales)}"


def _studies(views: Sequence[RunView]) -> str:
    return numerals.count(len(views), "study", "studies")
