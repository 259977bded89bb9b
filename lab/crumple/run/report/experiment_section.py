"""One experiment in the report of a run: its servers, what limits them, its charts, and its noise."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    FILES,
    Charts,
    Column,
    Fold,
    Heading,
    Only,
    Paragraph,
    Part,
    Prose,
    Section,
    Span,
    Table,
    Words,
    join,
    on_terminal,
    phrase,
)
from crumple.run.report import (
    chosen_charts,
    claims_table,
    run_charts,
    run_sentences,
    run_tables,
    server_names,
    why,
    why_sentences,
)
from crumple.run.report.view import ExperimentView, RunView, ServerView
from crumple.verdict.verdict_sentences import capital, enumerate_parts

# A screen of at least 100 columns has all columns of the table of servers.
WIDE = 100


def section(view: RunView, at: int) -> Section:
    """Return the experiment at that place of the run."""
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
    """Yield the question, the chart that the article would draw, and the table; the rest is folded."""
    shown = view.experiments[at]
    if shown.experiment.about:
        yield Prose(shown.experiment.about)
    first, others = chosen_charts.of(shown)
    if not first:
        yield Paragraph(run_sentences.nothing_counts(shown), "problem")
        yield Fold("Setup", [_setup(shown)])
        return
    explained = {
        kind for earlier in view.experiments[:at] for each in chosen_charts.of(earlier) for kind in each
    }
    yield _charts(shown, first, explained)
    yield _table_in_full(shown)
    folded: list[Part] = [
        _setup(shown),
        _charts(shown, others, explained),
        *_limits(shown),
        *_noise(shown),
    ]
    yield Fold(_rest(shown, others), folded)


def _rest(shown: ExperimentView, charts: Sequence[str]) -> str:
    """Return what the fold of an experiment has."""
    # The panels of a ramp that no claim asks for are not counted: there may be none.
    number = sum(name != chosen_charts.REST for name in charts)
    more = [numerals.count(number, "more chart")] if number else []
    limits = ["what limits the servers"] if any(why.servers(shown)) else []
    return capital(enumerate_parts(["setup", *more, *limits, "noise", "every request"]))


def _setup(shown: ExperimentView) -> Paragraph:
    return Paragraph(join("Experiment ", Span(shown.name, form="code"), f": {run_sentences.setup(shown)}."))


def _limits(shown: ExperimentView) -> Iterator[Part]:
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


def _noise(shown: ExperimentView) -> Iterator[Part]:
    yield Heading("Noise")
    yield Paragraph(run_sentences.noise(shown))
    if said := run_sentences.visible(shown):
        yield Paragraph(said, "note")
    yield Heading("Every request, once")
    yield Paragraph(join(Span(run_sentences.identity(shown), form="code")))


def _charts(shown: ExperimentView, names: Sequence[str], explained: Collection[str]) -> Charts:
    """Return charts of an experiment; each kind has its caption only where it comes first."""
    return Charts(
        [
            (replace(kind, caption="") if kind.name in explained else kind).of(shown, of=shown.name)
            for kind in run_charts.of_experiment(shown)
            if kind.name in names
        ]
    )


def _table_in_full(shown: ExperimentView) -> Table:
    rows = run_tables.servers(shown)
    names = [
        join(
            Span(row.server.note.language, form="swatch"),
            f"{row.server.note.title} ",
            Span(f"{row.server.name} · {run_sentences.io_model(row.server.note)}", form="below"),
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
        below=[[Paragraph(f"{capital(row.remark)}.")] if row.remark else [] for row in rows],
    )
