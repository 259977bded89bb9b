"""A claim and the figures of a run → a verdict. Pure: reads no file, starts nothing.

Which trials may speak is evidence.py's, how it is said is sentences.py's. Here are the rules: one function
per kind of claim, found in KINDS.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats import stats
from crumple.stats.looks import ONCE, Look, Looks
from crumple.study.claim import Claim, ShareClaim
from crumple.verdict import along_load, kinds, opinions, rests_on, verdict_sentences
from crumple.verdict.case import Case, Facts, Judged
from crumple.verdict.effect import Answer, Effect
from crumple.verdict.evidence import SPEED, Evidence
from crumple.verdict.opinions import Noise

NOTHING_KNOWN = Facts()
FIXED: Mapping[str, Looks] = {}
DECIDED = (Answer.SUPPORTED, Answer.CONTRADICTED)
TOUCHED_BY_THE_ENGINE = (SPEED, "ns")

KINDS: dict[str, Callable[..., Iterator[Judged]]] = {
    "order": kinds.order,
    "ratio": kinds.ratio,
    "share": kinds.share,
    "figure": kinds.figure,
    "stall": kinds.stall,
    "flatness": along_load.flatness,
    "knee": along_load.knee,
    "growth": along_load.growth,
    "model": kinds.model,
}


@dataclass(frozen=True)
class Verdict:
    """What a run says about a claim. `trials`: ids of those the answer rests on; `blocks`: of so many.

    `in_size_only`: a direction was claimed and holds, and what is refuted or open is its size. `place`: where
    the article says it, empty if unknown. `conditions`: what it leaves open or differs here. `doubt`: of
    which trials the engine may have been the limit, a sentence that `sentence` ends in; or empty.
    """

    claim_id: str
    text: str
    kind: str
    answer: Answer
    in_size_only: bool
    effects: tuple[Effect, ...]
    sentence: str
    trials: tuple[str, ...]
    place: str = ""
    conditions: tuple[str, ...] = ()
    blocks: int = 0
    doubt: str = ""


def judge(
    claim: Claim,
    figures: Sequence[Figures],
    failed: Mapping[str, str] | None = None,
    scale: str | None = None,
    facts: Facts = NOTHING_KNOWN,
    looks: Mapping[str, Looks] = FIXED,
) -> Verdict:
    """The verdict on `claim` from the figures of all measured trials of a run.

    `looks`: experiment → when it is looked at; of one that is not there all blocks, once. What a look decided
    holds, as the error is shared out over all of them; the verdict is that of the last look which decides.
    `scale`: of the run; a claim that this scale cannot answer is not testable, however clear the figures.
    `failed`: trial id → why, of those that failed; they are only named as reasons. `facts`: what no trial
    holds. Raises KeyError for a metric or kind that does not exist; studies are checked for both when read.
    """
    known, memory = rests_on.blocks_of(claim, figures, failed or {}, looks), dict[str, Any]()

    def at(done: int) -> Verdict:
        most = None if known.looks == ONCE else done
        seen, why = rests_on.within(most, known.experiments, figures, failed or {})
        look = Look(claim.confidence, done, known.looks, past=done < known.done)
        return at_look(claim, Case(seen, why, facts, look, memory), known.early)

    last = at(known.done)
    if scale is not None and scale not in claim.scales:
        return _unasked(claim, scale, last.effects)
    # A server that fails is not ranked by its speed, whatever an earlier look said of that.
    if known.looks.once or last.answer in DECIDED or any(effect.refused for effect in last.effects):
        return last
    earlier = map(at, range(known.done - 1, known.looks.least - 1, -1))
    return next((verdict for verdict in earlier if verdict.answer in DECIDED), last)


def at_look(claim: Claim, case: Case, early: bool = False) -> Verdict:
    """The verdict at one look alone; `early`: before the first one, when nothing is decided."""
    judged = [*KINDS[claim.kind](claim, case)]
    effects = tuple(effect for effect, _ in judged)
    if early:
        effects = tuple(_too_early(effect, case.look) for effect in effects)
    answer = _together(claim, [effect.answer for effect in effects])
    open_ones = [effect for effect in effects if effect.answer is not Answer.SUPPORTED]
    in_size_only = bool(open_ones) and all(effect.in_size_only for effect in open_ones)
    trials = tuple(sorted({trial for _, trials in judged for trial in trials}))
    # A past look that decided nothing is not shown, so its sentence is not made.
    unread = case.look.past and answer not in DECIDED
    doubt = "" if unread else _doubt(claim, answer, trials, case.figures)
    said = "" if unread else verdict_sentences.verdict(claim.kind, answer, in_size_only, effects)
    return Verdict(
        claim_id=claim.id,
        text=claim.text,
        kind=claim.kind,
        answer=answer,
        in_size_only=in_size_only,
        effects=effects,
        sentence=f"{said} {doubt}" if said and doubt else said,
        trials=trials,
        place=claim.place or "",
        conditions=claim.conditions,
        blocks=case.look.blocks,
        doubt=doubt,
    )


def _doubt(claim: Claim, answer: Answer, trials: Iterable[str], figures: Iterable[Figures]) -> str:
    """Which servers the engine may have limited by their own warnings: half of the trials or more, or none.

    That touches how fast a server is, and not what it holds.
    """
    metric = getattr(claim, "metric", None)
    if answer is Answer.NOT_TESTABLE or metric is None or METRICS[metric].unit not in TOUCHED_BY_THE_ENGINE:
        return ""
    seen = {trial.trial_id: trial for trial in figures}
    of: dict[str, list[bool]] = {}
    for trial in (seen[key] for key in trials if key in seen):
        of.setdefault(trial.server, []).append(trial.maybe_engine_limited)
    counted = [(server, sum(warned), len(warned)) for server, warned in of.items()]
    return verdict_sentences.doubt([each for each in counted if each[1] and 2 * each[1] >= each[2]])


def noise_of(
    figures: Sequence[Figures], experiment: str, metric: str, looks: Mapping[str, Looks] = FIXED
) -> Noise:
    """How much starts of one server differ there in `metric`, and what its twins came to at the last look."""
    level = rests_on.last_look(figures, experiment, looks, stats.CONFIDENCE).level()
    return opinions.noise(Evidence(experiment, METRICS[metric], tuple(figures), {}), metric, level)


def _too_early(effect: Effect, look: Look) -> Effect:
    if effect.answer not in DECIDED and effect.direction is None:
        return effect
    reason = f"there are {look.blocks} blocks, and this scale judges from {look.looks.least} on"
    return replace(
        effect, answer=Answer.UNDECIDED, direction=None, reason=reason, blocks_needed=look.looks.least
    )


def _unasked(claim: Claim, scale: str, effects: tuple[Effect, ...]) -> Verdict:
    """The study says that this scale cannot answer; then no figure of it stands for an answer."""
    reason = verdict_sentences.unasked(scale, claim.scales)
    untested = partial(
        replace, ratio=None, value=None, answer=Answer.NOT_TESTABLE, direction=None, blocks_needed=None,
        reason=reason,
    )  # fmt: skip
    return Verdict(
        claim_id=claim.id,
        text=claim.text,
        kind=claim.kind,
        answer=Answer.NOT_TESTABLE,
        in_size_only=False,
        effects=tuple(untested(effect) for effect in effects),
        sentence=f"Not testable here. {verdict_sentences.capital(reason)}.",
        trials=(),
        place=claim.place or "",
        conditions=claim.conditions,
    )


def _together(claim: Claim, answers: Sequence[Answer]) -> Answer:
    """One comparison against a claim outweighs all for it; one that is open keeps it open.

    Where so many are enough, those for it are counted, and it is over when too few are left.
    """
    if isinstance(claim, ShareClaim) and claim.at_least is not None:
        held, against = answers.count(Answer.SUPPORTED), answers.count(Answer.CONTRADICTED)
        if held >= claim.at_least:
            return Answer.SUPPORTED
        if len(answers) - against < claim.at_least:
            return Answer.CONTRADICTED
        open_ones = answers.count(Answer.UNDECIDED)
        return Answer.UNDECIDED if held + open_ones >= claim.at_least else Answer.NOT_TESTABLE
    order = (Answer.CONTRADICTED, Answer.NOT_TESTABLE, Answer.UNDECIDED)
    return next((answer for answer in order if answer in answers), Answer.SUPPORTED)
