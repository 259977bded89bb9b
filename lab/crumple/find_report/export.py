"""One search as data for other programs: all of it as JSON, its levels as CSV.

Nothing is rounded, and only the headline and its reason are worded for readers.
"""

import csv
import io
from dataclasses import asdict
from typing import Any

from crumple.find.level import Part
from crumple.find_report import sentences as say
from crumple.find_report.figures import Finding

VERSION = 2
# Of a level, in its row.
COLUMNS = (
    "start", "load", "purpose", "outcome", "word", "measured_s", "scheduled", "ok", "throughput_per_s",
    "p50_ns", "p90_ns", "p95_ns", "p99_ns", "failed_share", "not_sent", "backlog_grew", "connections_most",
    "connections_limit", "server_cores_busy", "engine_share", "retransmitted",
)  # fmt: skip


def document(finding: Finding) -> dict[str, Any]:
    """Times in ns, shares 0..1; loads in requests per second or connections, as `by` says."""
    found, question = finding.found, finding.question
    return {
        "version": VERSION,
        "asked": finding.asked,
        "command": finding.command,
        "objective": str(question.objective),
        "by": question.by,
        "seed": question.seed,
        "ending": found.ending,
        "headline": say.headline(finding),
        "why": say.why(finding),
        "breaking_point": asdict(found.point) if found.point else None,
        "breaks_by": found.breaks_by,
        "queue": found.queue,
        "highest_held": found.highest_held,
        "broke_first": asdict(finding.first_broken) if finding.first_broken else None,
        "broke_first_at": finding.first_broken_level.load if finding.first_broken_level else None,
        "used_up": [asdict(sign) for sign in finding.signs],
        "starts": finding.starts,
        "afresh": finding.afresh,
        "server_cores": finding.server_cores,
        "guess": asdict(found.guess) if found.guess else None,
        "flat_out": found.is_flat_out,
        "budget_s": question.budget_s,
        "took_s": found.took_s,
        "warnings": list(finding.warnings),
        "engine_version": finding.engine_version,
        "levels": [asdict(level) for level in found.levels],
    }


def levels_csv(finding: Finding) -> str:
    """A row per level in the order of trying; of each part how many requests are known, and missed it.

    An empty cell: nothing to tell.
    """
    names = [str(term) for term in finding.question.objective.terms]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    told = [f"{name} {what}" for name in names for what in ("holds", "known", "missed")]
    writer.writerow([*COLUMNS, *told, "problems"])
    for level in finding.found.levels:
        parts = {part.name: part for part in level.parts}
        of_parts = [cell for name in names for cell in _of_part(parts.get(name))]
        own = [getattr(level, column) for column in COLUMNS]
        writer.writerow([*own, *of_parts, "; ".join(level.problems)])
    return written.getvalue()


def _of_part(part: Part | None) -> tuple[bool | str | None, int | str, int | str]:
    return (part.holds, part.known, part.against) if part else ("", "", "")
