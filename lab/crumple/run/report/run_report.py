"""One run as a report: for a terminal the claims and servers in short, for a page and Markdown all there is.

Pure: RunView → Report. `run_sentences` and `run_tables` have the words, `claims_table` the claims.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from crumple.drawing import report_text
from crumple.drawing.report_parts import (
    FILES,
    MARKDOWN,
    Circumstances,
    Code,
    Column,
    Fold,
    Heading,
    Items,
    Only,
    Paragraph,
    Part,
    Plot,
    Prose,
    Report,
    Section,
    Span,
    Table,
    Title,
    Words,
    join,
    on_page,
    on_terminal,
    phrase,
)
from crumple.gate.condition import for_page
from crumple.run.report import (
    claim_lines,
    claims_table,
    experiment_section,
    findings,
    left_sentences,
    run_sentences,
    run_tables,
    server_names,
    why,
    why_sentences,
)
from crumple.run.report.run_tables import TrialRow
from crumple.run.report.view import RunView, StartView

if TYPE_CHECKING:
    pass

# The screen fills at most 110 columns: longer lines are hard to read.
WIDTH_MAX = 110
# How many lines of each kind the screen has on trials that were skipped, do not count, or have a warning: it
# should stay one screen long.
SKIPPED_SHOWN, UNSOUND_SHOWN, WARNED_SHOWN = 4, 4, 1
ONCE = "A kind of chart is explained where it comes first."
OTHERS = (
    "Others, steal: the share of all cores' time that other programs used, and that the hypervisor took, "
    "while it was measured."
)


def text(view: RunView, width: int | None = None, styled: bool | None = None) -> str:
    """Return the summary of a run. `width`, `styled`: those of the terminal if None."""
    return report_text.text(report(view), width, styled, WIDTH_MAX)


def html(view: RunView) -> str:
    """Return the whole page of one run."""
    # Imported here because charts take a second to import, and only pages have them.
    from crumple.drawing import report_page
    from crumple.run.report import report_document

    return report_page.html(report(view), report_document.document(view).model_dump(mode="json"))


def markdown(view: RunView) -> str:
    """Return the whole report in Markdown, with links to the chart files beside it."""
    from crumple.drawing import report_markdown

    return report_markdown.markdown(report(view))


def report(view: RunView) -> Report:
    """Return the run as a report."""
    study = view.run.study
    return Report(
        verb="run",
        title=study.title,
        head=[*_head(view)],
        sections=[
            Section([*_claims(view)], "Claims", "claims", is_spoken=True),
            Section([_reading(view)], name="reading"),
            *(experiment_section.section(view, at) for at in range(len(view.experiments))),
            Section([on_terminal(*_validity(view))]),
            *_unsound(view),
            *_prose(view),
            _machine(view),
            _servers(view),
            _trials(view),
        ],
        engine_version=view.run.engine_version,
        has_contents=True,
    )


def _head(view: RunView) -> Iterator[Part]:
    study, given = view.run.study, findings.answer(view)
    circumstances = run_sentences.circumstances(view)
    yield Title([study.title])
    yield Only(FILES, [Paragraph(study.question, "headline")])
    if study.article:
        yield Only(FILES, [Paragraph(f"Re-checks {run_sentences.article(view)}.", "source")])
    if given.badge:
        yield on_page(Paragraph(answer_with_badge(given), "answer"))
        yield Only(MARKDOWN, [Paragraph(answer_in_words(given))])
    yield Only(FILES, [Circumstances([view.run.id, *circumstances, run_sentences.trials(view).rstrip(".")])])
    yield on_terminal(Paragraph(phrase(f"{view.run.id}: {', '.join(circumstances)}", "dim")))
    if view.verdicts:
        found = server_names.of_all([view])
        yield on_terminal(
            Paragraph(_answer(view, given)),
            Plot(partial(claim_lines.of_run, view)),
            *([Paragraph(phrase(found, "dim"))] if found else []),
        )


def answer_with_badge(given: findings.StudyAnswer) -> Words:
    """Return the answer of a study as a page has it."""
    badge = [Span(given.badge, form="badge"), Span(" ")] if given.badge else []
    return join(*badge, given.sentence)


def answer_in_words(given: findings.StudyAnswer) -> Words:
    """Return the answer of a study as Markdown has it."""
    word = [Span(given.badge.capitalize(), strong=True), Span(": ")] if given.badge else []
    return join(*word, given.sentence)


def _answer(view: RunView, given: findings.StudyAnswer) -> Words:
    """Return the study's answer, and how many of its claims have each answer."""
    if not given.badge:
        return given.sentence
    tone = claim_lines.MARKS[given.badge][1]
    return join(Span(given.word, tone), given.sentence, " ", run_sentences.summary(view))


def _claims(view: RunView) -> Iterator[Part]:
    limits = {claim: why_sentences.of_claim(found) for claim, found in why.of_claims(view).items()}
    yield Only(FILES, [Paragraph(run_sentences.summary(view), "summary"), claims_table.table(view, limits)])
    yield for_page(view.run.fail_if)
    cautions = [
        left_sentences.claims_undecided(view),
        left_sentences.blocks_not_run(view),
        run_sentences.twins(view),
    ]
    if view.failed or view.not_valid or view.skipped:
        cautions.insert(1, run_sentences.trials(view))
    yield Only(FILES, [*claims_table.claims_not_asked(view)])
    if view.warned:
        links = [join(_to_trial(start)) for start in view.warned]
        yield on_page(Fold(run_sentences.warnings(view), [Items(links)], style="warned"))
    cautions.append(run_sentences.LOOPBACK)
    yield Only(FILES, [Paragraph(said, "caution") for said in cautions if said])


