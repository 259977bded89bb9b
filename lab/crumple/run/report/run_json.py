"""The report as JSON: the same facts as in the other formats, unrounded.

`version` grows when a field changes its meaning. The other formats word the facts.
"""

import json
import math
from dataclasses import asdict
from typing import Any

from crumple.drawing.terminal import shown_json
from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.record.undisturbed import SURE
from crumple.run.report import findings, left_sentences, run_sentences, why, why_sentences
from crumple.run.report.server_names import circumstances
from crumple.run.report.view import ExperimentView, RunView, ServerView, Start
from crumple.run.report.why import Limits
from crumple.stats.interval import Interval
from crumple.verdict.effect import Effect
from crumple.verdict.opinions import Noise
from crumple.verdict.verdict import Verdict

VERSION = 2


def data(view: RunView) -> str:
    """Return one JSON document: times in ns, CPU in µs, memory in bytes, shares 0..1, unknown ends null."""
    run = view.run
    limits = why.of_claims(view)
    document = {
        "version": VERSION,
        "run": run.id,
        "study": run.study.name,
        "title": run.study.title,
        "question": run.study.question,
        "article": run.study.article.model_dump() if run.study.article else None,
        "prose": run.study.prose.model_dump(),
        "scale": run.scale,
        "seed": run.seed,
        "only": run.only,
        "began": run.began,
        "ended": run.ended,
        "stopped": run.stopped,
        "caution": run_sentences.LOOPBACK,
        "answer": findings.answer(view).said,
        "summary": run_sentences.summary(view),
        "claims": [_verdict(view, verdict, limits) for verdict in view.verdicts],
        "experiments": [_experiment(experiment) for experiment in view.experiments],
        "trials": [_trial(view, start) for start in _by_id(view)],
        "trials_left_out": view.left_out,
        "machine": run.machine,
        "versions": run.versions,
        "servers": {name: note.model_dump() for name, note in run.servers.items()},
        "lab_version": run.lab_version,
        "engine_version": run.engine_version,
    }
    return shown_json(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _by_id(view: RunView) -> list[Start]:
    return sorted(view.starts, key=lambda start: start.trial.trial.id)


def _verdict(view: RunView, verdict: Verdict, limits: Limits) -> dict[str, Any]:
    return {
        "id": verdict.claim_id,
        "text": verdict.text,
        "kind": verdict.kind,
        "asked": all(verdict.claim_id != other.claim_id for other in view.not_asked),
        "answer": verdict.answer.value,
        "in_size_only": verdict.in_size_only,
        "sentence": verdict.sentence,
        "doubt": verdict.doubt or None,
        "place": verdict.place or None,
        "conditions": verdict.conditions,
        "circumstances": circumstances(view, verdict) or None,
        "effects": [_effect(effect) for effect in verdict.effects],
        "trials": verdict.trials,
        "blocks": verdict.blocks,
        "left": left_sentences.why_left(view).get(verdict.claim_id),
        "limits": why_sentences.of_claim(limits.get(verdict.claim_id, ())) or None,
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "of": effect.of,
        "to": effect.to,
        "published": effect.published,
        "expected": effect.expected,
        "ratio": interval(effect.ratio),
        "metric": effect.what,
        "value": interval(effect.value),
        "unit": effect.unit,
        "bound": effect.bound or None,
        "answer": effect.answer.value,
        "direction": effect.direction.value if effect.direction else None,
        "blocks_needed": effect.blocks_needed,
        "margin": effect.margin,
        "limit": effect.limit or None,
        "reason": effect.reason,
    }


def _experiment(shown: ExperimentView) -> dict[str, Any]:
    scheduled, outcomes = shown.outcomes
    return {
        "name": shown.name,
        "title": shown.experiment.title,
        "about": shown.experiment.about,
        "setup": run_sentences.setup(shown),
        "workload": shown.experiment.workload,
        "placement": shown.experiment.placement,
        "connection": shown.experiment.connection,
        "shape": shown.experiment.shape.model_dump(),
        "scale": shown.scale.model_dump(),
        "identity": {"scheduled": scheduled, "outcomes": outcomes},
        "noise": {name: _noise(noise) for name, noise in shown.noise.items()},
        "servers": [_server(row) for row in shown.rows],
        "why": {each.server.name: why_sentences.as_data(each) for each in why.servers(shown)},
    }


def _server(row: ServerView) -> dict[str, Any]:
    return {
        "server": row.name,
        "twin": row.twin,
        "starts": len(row.starts),
        "starts_counted": len(row.counting),
        "failed_share": row.failed_share,
        "ranked": row.ranked,
        "unanswered": [start.trial.trial.id for start in row.starts if start.unanswered],
        "failed_marked": [start.trial.trial.id for start in row.lossy],
        "summaries": {name: _summary(row, name) for name in row.summaries},
    }


def _summary(row: ServerView, name: str) -> dict[str, Any] | None:
    found = interval(row.summaries[name])
    return found and {**found, "limit": row.limit(name) or None}


def _trial(view: RunView, start: Start) -> dict[str, Any]:
    trial, seen, record = start.trial, start.figures, start.trial.record
    return {
        "id": trial.trial.id,
        "experiment": trial.trial.experiment,
        "block": trial.trial.block,
        "position": trial.trial.position,
        "server": trial.trial.server,
        "twin": trial.trial.twin,
        "status": trial.status,
        "skipped": trial.skipped,
        "counts": start.counts,
        "engine_limited": start.engine_limited,
        "disturbance": trial.disturbance.model_dump() if trial.disturbance else None,
        "problems": trial.problems,
        "warnings": trial.warnings,
        "failure": trial.failure.model_dump() if trial.failure else None,
        "programs": trial.programs.model_dump() if trial.programs else None,
        "settings": trial.server.settings,
        "start_s": trial.server.start_s,
        "scheduled": record.scheduled if record else None,
        "outcomes": record.outcomes.as_dict() if record else None,
        "users": record.users if record else None,
        "users_unanswered": record.users_unanswered if record else None,
        "figures": {name: metric.of(seen) for name, metric in METRICS.items()} if seen else None,
        "factors": _factors(seen) if seen else None,
        "disturbed": [name for name, metric in METRICS.items() if seen and metric.is_disturbed(seen)],
        "response_ns": {f"{q:g}": ns for q, ns in seen.response_ns.items()} if seen else None,
        "command": run_sentences.command(view, trial.trial.id),
    }


def _factors(seen: Figures) -> dict[str, Any]:
    """Return how far figures of a calm machine may lie from those that others may have changed."""
    found = {name: [round(end, 9) for end in metric.undisturbed(seen)] for name, metric in METRICS.items()}
    return {name: [low, finite(high)] for name, (low, high) in found.items() if (low, high) != SURE}


def interval(found: Interval | None) -> dict[str, Any] | None:
    """Return an interval as reports write it: an end that is not known is null."""
    if found is None:
        return None
    return {**asdict(found), "low": finite(found.low), "high": finite(found.high)}


def _noise(noise: Noise) -> dict[str, Any]:
    twins = noise.twins
    return {
        "spread": finite(noise.spread),
        "visible": finite(noise.visible),
        "blocks": noise.blocks,
        "twins": None if twins is None else {
            "server": twins.server, "ratio": interval(twins.ratio), "different": twins.called_different,
        },
        "why_unknown": noise.why or None,
    }  # fmt: skip


def finite(value: float | None) -> float | None:
    """Return the number; None if it is infinite, because JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
