"""One search as data for other programs. Nothing is rounded, and only the headline is worded for readers."""

from dataclasses import asdict
from typing import Any

from crumple.find_report import sentences as say
from crumple.find_report.figures import Finding

VERSION = 1


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
        "highest_held": found.highest_held,
        "broke_first": asdict(finding.first_broken) if finding.first_broken else None,
        "broke_first_at": finding.first_broken_level.load if finding.first_broken_level else None,
        "used_up": [asdict(sign) for sign in finding.signs],
        "starts": finding.starts,
        "afresh": finding.afresh,
        "server_cores": finding.server_cores,
        "guess_per_s": found.guess_per_s,
        "budget_s": question.budget_s,
        "took_s": found.took_s,
        "warnings": list(finding.warnings),
        "engine_version": finding.engine_version,
        "levels": [asdict(level) for level in found.levels],
    }
