"""One diagnosis as a report, and as JSON, which rounds nothing. Pure."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from crumple.contract import TrialRecord
from crumple.diagnose.diagnosis import Diagnosis
from crumple.diagnose.report import diagnose_sentences as say
from crumple.diagnose.report import tenths
from crumple.drawing.report_parts import (
    Charts,
    Circumstances,
    Facts,
    Paragraph,
    Report,
    Section,
    Title,
    again,
    on_page,
    on_terminal,
)
from crumple.find.report.find_document import SearchData
from crumple.gate.condition import Outcome, for_page
from crumple.limit import first_line, what_if
from crumple.limit.remedy import Remedy
from crumple.observation import connection_memory, parallelism, who_waits
from crumple.words import cause_sentences, masked, time_sentences

if TYPE_CHECKING:
    from crumple.drawing.page import BoundChart


def report(diagnosis: Diagnosis, outcomes: Sequence[Outcome] = ()) -> Report:
    """Return the diagnosis as a report. `outcomes`: of the conditions of --fail-if."""
    return Report(
        verb="diagnose",
        title=diagnosis.plan.label,
        head=[
            on_terminal(Paragraph(first_line.line(diagnosis.facts, diagnosis.said), breaks_words=True)),
            Title([say.asked(diagnosis)]),
            on_page(
                Paragraph(say.headline(diagnosis), "headline"),
                Circumstances(say.circumstances(diagnosis)),
            ),
        ],
        sections=[
            Section(
                [
                    on_terminal(Facts(say.facts(diagnosis, whole=False))),
                    on_page(Facts(say.facts(diagnosis))),
                    for_page(outcomes),
                ],
                heading="What it is",
                name="facts",
                is_spoken=True,
            ),
            Section(
                [Charts(partial(_charts, diagnosis))],
                heading="Where the time goes",
                name="charts",
                is_spoken=True,
            ),
            again(diagnosis.command),
        ],
        engine_version=diagnosis.engine_version,
    )


def _charts(diagnosis: Diagnosis) -> list["BoundChart"]:
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.diagnose.report.diagnose_charts import CHARTS

    return [chart.of(diagnosis) for chart in CHARTS]


VERSION = 1


def document(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis as JSON."""
    return {
        "version": VERSION,
        "command": diagnosis.command,
        "server": diagnosis.plan.label,
        "pid": diagnosis.subject.pid,
        "unwatched": diagnosis.plan.unwatched or None,
        "subject": _subject(diagnosis),
        "who_waits": asdict(who_waits.of(diagnosis.seen)),
        "waits": asdict(parallelism.waits(diagnosis.seen)),
        "computes": asdict(parallelism.computes(diagnosis.seen)),
        "memory_per_connection": asdict(connection_memory.per_connection(diagnosis.seen.memory)),
        "observed": asdict(diagnosis.seen),
        "objective": str(diagnosis.plan.objective) if diagnosis.plan.objective else None,
        "breaking_point": asdict(diagnosis.found.point)
        if diagnosis.found and diagnosis.found.point
        else None,
        "search": SearchData.of(diagnosis.found).model_dump(mode="json") if diagnosis.found else None,
        "facts": _facts(diagnosis),
        "findings": cause_sentences.as_data(diagnosis.said),
        "experiments": [asdict(each) for each in diagnosis.made],
        "would_tell": diagnosis.would_tell,
        "line": first_line.line(diagnosis.facts, diagnosis.said),
        "preliminary": asdict(diagnosis.preliminary) if diagnosis.preliminary is not None else None,
        "settings": [asdict(each) for each in diagnosis.settings],
        "what_if": what_if_data(diagnosis),
        "tenths": [asdict(each) for each in tenths.of(diagnosis.facts, diagnosis.said)],
        "remedy": _remedy(diagnosis.remedy),
        "time_below": time_sentences.as_data(diagnosis.time_below),
        "time_beyond": time_sentences.as_data(diagnosis.time_beyond),
        "below": _record(diagnosis.below),
        "beyond": _record(diagnosis.beyond),
        "interrupted": diagnosis.interrupted,
        "engine_version": diagnosis.engine_version,
        "seed": diagnosis.plan.seed,
        "began_unix_s": diagnosis.began_unix_s,
        "took_s": diagnosis.took_s,
    }


def _subject(diagnosis: Diagnosis) -> dict[str, Any]:
    subject = diagnosis.subject
    asked = {"light": subject.light, "slow": subject.slow, "heavy": subject.heavy}
    return {
        "target": subject.target.model_dump(mode="json"),
        "work": [masked.request(each).model_dump(mode="json") for each in subject.work],
        **{name: each and masked.request(each).model_dump(mode="json") for name, each in asked.items()},
        "cores": subject.cores,
    }


def _remedy(remedy: Remedy | None) -> dict[str, Any] | None:
    if remedy is None:
        return None
    return {**asdict(remedy), "then": cause_sentences.as_data(remedy.then), "outcome": remedy.outcome}


def _record(record: TrialRecord | None) -> dict[str, Any] | None:
    return None if record is None else masked.record(record).model_dump(mode="json")


def _facts(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return what was judged. What was observed stands beside it."""
    facts = diagnosis.facts
    return None if facts is None else {k: v for k, v in asdict(facts).items() if k != "seen"}


def what_if_data(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return what --if asked for; None: nothing."""
    changes, facts = diagnosis.plan.changes, diagnosis.facts
    if not changes:
        return None
    found = what_if.predicted(facts, diagnosis.said, changes) if facts is not None else None
    return {"changes": dict(changes), "predicted": asdict(found) if found is not None else None}
