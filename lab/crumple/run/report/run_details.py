"""What a reader of a run looks up: trials that do not count, the article, the machine, servers, all trials.

Each part is folded: the answer and the experiments come first, and most readers need no more.
"""

from collections.abc import Iterator

from crumple.drawing.report_parts import (
    Code,
    Column,
    Fold,
    Heading,
    Items,
    Paragraph,
    Part,
    Prose,
    Span,
    Table,
    Words,
    join,
    on_page,
)
from crumple.run.report import host_rows, run_sentences, run_tables
from crumple.run.report.run_tables import TrialRow
from crumple.run.report.view import RunView, StartView

OTHERS = (
    "Others, steal: the share of all cores' time that other programs used, and that the hypervisor took, "
    "while it was measured."
)


def details(view: RunView) -> Iterator[Part]:
    """Yield the folds."""
    yield from _unsound(view)
    if view.warned:
        links = [join(_to_trial(start)) for start in view.warned]
        yield on_page(Fold(run_sentences.warnings(view), [Items(links)], style="warned"))
    prose = view.run.study.prose
    if prose.did:
        yield Fold("What the article did", [Prose(prose.did)])
    if prose.differs:
        yield Fold("What differs here", [Prose(prose.differs)])
    yield Fold("How to read the figures", [*_reading(view)])
    if view.run.hosts:
        yield Fold("Hosts", [*host_rows.table(view)])
    yield Fold("Machine", [_machine(view)])
    yield Fold("Servers", [*_servers(view)])
    yield _trials(view)


def _reading(view: RunView) -> Iterator[Part]:
    yield Paragraph(run_sentences.reading(view))
    if said := run_sentences.twins(view):
        yield Paragraph(said)


def _to_trial(start: StartView) -> Span:
    trial = start.trial.trial.id
    return Span(trial, form="code", link=f"#{_address(trial)}")


def _address(trial_id: str) -> str:
    return f"trial-{trial_id}"


def _unsound(view: RunView) -> Iterator[Part]:
    """Yield the trials that failed or do not count, each with its reason."""
    unsound, skipped = [*view.failed, *view.not_valid], run_sentences.skips(view)
    if unsound or skipped:
        parts: list[Part] = [Paragraph(f"{line}.") for line in skipped]
        for start in unsound:
            parts += [Heading(join(_to_trial(start))), Paragraph(run_sentences.remark(start), "problem")]
            if start.trial.failure and start.trial.failure.output_tail:
                parts.append(Code(start.trial.failure.output_tail))
        yield Fold(run_sentences.not_counting(view), parts)


def _machine(view: RunView) -> Table:
    measured_by = f"{view.run.lab_version}, engine {view.run.engine_version}"
    names, values = zip(*run_tables.machine(view), ("crumple", measured_by), strict=True)
    return Table([Column("Fact", names), Column("Value", values)], style="plain")


def _servers(view: RunView) -> Iterator[Part]:
    versions = run_tables.versions(view)
    columns = [
        Column("Server", [join(Span(name, form="label")) for name, _, _ in versions]),
        Column("Versions", [said for _, said, _ in versions]),
        Column("Settings", [settings for _, _, settings in versions]),
    ]
    yield Table(columns, style="plain")
    about = [(name, note) for name, note in view.run.servers.items() if note.about]
    yield on_page(
        *(Fold(f"{name}: {note.title}", [Prose(note.about)], style="about") for name, note in about)
    )


def _trials(view: RunView) -> Fold:
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
    title = f"All {len(rows)} trials, each with the command that repeats it"
    return Fold(title, [Paragraph(OTHERS, "note"), table])


def _trial(row: TrialRow) -> Words:
    return join(row.id, Span(row.remark, form="below")) if row.remark else row.id
