"""One run as a report: for a terminal the claims and servers in short, for a page and Markdown all there is.

Pure: RunView → Report. `run_sentences` and `run_tables` have the words, `claims_table` the claims.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from crumple.drawing import numerals, report_text
from crumple.drawing.report_parts import (
    FILES,
    MARKDOWN,
    Charts,
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
    findings,
    left_sentences,
    run_sentences,
    run_tables,
    server_names,
    why,
    why_sentences,
)
from crumple.run.report.run_tables import TrialRow
from crumple.run.report.view import ExperimentView, RunView, ServerView, StartView

if TYPE_CHECKING:
    from crumple.drawing.page import BoundChart

# The most columns that the screen fills, and from how many on it has all columns of the table of servers.
WIDTH_MAX, WIDE = 110, 100
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

    return report_page.html(report(view))


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
            *_effects(view),
            Section([_reading(view)], name="reading"),
            *(_experiment(view, at) for at in range(len(view.experiments))),
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


def _effects(view: RunView) -> Iterator[Section]:
    """Yield the chart of published ratios, if one was measured."""
    if any(effect.published and effect.ratio for verdict in view.asked for effect in verdict.effects):

        def draw() -> list["BoundChart"]:
            from crumple.run.report.run_charts import EFFECTS

            return [EFFECTS.of(view)]

        yield Section([Charts(draw)], name="effects")


def _experiment(view: RunView, at: int) -> Section:
    shown = view.experiments[at]
    said = why_sentences.in_short(shown)
    return Section(
        [
            on_terminal(
                Paragraph(join(Span(shown.name, strong=True), f"  {shown.experiment.title}")),
                _table_for_terminal(shown),
                *(Paragraph(phrase(line, "doubtful")) for line in _marks(shown)),
                *([Paragraph(said)] if said else []),
                Paragraph(phrase(run_sentences.sees(shown), "dim")),
            ),
            Only(FILES, [*_in_full(view, at)]),
        ],
        shown.experiment.title,
        f"experiment-{shown.name}",
    )


def _table_for_terminal(shown: ExperimentView) -> Table:
    names = server_names.short([row.name for row in shown.servers])
    rows = run_tables.servers(shown)
    failed = [
        phrase(numerals.share(row.server.failed_share), "bad", strong=True)
        if row.server.lossy
        else numerals.share(row.server.failed_share)
        for row in rows
    ]

    def column(heading: str, cells: Sequence[Words], wide_from: int = 0) -> Column:
        return Column(heading, cells, right=True, whole=True, wide_from=wide_from)

    return Table(
        [
            Column("", [names[row.server.name] for row in rows], whole=True),
            column("throughput /s [95 %]", [str(row.throughput) for row in rows]),
            column("p50", [row.p50.estimate for row in rows], WIDE),
            column("p99", [row.p99.estimate for row in rows]),
            column("CPU/request", [row.cpu.estimate for row in rows]),
            column("memory", [row.memory.estimate for row in rows], WIDE),
            column("failed", failed),
        ],
        left_out_first=("CPU/request", "p99"),
    )


def _marks(shown: ExperimentView) -> Iterator[str]:
    for row in shown.servers:
        if said := run_sentences.marks(row):
            yield f"{row.name}: {said}{_besides(row)}"


def _besides(row: ServerView) -> str:
    ranked = "" if row.ranked else f"; {run_sentences.NOT_RANKED}"
    return f"{ranked}; {run_sentences.OF_THE_OTHERS}" if run_sentences.unanswered(row) else ranked


def _in_full(view: RunView, at: int) -> Iterator[Part]:
    shown = view.experiments[at]
    if shown.experiment.about:
        yield Prose(shown.experiment.about)
    yield Paragraph(join("Experiment ", Span(shown.name, form="code"), f": {run_sentences.setup(shown)}."))
    yield _table_in_full(shown)
    for row in shown.rows:
        if said := run_sentences.unanswered(row):
            yield Paragraph(phrase(f"{row.name}: {said}; {run_sentences.OF_THE_OTHERS}.", "bad", strong=True))
    yield Charts(partial(_charts, view, at))
    if limited := why_sentences.rows(shown):
        yield Heading("What limits them")
        yield Paragraph(why_sentences.ABOUT, "note")
        names, limits, times = zip(*limited, strict=True)
        labels = [join(Span(name, form="label")) for name in names]
        columns = [
            Column("Server", labels),
            Column("Limited by", limits),
            Column("Mean response time", times),
        ]
        yield Table(columns, style="plain")
    yield Heading("Noise")
    yield Paragraph(run_sentences.noise(shown))
    if said := run_sentences.visible(shown):
        yield Paragraph(said, "note")
    yield Heading("Every request, once")
    yield Paragraph(join(Span(run_sentences.identity(shown), form="code")))


def _charts(view: RunView, at: int) -> list["BoundChart"]:
    """Return the charts of an experiment; each kind has its caption only where it comes first."""
    # Imported here because charts take a second to import, and a terminal has none.
    from crumple.run.report import run_charts

    shown, before = view.experiments[at], view.experiments[:at]
    explained = {kind.name for earlier in before for kind in run_charts.of_experiment(earlier)}
    return [
        (replace(kind, caption="") if kind.name in explained else kind).of(shown)
        for kind in run_charts.of_experiment(shown)
    ]


def _table_in_full(shown: ExperimentView) -> Table:
    rows = run_tables.servers(shown)
    names = [
        join(
            Span(row.server.note.language, form="swatch"),
            f"{row.server.note.title} ",
            Span(row.server.name, form="label"),
            Span(run_sentences.io_model(row.server.note), form="below"),
        )
        for row in rows
    ]
    figures = {
        "Throughput /s": [row.throughput for row in rows],
        "p50": [row.p50 for row in rows],
        "p99": [row.p99 for row in rows],
        "p99.9": [row.p999 for row in rows],
        "CPU per request": [row.cpu for row in rows],
        "Memory": [row.memory for row in rows],
    }
    failed: list[Words] = [
        phrase(row.failed, "bad", strong=True) if row.server.lossy else row.failed for row in rows
    ]
    return Table(
        [
            Column("Server", names),
            *(
                Column(heading, [claims_table.figure(cell) for cell in cells], right=True)
                for heading, cells in figures.items()
            ),
            Column("Failed", failed, right=True),
            Column("Starts", [row.starts for row in rows], right=True),
        ],
        style="servers",
        row_styles=["lossy" if row.server.lossy else "" for row in rows],
    )


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
