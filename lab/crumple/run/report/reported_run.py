"""What the JSON report of a run holds, for a terminal: its claims, and the figures of its servers.

The page of a run is drawn from the records of its trials, which this document does not have. Pure.
"""

from collections.abc import Iterator

from crumple.drawing import numerals
from crumple.drawing.report_parts import Column, Paragraph, Part, Report, Section, Span, Table, join, phrase
from crumple.record.metrics import METRICS
from crumple.run.report.report_document import ClaimData, ExperimentData, ReportDocument, ServerData

# The metrics of the table of servers, and the headings that the screen of a run has for them.
SHOWN = {
    "throughput": "throughput",
    "response_p50": "p50",
    "response_p99": "p99",
    "cpu_per_request": "CPU/request",
    "memory": "memory",
}


def report(document: ReportDocument) -> Report:
    """Return what the document says."""
    counted = sum(trial.counts for trial in document.trials)
    trials = f"{counted} of {numerals.count(len(document.trials), 'trial')} count"
    about = (document.run, f"scale {document.scale}", document.began, trials)
    return Report(
        verb="run",
        title=document.title,
        head=[
            Paragraph(join(Span(document.title, strong=True))),
            Paragraph(document.question),
            Paragraph(phrase(", ".join(about), "dim")),
            Paragraph(f"{document.answer} {document.summary}"),
        ],
        sections=[
            Section([_claims(document.claims)]),
            *(Section([*_experiment(each)]) for each in document.experiments),
            Section([Paragraph(phrase(document.caution, "dim")), Paragraph(_in_full(document))]),
        ],
        engine_version=document.engine_version,
    )


def _in_full(document: ReportDocument) -> str:
    return f"With charts, where the run is stored: crumple report {document.run} --open"


def _claims(claims: tuple[ClaimData, ...]) -> Table:
    asked = [each for each in claims if each.asked]
    return Table(
        [
            Column("claim", [each.id for each in asked], whole=True),
            Column("found", [each.sentence for each in asked]),
        ]
    )


def _experiment(experiment: ExperimentData) -> Iterator[Part]:
    yield Paragraph(join(Span(experiment.name, strong=True), f"  {experiment.title}"))
    shown = [each for each in experiment.servers if not each.twin]
    columns = [
        Column(heading, [_figure(each, metric) for each in shown], right=True, whole=True)
        for metric, heading in SHOWN.items()
    ]
    starts = [f"{each.starts_counted} of {each.starts}" for each in shown]
    failed = [numerals.share(each.failed_share) for each in shown]
    yield Table(
        [
            Column("", [each.server for each in shown], whole=True),
            *columns,
            Column("failed", failed, right=True),
            Column("starts", starts, right=True),
        ],
        left_out_first=("starts", "memory", "CPU/request"),
    )


def _figure(server: ServerData, metric: str) -> str:
    found = server.summaries.get(metric)
    if found is None:
        return numerals.ABSENT
    said = numerals.IN_WORDS[METRICS[metric].unit](found.estimate)
    return f"{found.limit} {said}" if found.limit else said
