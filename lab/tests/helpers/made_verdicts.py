"""Made-up runs whose claims have the answers that a test needs: one experiment, effects written by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import synthetic_run
from crumple.run.report.view import RunView, view
from crumple.run.run_file import ServerNote
from crumple.stats.interval import Interval
from crumple.study.claim import Claim
from crumple.verdict import verdict_sentences
from crumple.verdict.effect import Effect, VerdictWord
from crumple.verdict.verdict import Verdict
from pydantic import TypeAdapter

SUPPORTED, CONTRADICTED, UNDECIDED = VerdictWord.SUPPORTED, VerdictWord.CONTRADICTED, VerdictWord.UNDECIDED
NOT_TESTABLE = VerdictWord.NOT_TESTABLE
Told = tuple[Claim, Verdict]

PHP, NODE, EXPRESS, GO = "php-apache", "node-http", "node-express", "go-nethttp"
SERVERS = {
    PHP: ("PHP under Apache", {"php": "8.2.36", "apache": "2.4.71"}),
    NODE: ("Node http", {"node": "20.20.2", "npm": "11.19.1"}),
    GO: ("Go net/http", {"go": "1.26.8"}),
}


def interval(estimate: float, wide: float = 1.1) -> Interval:
    return Interval(estimate, estimate / wide, estimate * wide, 0.95, 3)


def effect(of: str, to: str = "", answer: VerdictWord = CONTRADICTED, **other: Any) -> Effect:
    """Return a comparison; a float for `ratio` or `value` is its estimate."""
    for name in ("ratio", "value"):
        if isinstance(other.get(name), float):
            other[name] = interval(other[name])
    fixed = {"label": of, "published": None, "ratio": None, "reason": "so it is", "what": "throughput"}
    return Effect(of=of, to=to, answer=answer, **(fixed | other))


def told(written: Mapping[str, Any], *effects: Effect, in_size_only: bool = False) -> Told:
    """Return a claim as written, with a text, and the verdict that these effects make."""
    claim: Claim = TypeAdapter(Claim).validate_python(
        {"text": f"What {written['id']} says.", "experiment": "shared"} | dict(written)
    )
    first = effects[0]
    said = verdict_sentences.verdict(claim.kind, first.answer, in_size_only, effects)
    return claim, Verdict(
        claim.id, claim.text, claim.kind, first.answer, in_size_only, effects, said, (), claim.place or "",
        claim.conditions,
    )  # fmt: skip


def ratio(name: str, measured: float, published: float | None = 13.7, **other: Any) -> Told:
    """Return a claim on a metric of Node.js over PHP, its throughput by default.

    A missed direction is refuted.
    """
    metric = other.pop("metric", "throughput")
    size = {"published": published} if other.get("expected") is None else {"expected": other["expected"]}
    answer = other.pop("answer", CONTRADICTED)
    claimed = published if other.get("expected") is None else other["expected"]
    turned = claimed is not None and (measured > 1) != (claimed > 1)
    direction = CONTRADICTED if turned and answer is CONTRADICTED else SUPPORTED
    size = {"at_least": published} if "bound" in other else size
    pair = {"of": NODE, "to": PHP, **size}
    made = effect(
        NODE, PHP, answer, ratio=measured, direction=other.pop("direction", direction),
        **({"published": published} if "published" in size else {}), **other,
    )  # fmt: skip
    claim = {"id": name, "kind": "ratio", "metric": metric, "pairs": [pair]}
    return told(claim, made, in_size_only=made.in_size_only)


def share(name: str, measured: float, above: str = "1 %", answer: VerdictWord = CONTRADICTED) -> Told:
    """Return a claim on the share of PHP's failed requests."""
    made = effect(
        PHP, "", answer, value=measured, unit="share", bound=f"above {above}", bounds=(0.01,),
        what="share of failed requests",
    )  # fmt: skip
    return told({"id": name, "kind": "share", "servers": [PHP], "above": above}, made)


def order(name: str, measured: float, answer: VerdictWord = CONTRADICTED) -> Told:
    """Return a claim that Node.js is faster than PHP."""
    made = effect(NODE, PHP, answer, ratio=measured, bounds=(1.0,))
    return told({"id": name, "kind": "order", "metric": "throughput", "tiers": [[NODE], [PHP]]}, made)


def cost(name: str, ns: float, answer: VerdictWord = CONTRADICTED) -> Told:
    """Return a claim on the cost of a read on this machine; the article has 20 ns."""
    made = effect(
        "this machine", "", answer, value=ns, unit="ns", bound="20 ns", bounds=(10.0, 40.0),
        what="cost of a non blocking read",
    )  # fmt: skip
    written = {"id": name, "kind": "figure", "cost": "non_blocking_read", "published": "20 ns"}
    return told(written | {"experiment": None}, made)


def untestable(name: str, reason: str) -> Told:
    made = effect(NODE, PHP, NOT_TESTABLE, reason=reason)
    return told({"id": name, "kind": "order", "metric": "throughput", "tiers": [[NODE], [PHP]]}, made)


def run(
    claims: Sequence[Told],
    title: str = "PHP and Node.js",
    servers: Mapping[str, tuple[str, dict[str, str]]] = SERVERS,
    name: str = "files",
    **update: Any,
) -> RunView:
    """Return a run of these servers with these claims and verdicts. `update`: fields of its run.json."""
    made = synthetic_run.run_file()
    study = made.study.model_copy(
        update={"name": name, "title": title, "claims": tuple(c for c, _ in claims)}
    )
    notes = {
        label: ServerNote(title=titled, language="", io_model="", about="", libraries={})
        for label, (titled, _) in servers.items()
    }
    fields = {
        "id": f"{name}-quick-20261121-063012", "study": study, "servers": notes,
        "versions": {label: versions for label, (_, versions) in servers.items()},
    }  # fmt: skip
    seen = view(
        made.model_copy(update=fields | {"study": study.model_copy(update={"claims": ()})} | update), ()
    )
    judged = tuple(verdict for _, verdict in claims)
    return replace(seen, run=made.model_copy(update=fields | update), verdicts=judged)
