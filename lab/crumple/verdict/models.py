"""How a server waits, as it declares and as a trial saw it: claims of model."""

from collections import Counter
from collections.abc import Iterator
from typing import cast

from crumple.server.server import IoModel
from crumple.study.claim import ModelClaim
from crumple.verdict.case import Case, Judged, untestable
from crumple.verdict.effect import Answer, Effect
from crumple.verdict.evidence import derived
from crumple.verify import io_model
from crumple.verify.io_model import Observed

WHAT = "I/O model"
NO_WAIT = "the requests of this experiment do not wait, or nothing was read"


def model(claim: ModelClaim, case: Case) -> Iterator[Judged]:
    """Whether processes and threads, while requests wait, can be those of the model that is declared."""
    seen = derived(WHAT, "", lambda trial: 1.0 if trial.waiting else None, NO_WAIT)
    evidence = case.evidence(claim.experiment, seen)
    for server in claim.servers:
        declared = case.facts.models.get(evidence.place(server).server)
        alone = evidence.alone(server)
        if declared is None or alone.untestable:
            why = alone.untestable or "it declares none"
            yield untestable(WHAT, server, why, declared or "", alone)
            continue
        meant = cast(IoModel, declared)
        observed = [trial.waiting for trial in alone.figures if trial.waiting]
        found = [io_model.contradiction(meant, each) for each in observed]
        against = Counter(why for why in found if why)
        if 2 * against.total() > len(found):
            answer, reason = Answer.CONTRADICTED, against.most_common(1)[0][0]
        elif against:
            answer = Answer.UNDECIDED
            reason = (
                f"{against.total()} of {len(found)} blocks speak against it: {against.most_common(1)[0][0]}"
            )
        else:
            answer, reason = Answer.SUPPORTED, _as_declared(meant, observed[0])
        effect = Effect(
            label=server, of=server, to="", published=None, ratio=None, answer=answer,
            reason=reason, bound=declared, what=WHAT,
        )  # fmt: skip
        yield effect, alone.trials


def _as_declared(declared: IoModel, seen: Observed) -> str:
    while_waiting = f"while {seen.at_once} requests wait"
    if seen.idle == seen.waiting:
        what = f"{seen.idle}, at rest and {while_waiting}"
    else:
        what = f"from {seen.idle} to {seen.waiting} {while_waiting}"
    others = ", ".join(name for name in io_model.compatible(seen) if name != declared)
    return f"{what}, as {declared} has it" + (f" ({others} too)" if others else "")
