"""The document of a diagnosis, made of what it came to, and its report. Pure."""

from typing import Literal

from crumple.contract import TrialRecord
from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_answer, diagnose_charts, limit_rows, tenths
from crumple.diagnose.report import diagnose_sentences as say
from crumple.diagnose.report.diagnose_document import (
    DiagnoseDocument,
    FactsData,
    RemedyData,
    SubjectData,
    WhatIfData,
)
from crumple.documents import result
from crumple.documents.result import head
from crumple.drawing.report_parts import (
    FILES,
    Charts,
    Column,
    Facts,
    Fold,
    Only,
    Paragraph,
    Report,
    Section,
    Span,
    Table,
    again,
    join,
    on_terminal,
)
from crumple.experiment.subject import Subject
from crumple.find.report.find_document import SearchData
from crumple.gate.condition import for_page
from crumple.limit import first_line, what_if
from crumple.limit.finding import CAUSES
from crumple.observation import connection_memory, parallelism, who_waits
from crumple.words import masked

# The version of this kind of document.
VERSION: Literal[1] = 1


def document_of(diagnosis: Diagnosis) -> DiagnoseDocument:
    """Return the document of a diagnosis that is over, which has no name yet."""
    plan, seen, found = diagnosis.plan, diagnosis.seen, diagnosis.found
    return DiagnoseDocument(
        **head(
            "diagnose",
            VERSION,
            command=diagnosis.command,
            began_unix_s=diagnosis.began_unix_s,
            ended_early=diagnosis.interrupted,
            asked=plan.label,
            headline=say.headline(diagnosis),
            engine_version=diagnosis.engine_version,
        ),
        server=plan.label,
        pid=diagnosis.subject.pid,
        unwatched=plan.unwatched or None,
        subject=_subject(diagnosis.subject),
        who_waits=who_waits.of(seen),
        waits=parallelism.waits(seen),
        computes=parallelism.computes(seen),
        memory_per_connection=connection_memory.per_connection(seen.memory),
        observed=seen,
        objective=str(plan.objective) if plan.objective else None,
        breaking_point=found.point if found else None,
        search=SearchData.of(found) if found else None,
        facts=FactsData.of(diagnosis.facts),
        findings=diagnosis.said,
        experiments=diagnosis.made,
        would_tell=diagnosis.would_tell,
        line=first_line.line(diagnosis.facts, diagnosis.said),
        preliminary=diagnosis.preliminary,
        settings=diagnosis.settings,
        what_if=what_if_of(diagnosis),
        tenths=tuple(tenths.of(diagnosis.facts, diagnosis.said)),
        remedy=RemedyData.of(diagnosis.remedy),
        time_below=diagnosis.time_below,
        time_beyond=diagnosis.time_beyond,
        below=_masked(diagnosis.below),
        beyond=_masked(diagnosis.beyond),
        interrupted=diagnosis.interrupted,
        seed=plan.seed,
        began_unix_s=diagnosis.began_unix_s,
        took_s=diagnosis.took_s,
    )


def _subject(subject: Subject) -> SubjectData:
    return SubjectData(
        target=subject.target,
        work=tuple(map(masked.request, subject.work)),
        light=masked.request(subject.light),
        slow=subject.slow and masked.request(subject.slow),
        heavy=subject.heavy and masked.request(subject.heavy),
        cores=subject.cores,
    )


def _masked(record: TrialRecord | None) -> TrialRecord | None:
    return None if record is None else masked.record(record)


def what_if_of(diagnosis: Diagnosis) -> WhatIfData | None:
    """Return what --if asked for; None: nothing."""
    changes, facts = diagnosis.plan.changes, diagnosis.facts
    if not changes:
        return None
    found = what_if.predicted(facts, diagnosis.said, changes) if facts is not None else None
    return WhatIfData(changes=dict(changes), predicted=found)


def report(document: DiagnoseDocument) -> Report:
    """Return what a diagnosis came to as a report."""
    diagnosis = document.diagnosis
    return Report(
        verb="diagnose",
        title=diagnose_answer.title(diagnosis),
        head=[
            on_terminal(Paragraph(say.subject_line(diagnosis), breaks_words=True)),
            for_page(document.fail_if),
        ],
        sections=[
            Section([on_terminal(Facts(say.facts(diagnosis)))]),
            *_page_sections(diagnosis),
            again(document.command),
        ],
        engine_version=document.engine_version,
        answer=result.located(
            diagnose_answer.of(diagnosis, Charts([diagnose_charts.TIME_BY_STAGES.of(diagnosis)])), document
        ),
        circumstances=[*document.circumstances, *say.circumstances(diagnosis)],
        first_line=document.line,
        has_contents=True,
    )


def _page_sections(diagnosis: Diagnosis) -> list[Section]:
    """Return what files have below the answer: the best evidence first, what is not known last."""
    out = limit_rows.ruled_out(diagnosis)
    names = [join(Span("✗ ", "dim"), ", ".join(CAUSES[each] for each in causes)) for causes, _ in out]
    crosses = Table([Column("cause", names), Column("why not", [why for _, why in out])], style="plain")
    rows = {
        "What was tried": say.done(diagnosis),
        "How it behaves under load": [*say.behaviour(diagnosis), *say.times(diagnosis)],
        "What cannot be told": say.untold(diagnosis),
    }
    folds = [Fold(title, [Facts(said)]) for title, said in rows.items() if said]
    if tenths.of(diagnosis.facts, diagnosis.said):
        folds.insert(
            0, Fold("What 10 % more of each part would give", [Charts([diagnose_charts.GAINS.of(diagnosis)])])
        )
    return [
        Section([Only(FILES, [crosses])], "What is ruled out", "ruled-out"),
        Section([Only(FILES, folds)], "More", "more"),
    ]
