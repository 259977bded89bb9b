"""The levels of a search as CSV, which rounds nothing. Pure."""

import csv
import io

from crumple.find.level import PartResult
from crumple.find.report.find_document import FindDocument

# The fields of a level in its row.
COLUMNS = (
    "start", "load", "purpose", "outcome", "word", "measured_s", "scheduled", "ok", "throughput_per_s",
    "p50_ns", "p90_ns", "p95_ns", "p99_ns", "failed_share", "not_sent", "backlog_grew", "connections_most",
    "connections_limit", "server_cores_busy", "engine_share", "retransmitted",
)  # fmt: skip


def levels_csv(document: FindDocument) -> str:
    """A row per level in the order of trying; for each part how many requests are known, and missed it.

    An empty cell: no value.
    """
    names = [str(term) for term in document.question.objective.terms]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    told = [f"{name} {what}" for name in names for what in ("holds", "known", "missed")]
    writer.writerow([*COLUMNS, *told, "problems"])
    for level in document.levels:
        parts = {part.name: part for part in level.parts}
        of_parts = [cell for name in names for cell in _of_part(parts.get(name))]
        own = [getattr(level, column) for column in COLUMNS]
        writer.writerow([*own, *of_parts, "; ".join(level.problems)])
    return written.getvalue()


def _of_part(part: PartResult | None) -> tuple[bool | str | None, int | str, int | str]:
    return (part.holds, part.known, part.against) if part else ("", "", "")
