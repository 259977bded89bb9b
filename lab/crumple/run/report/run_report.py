"""One run as a report: for a terminal the claims and servers in short, for a page and Markdown all there is.

Pure: RunView → Report. `study_answer` has the answer, `forest` the claims, `run_details` what is folded.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from crumple.drawing import numerals, report_text
from crumple.drawing.report_parts import (
    FILES,
    Answer,
    Only,
    Paragraph,
    Part,
    Plot,
    Report,
    Section,
    on_terminal,
    phrase,
)
from crumple.gate.condition import for_page
from crumple.model_map import map_picture, map_report
from crumple.model_map.model_map import ModelMap
from crumple.run.report import (
    claim_lines,
    claims_table,
    experiment_section,
    host_rows,
    left_sentences,
    map_of_view,
    not_judged,
    run_details,
    run_sentences,
    server_names,
    study_answer,
    why,
    why_sentences,
)
from crumple.run.report.view import RunView, StartView
from crumple.verdict.verdict import DECIDED

# The screen fills at most 110 columns: longer lines are hard to read.
WIDTH_MAX = 110
# How many lines of each kind the screen has on trials that were skipped, do not count, or have a warning: it
# should stay one screen long.
SKIPPED_SHOWN, UNSOUND_SHOWN, WARNED_SHOWN = 4, 4, 1


def text(view: RunView, width: int | None = None, styled: bool | None = None) -> str:
    """Return the summary of a run. `width`, `styled`: those of the terminal if None."""
    return report_text.text(report(view), width, styled, WIDTH_MAX)


def html(view: RunView) -> str:
    """Return the whole page of one run."""
    # Imported here because its templates take a tenth of a second, which only pages need.
    from crumple.drawing import report_page
    from crumple.run.report import report_document

    return report_page.html(report(view), report_document.document(view).model_dump(mode="json"))


def markdown(view: RunView) -> str:
    """Return the whole report in Markdown, with links to the chart files beside it."""
    from crumple.drawing import report_markdown

    return report_markdown.markdown(report(view))


def report(view: RunView) -> Report:
    """Return the run as a report."""
    study, given = view.run.study, study_answer.answer(view)
    drawn = map_of_view.drawn(view)
    return Report(
        verb="run",
        title=f"{study.title}: {_decided(view, drawn)} decided",
        head=[*_head(view)],
        sections=[
            Section([*_open_claims(view)], "What was not judged", "not-judged"),
            *(
                map_report.sections(
                    drawn, map_picture.nearest_users(map_report.USERS_SHOWN, drawn.data.users)
                )
                if drawn
                else (experiment_section.section(view, at) for at in range(len(view.experiments)))
            ),
            Section([on_terminal(*_validity(view))]),
            Section([Only(FILES, [*run_details.details(view)])], "Details", "details"),
        ],
        engine_version=view.run.engine_version,
        has_contents=True,
        answer=Answer(study.question, given.found, given.sure),
        circumstances=[
            view.run.id,
            *run_sentences.circumstances(view),
            *server_names.circumstances_of([view]),
        ],
    )


def _decided(view: RunView, drawn: ModelMap | None) -> str:
    if drawn is not None:
        return f"{drawn.decided} of {numerals.count(len(drawn.cells), 'cell')}"
    decided = sum(verdict.answer in DECIDED for verdict in view.asked)
    return f"{decided} of {numerals.count(len(view.asked), 'claim')}"


def _head(view: RunView) -> Iterator[Part]:
    study = view.run.study
    source = f", which re-checks {run_sentences.article(view)}" if study.article else ""
    yield Only(FILES, [Paragraph(f"Study {study.name}, “{study.title}”{source}.", "source")])
    circumstances = run_sentences.circumstances(view)
    yield on_terminal(Paragraph(phrase(f"{view.run.id}: {', '.join(circumstances)}", "dim")))
    if view.verdicts:
        found = server_names.of_all([view])
        yield on_terminal(
            Plot(partial(claim_lines.lines, [view])),
            *([Paragraph(phrase(found, "dim"))] if found else []),
        )
    limits = {claim: why_sentences.of_claim(found) for claim, found in why.of_claims(view).items()}
    if claims := claims_table.in_full(view, limits):
        yield Only(FILES, [claims_table.table(claims)])
    yield for_page(view.run.fail_if)


def _open_claims(view: RunView) -> Iterator[Part]:
    """Yield what was not judged, by cause, and what was not asked."""
    found = not_judged.not_judged([view])
    if found:
        yield not_judged.notes(found)
    for said in (left_sentences.claims_undecided(view), left_sentences.blocks_not_run(view)):
        if said:
            yield Paragraph(said)
    yield Only(FILES, [*not_judged.rows(found), *claims_table.claims_not_asked(view)])


def _validity(view: RunView) -> Iterator[Part]:
    """Yield the end of the screen: which trials count, what is doubtful, and where to read on."""
    unsound, skipped = [*view.failed, *view.not_valid], run_sentences.skips(view)
    yield Paragraph(phrase(run_sentences.trials(view), "doubtful" if unsound or skipped else "plain"))
    yield from _first(skipped, SKIPPED_SHOWN)
    yield from _first(_remarks(unsound), UNSOUND_SHOWN)
    yield from (Paragraph(phrase(f"  {line}", "dim")) for line in _cut(_remarks(view.warned), WARNED_SHOWN))
    if said := run_sentences.twins(view):
        yield Paragraph(phrase(said, "dim"))
    if said := host_rows.sentence(view):
        yield Paragraph(phrase(said, "dim"))
    yield Paragraph(f"In full, with charts: crumple report {view.run.id} --open")


def _first(lines: Sequence[str], at_most: int) -> Iterator[Part]:
    return (Paragraph(f"  {line}") for line in _cut(lines, at_most))


def _cut(lines: Sequence[str], at_most: int) -> list[str]:
    more = [f"and {len(lines) - at_most} more"] if len(lines) > at_most else []
    return [*lines[:at_most], *more]


def _remarks(starts: Sequence[StartView]) -> list[str]:
    return [f"{start.trial.trial.id}: {run_sentences.remark(start)}" for start in starts]
