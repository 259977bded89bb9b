"""HTML pages that need no network: the report of a run, and several runs with every claim on one page.

Pure: RunViews → str. `run_sentences` and `run_tables` make the content, templates lay it out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from crumple.drawing import numerals, page, terminal
from crumple.drawing.page import Drawing, drawings
from crumple.run.report import (
    findings,
    left_sentences,
    run_sentences,
    run_tables,
    run_text,
    server_names,
    why,
    why_sentences,
)
from crumple.run.report.markdown import overview as of_runs
from crumple.run.report.run_charts import EFFECTS, KINDS
from crumple.run.report.run_text import SCREEN_MIN, WIDTH_MAX
from crumple.run.report.view import RunView
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import Verdict
from crumple.verdict.verdict_sentences import IN_SIZE_ONLY


def html(view: RunView) -> str:
    """Return the whole page of one run."""
    template = page.templates().get_template("report.html.j2")
    return template.render(
        view=view,
        run=view.run,
        study=view.run.study,
        say=run_sentences,
        left=left_sentences,
        why=why_sentences,
        limits=_limits(view),
        style=page.style(),
        answer=findings.answer(view),
        claims=run_tables.claims(view),
        not_asked=run_tables.not_asked(view),
        effects=EFFECTS.on_page(view),
        experiments=[
            (shown, run_tables.servers(shown), drawn)
            for shown, drawn in zip(view.experiments, _explained_once(view), strict=True)
        ],
        machine=run_tables.machine(view),
        versions=run_tables.versions(view),
        trials=run_tables.trials(view),
        unsound=[*view.failed, *view.not_valid],
        skipped=run_sentences.skips(view),
    )


def _explained_once(view: RunView) -> list[list[Drawing]]:
    """Return the charts of each experiment; each kind has its caption only where it comes first."""
    explained, found = set[str](), list[list[Drawing]]()
    for shown in view.experiments:
        drawn = drawings(KINDS, shown)
        found.append([replace(each, caption="") if each.title in explained else each for each in drawn])
        explained.update(each.title for each in drawn)
    return found


def _limits(view: RunView) -> dict[str, str]:
    """Return claim → what limits its servers, for the claims that argue a cause."""
    return {claim: why_sentences.of_claim(found) for claim, found in why.of_claims(view).items()}


NOT_ASKED = "not asked"


def overview(views: Sequence[RunView], links: Mapping[str, str]) -> str:
    """Return the page of several runs. `links`: run id → its report, relative to the page."""
    template = page.templates().get_template("overview.html.j2")
    return template.render(
        runs=[(view, run_tables.claims(view), run_tables.not_asked(view), _counted(view)) for view in views],
        answers=[*(answer.value for answer in VerdictWord), NOT_ASKED],
        links=links,
        given=findings.answers(views),
        circumstances=server_names.of_all(views),
        say=run_sentences,
        left=left_sentences,
        style=page.style(),
        summary=summary(views),
        titles=_titles(views),
    )


def markdown(views: Sequence[RunView]) -> str:
    """Return a table of claims for each run, with what was published, what was measured, and the reason."""
    return of_runs(views, findings.answers(views), f"{summary(views)} {server_names.of_all(views)}".strip())


def text(views: Sequence[RunView], width: int | None = None, styled: bool | None = None) -> str:
    """Return one screen: an answer to each study, a line for each claim.

    `width`, `styled`: those of the terminal if None.
    """
    chosen = width or terminal.width(WIDTH_MAX, SCREEN_MIN)
    return terminal.printed(run_text.screen(views, chosen, _closing(views)), chosen, styled)


def picture(views: Sequence[RunView], width: int, title: str) -> str:
    """Return the screen of `text` as an SVG."""
    return terminal.picture(run_text.screen(views, width, _closing(views)), width, title)


def _closing(views: Sequence[RunView]) -> list[str]:
    """Return why blocks were not run, how to ask the other claims, and how to open the greatest surprise."""
    first = next((each.view.run.id for each in findings.answers(views)), "")
    return [
        left_sentences.stopped_of(views),
        _unasked(views).strip(),
        f"Why, with charts: crumple report {first} --open" if first else "",
    ]


def _unasked(views: Sequence[RunView]) -> str:
    """Return how many claims were not asked and how to ask them; empty if all were asked."""
    said = left_sentences.not_asked(views)
    return f" {said}: crumple run --all --scale full asks all." if said else ""


def summary(views: Sequence[RunView]) -> str:
    """Return how many claims have each answer: "52 claims of 5 studies: 20 supported, …"."""
    verdicts = [verdict for view in views for verdict in view.asked]
    parts = [_count(verdicts, answer) for answer in VerdictWord if any(v.answer is answer for v in verdicts)]
    return (
        f"{len(verdicts)} claims of {_studies(views)}: {', '.join(parts) or 'none judged'}.{_unasked(views)}"
    )


def _count(verdicts: Sequence[Verdict], answer: VerdictWord) -> str:
    """Return the number of one answer, as in "5 contradicted (2 in size only)"."""
    alike = [verdict for verdict in verdicts if verdict.answer is answer]
    partly = sum(verdict.in_size_only for verdict in alike)
    return f"{len(alike)} {answer.value}{f' ({partly} {IN_SIZE_ONLY})' if partly else ''}"


def _counted(view: RunView) -> list[tuple[str, int]]:
    """Return how often each answer was given, and how many claims this scale does not ask."""
    answers = Counter(verdict.answer for verdict in view.asked)
    return [*((answer.value, answers[answer]) for answer in VerdictWord), (NOT_ASKED, len(view.not_asked))]


def _titles(views: Sequence[RunView]) -> str:
    scales = sorted({view.run.scale for view in views})
    return f"{_studies(views)} at scale {', '.join(scales)}"


def _studies(views: Sequence[RunView]) -> str:
    return numerals.count(len(views), "study", "studies")