def _to_trial(start: StartView) -> Span:
    trial = start.trial.trial.id
    return Span(trial, form="code", link=f"#{_address(trial)}")


def _address(trial_id: str) -> str:
    return f"trial-{trial_id}"


def _reading(view: RunView) -> Part:
    return Only(FILES, [Paragraph(f"{run_sentences.reading(view)} {ONCE}", "note")])


def _validity(view: RunView) -> Iterator[Part]:
    """Yield the end of the screen: which trials count, what is doubtful, and where to read on."""
    unsound, skipped = [*view.failed, *view.not_valid], run_sentences.skips(view)
    yield Paragraph(phrase(run_sentences.trials(view), "doubtful" if unsound or skipped else "plain"))
    yield from _first(skipped, SKIPPED_SHOWN)
    yield from _first(_remarks(unsound), UNSOUND_SHOWN)
    yield from (Paragraph(phrase(f"  {line}", "dim")) for line in _cut(_remarks(view.warned), WARNED_SHOWN))
    for said in (run_sentences.twins(view), run_sentences.LOOPBACK):
        if said:
            yield Paragraph(phrase(said, "dim"))
    for said in (left_sentences.claims_undecided(view), left_sentences.blocks_not_run(view)):
        if said:
            yield Paragraph(said)
    yield Paragraph(f"In full, with charts: crumple report {view.run.id} --open")


def _first(lines: Sequence[str], at_most: int) -> Iterator[Part]:
    return (Paragraph(f"  {line}") for line in _cut(lines, at_most))


def _cut(lines: Sequence[str], at_most: int) -> list[str]:
    more = [f"and {len(lines) - at_most} more"] if len(lines) > at_most else []
    return [*lines[:at_most], *more]


def _remarks(starts: Sequence[StartView]) -> list[str]:
    return [f"{start.trial.trial.id}: {run_sentences.remark(start)}" for start in starts]


def _unsound(view: RunView) -> Iterator[Section]:
    unsound, skipped = [*view.failed, *view.not_valid], run_sentences.skips(view)
    if unsound or skipped:
        parts: list[Part] = [Paragraph(f"{line}.") for line in skipped]
        for start in unsound:
            parts += [Heading(join(_to_trial(start))), Paragraph(run_sentences.remark(start), "problem")]
            if start.trial.failure and start.trial.failure.output_tail:
                parts.append(Code(start.trial.failure.output_tail))
        yield Section([Only(FILES, parts)], "Trials that do not count", "unsound")


def _prose(view: RunView) -> Iterator[Section]:
    prose = view.run.study.prose
    if prose.did:
        yield Section([Only(FILES, [Prose(prose.did)])], "What the article did", "did")
    if prose.differs:
        yield Section([Only(FILES, [Prose(prose.differs)])], "What differs here", "differs")


def _machine(view: RunView) -> Section:
    measured_by = f"{view.run.lab_version}, engine {view.run.engine_version}"
    names, values = zip(*run_tables.machine(view), ("crumple", measured_by), strict=True)
    table = Table([Column("Fact", names), Column("", values)], style="plain")
    return Section([Only(FILES, [table])], "Machine", "machine")


def _servers(view: RunView) -> Section:
    versions = run_tables.versions(view)
    columns = [
        Column("Server", [join(Span(name, form="label")) for name, _, _ in versions]),
        Column("Versions", [said for _, said, _ in versions]),
        Column("Settings", [settings for _, _, settings in versions]),
    ]
    about = [
        Fold(f"{name}: {note.title}", [Prose(note.about)], style="about")
        for name, note in view.run.servers.items()
        if note.about
    ]
    return Section([Only(FILES, [Table(columns, style="plain")]), on_page(*about)], "Servers", "servers")


def _trials(view: RunView) -> Section:
    rows = run_tables.trials(view)
    figures = {
        "Throughput /s": [row.throughput for row in rows],
        "p50": [row.p50 for row in rows],
        "p99": [row.p99 for row in rows],
        "Failed": [row.failed for row in rows],
        "Others": [row.others for row in rows],
        "Steal": [row.steal for row in rows],
    }
    table = Table(
        [
            Column("Trial", [_trial(row) for row in rows]),
            *(Column(heading, cells, right=True) for heading, cells in figures.items()),
            Column("Repeat with", [join(Span(row.command, form="code")) for row in rows]),
        ],
        style="plain trials",
        row_names=[_address(row.id) for row in rows],
        row_styles=[row.status.replace(" ", "-") for row in rows],
    )
    title = f"{len(rows)} trials, each with the command that repeats it"
    return Section([Only(FILES, [Fold(title, [Paragraph(OTHERS, "note"), table])])], "All trials", "trials")


def _trial(row: TrialRow) -> Words:
    return join(row.id, Span(row.remark, form="below")) if row.remark else row.id
