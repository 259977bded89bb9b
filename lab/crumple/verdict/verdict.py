"""Judge a claim: the claim and the figures of a run → a verdict. Pure: reads no file, starts nothing.

KINDS names the rule for each kind of claim; the rules are in kinds.py and along_load.py. evidence.py selects
the trials that count, and verdict_sentences.py words the verdict. `standing` says which claims of a run are
decided, and how many blocks the others would take; run/session.py chooses the next block by it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from crumple.record.figures import Figures
from crumple.record.metrics import METRICS
from crumple.stats.interval import CONFIDENCE
from crumple.stats.sequential import ONCE, Look, Looks
from crumple.study.claim import Claim, ScaleName, ShareClaim
from crumple.study.study import Study
from crumple.study.study_load import Scale
from crumple.verdict import along_load, kinds, opinions, verdict_sentences
from crumple.verdict.case import (
    ClaimBlocks,
    ClaimCase,
    Judged,
    RunFacts,
    blocks_of,
    last_look,
    looks_of,
    missing,
    servers_of,
    within,
)
from crumple.verdict.effect import Effect, VerdictWord
from crumple.verdict.evidence import SPEED, Evidence, place_of
from crumple.verdict.opinions import Noise

NOTHING_KNOWN = RunFacts()
FIXED: Mapping[str, Looks] = {}
DECIDED = (VerdictWord.SUPPORTED, VerdictWord.CONTRADICTED)
TOUCHED_BY_THE_ENGINE = (SPEED, "ns")
NO_HELP = "more blocks would not help"
# The share of cores in common that the engine must have taken for a verdict to say so.
TOOK_MUCH = 0.2

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
    """The answer of a run to a claim."""

    claim_id: str
    text: str
    kind: str
    answer: VerdictWord
    in_size_only: bool
    """The claimed direction holds, and only its size is refuted or undecided."""
    effects: tuple[Effect, ...]
    sentence: str
    trials: tuple[str, ...]
    """Ids of the trials that the answer rests on."""
    place: str = ""
    """Where the article makes the claim, empty if unknown."""
    conditions: tuple[str, ...] = ()
    """What the article leaves open, or what differs here."""
    blocks: int = 0
    """How many blocks there were at the look that gave the answer."""
    doubt: str = ""
    """A sentence that names the trials of which the engine may have been the limit, or empty.

    `sentence` ends with it.
    """


def judge(
    claim: Claim,
    figures: Sequence[Figures],
    failed: Mapping[str, str] | None = None,
    scale: str | None = None,
    facts: RunFacts = NOTHING_KNOWN,
    looks: Mapping[str, Looks] = FIXED,
) -> Verdict:
    """Return the verdict on `claim` from the figures of all measured trials of a run.

    `looks`: experiment → the looks at it; an experiment that is not named there is judged once, by all its
    blocks. The error is shared out over all looks, so what one of them has decided stays decided; the verdict
    is that of the last look that decides. `scale`: the run's scale; a claim that this scale cannot answer is
    not testable, however clear the figures. `failed`: id of each failed trial → why; failed trials have no
    figures, but their blocks count and they are named as reasons. `facts`: what no trial record holds. Raises
    KeyError for a metric or kind that does not exist; both are checked when a study is read.
    """
    known, memory = blocks_of(claim, figures, failed or {}, looks), dict[str, Any]()
    servers = servers_of(claim)

    def at(done: int) -> Verdict:
        most = None if known.looks == ONCE else done
        seen, why = within(most, known.experiments, figures, failed or {})
        look = Look(claim.confidence, done, known.looks, past=done < known.done)
        return at_look(claim, ClaimCase(seen, why, facts, look, memory, servers), known.early)

    last = at(known.done)
    if not known.looks.once and (failing := _failing(claim, known, figures, failed or {}, facts)):
        last = failing
    if scale is not None and scale not in claim.scales:
        return _at_other_scales(last, scale, claim.scales)
    # A server that fails is not ranked by its speed, even if an earlier look had decided the claim.
    if known.looks.once or last.answer in DECIDED or any(effect.refused for effect in last.effects):
        return last
    earlier = map(at, range(known.done - 1, known.looks.least - 1, -1))
    return next((verdict for verdict in earlier if verdict.answer in DECIDED), last)


def _failing(
    claim: Claim, known: ClaimBlocks, figures: Sequence[Figures], failed: Mapping[str, str], facts: RunFacts
) -> Verdict | None:
    """Return the verdict by all trials of the claim's servers if one of them fails too much in a later block.

    A block after the claim's last one has some of its servers if another claim uses them.
    """
    servers = servers_of(claim)
    if all(each.block <= known.done for each in figures if each.server in servers.get(each.experiment, ())):
        return None
    seen, why = within(None, known.experiments, figures, failed)
    found = at_look(claim, ClaimCase(seen, why, facts, Look(claim.confidence, known.done, known.looks)))
    return found if any(effect.refused for effect in found.effects) else None


def at_look(claim: Claim, case: ClaimCase, early: bool = False) -> Verdict:
    """Return the verdict at one look; `early`: before the first planned look, when nothing is decided."""
    judged = [*KINDS[claim.kind](claim, case)]
    effects = tuple(effect for effect, _ in judged)
    if early:
        effects = tuple(_too_early(effect, case.look) for effect in effects)
    answer = _together(claim, [effect.answer for effect in effects])
    open_ones = [effect for effect in effects if effect.answer is not VerdictWord.SUPPORTED]
    in_size_only = bool(open_ones) and all(effect.in_size_only for effect in open_ones)
    trials = tuple(sorted({trial for _, trials in judged for trial in trials}))
    # A past look that decided nothing is not shown, so it needs no sentence.
    unread = case.look.past and answer not in DECIDED
    doubt = "" if unread else _doubt(claim, answer, trials, case.figures)
    sentence = "" if unread else verdict_sentences.verdict(claim.kind, answer, in_size_only, effects)
    return Verdict(
        claim_id=claim.id,
        text=claim.text,
        kind=claim.kind,
        answer=answer,
        in_size_only=in_size_only,
        effects=effects,
        sentence=f"{sentence} {doubt}" if sentence and doubt else sentence,
        trials=trials,
        place=claim.place or "",
        conditions=claim.conditions,
        blocks=case.look.blocks,
        doubt=doubt,
    )


def _doubt(claim: Claim, answer: VerdictWord, trials: Iterable[str], figures: Iterable[Figures]) -> str:
    """Return a sentence that names the servers which the engine may have limited; or empty.

    A server is named if half of its trials or more carry a warning of that. Where the engine ran on the
    server's cores, the sentence says how much of them it took. The engine's limit affects throughput and
    times, and no other metric.
    """
    metric = getattr(claim, "metric", None)
    if (
        answer is VerdictWord.NOT_TESTABLE
        or metric is None
        or METRICS[metric].unit not in TOUCHED_BY_THE_ENGINE
    ):
        return ""
    seen = {trial.trial_id: trial for trial in figures}
    of: dict[str, list[Figures]] = {}
    for trial in (seen[key] for key in trials if key in seen):
        of.setdefault(trial.server, []).append(trial)
    counted = [(name, sum(each.maybe_engine_limited for each in own), len(own)) for name, own in of.items()]
    known = {
        name: [each.engine_took for each in own if each.engine_took is not None] for name, own in of.items()
    }
    took = {name: median(shares) for name, shares in known.items() if shares}
    sentences = (
        verdict_sentences.near_limit([each for each in counted if each[1] and 2 * each[1] >= each[2]]),
        verdict_sentences.took(took) if max(took.values(), default=0.0) >= TOOK_MUCH else "",
    )
    return " ".join(filter(None, sentences))


def noise_of(
    figures: Sequence[Figures], experiment: str, metric: str, looks: Mapping[str, Looks] = FIXED
) -> Noise:
    """Return how much starts of one server differ in `metric`, and the twins' ratio at the last look."""
    level = last_look(figures, experiment, looks, CONFIDENCE).level()
    return opinions.noise(Evidence(experiment, METRICS[metric], tuple(figures), {}), metric, level)


def _too_early(effect: Effect, look: Look) -> Effect:
    if effect.answer not in DECIDED and effect.direction is None:
        return effect
    reason = f"there are {look.blocks} blocks, and this scale judges from {look.looks.least} on"
    return replace(
        effect, answer=VerdictWord.UNDECIDED, direction=None, reason=reason, blocks_needed=look.looks.least
    )


def _at_other_scales(verdict: Verdict, scale: str, scales: Sequence[ScaleName]) -> Verdict:
    """Return the verdict on a claim that the study asks at these scales only; it shows no figure."""
    reason = verdict_sentences.why_unasked(scale, scales)
    untested = partial(
        replace, ratio=None, value=None, answer=VerdictWord.NOT_TESTABLE, direction=None, blocks_needed=None,
        reason=reason,
    )  # fmt: skip
    return replace(
        verdict,
        answer=VerdictWord.NOT_TESTABLE,
        in_size_only=False,
        effects=tuple(untested(effect) for effect in verdict.effects),
        sentence=f"Not testable here. {verdict_sentences.capital(reason)}.",
        trials=(),
        blocks=0,
        doubt="",
    )


def _together(claim: Claim, answers: Sequence[VerdictWord]) -> VerdictWord:
    """Return the claim's answer: contradicted, not testable or undecided if any comparison is, in that order.

    A share claim with `at_least` is supported by that many comparisons, and contradicted when fewer than that
    many are left that may support it.
    """
    if isinstance(claim, ShareClaim) and claim.at_least is not None:
        held, against = answers.count(VerdictWord.SUPPORTED), answers.count(VerdictWord.CONTRADICTED)
        if held >= claim.at_least:
            return VerdictWord.SUPPORTED
        if len(answers) - against < claim.at_least:
            return VerdictWord.CONTRADICTED
        open_ones = answers.count(VerdictWord.UNDECIDED)
        return VerdictWord.UNDECIDED if held + open_ones >= claim.at_least else VerdictWord.NOT_TESTABLE
    order = (VerdictWord.CONTRADICTED, VerdictWord.NOT_TESTABLE, VerdictWord.UNDECIDED)
    return next((answer for answer in order if answer in answers), VerdictWord.SUPPORTED)


@dataclass(frozen=True)
class Standing:
    """How far a claim has come."""

    claim_id: str
    servers: Mapping[str, frozenset[str]]
    """Experiment → the servers in it whose trials the claim uses; none for a cost of the machine."""
    over: bool
    """The claim is `decided`, or further blocks of these would not help."""
    blocks_needed: int | None
    """How many blocks each of them would have in all when the claim is probably decided, at 80 % power.

    None if it is decided, if the number is not known, or if it is more than the scale has even with the
    truth at the far end of an 80 % interval.
    """
    why: str
    """A clause."""
    decided: bool = False
    given_up: str = ""
    """A clause, why it gets no more blocks; empty if it is decided or open."""

    @property
    def experiments(self) -> tuple[str, ...]:
        """Return the experiments that the claim rests on."""
        return tuple(self.servers)

    @property
    def open(self) -> bool:
        """Whether it is known after how many further blocks the claim is probably decided."""
        return self.blocks_needed is not None and not self.over


def standing(
    study: Study, scale: ScaleName, figures: Sequence[Figures], failed: Mapping[str, str], facts: RunFacts
) -> list[Standing]:
    """Return the standing of every claim that the scale asks; `failed`: trial id → why.

    A claim is left out if it cannot be tested without servers that the study does not have.
    """
    looks = looks_of(study, scale)
    found = []
    for claim in study.claims:
        known = blocks_of(claim, figures, failed, looks)
        if scale not in claim.scales or not all(name in looks for name in known.experiments):
            continue
        every = [looks[name] for name in known.experiments]
        first = _first(every) if known.looks == ONCE else known.looks.least
        if known.done < first:
            # Before the first look the figures are not judged.
            why = f"it is judged from {first} blocks on, and there are {known.done}"
            found.append(Standing(claim.id, servers_of(claim), False, first, why))
            continue
        verdict = judge(claim, figures, failed, facts=facts, looks=looks)
        scales = {name: study.experiments[name].scales[scale] for name in known.experiments}
        if verdict.answer is VerdictWord.NOT_TESTABLE and missing(claim, study):
            continue
        ahead = outlook(verdict, known.done, scales, None if known.looks == ONCE else known.looks.most)
        decided = verdict.answer in DECIDED
        found.append(
            Standing(
                claim.id, servers_of(claim), ahead.over, ahead.needed, ahead.why, decided, ahead.given_up
            )
        )
    return found


def _first(looks: Sequence[Looks]) -> int:
    """Return after how many blocks a claim over experiments with these looks is first judged."""
    most = min((each.most for each in looks), default=0)
    several = [each.least for each in looks if not each.once]
    return min(most, max(several, default=most))


@dataclass(frozen=True)
class Ahead:
    """What a claim may still come to; the fields are those of `Standing`, `needed` its `blocks_needed`."""

    over: bool
    needed: int | None
    why: str
    given_up: str = ""


def outlook(verdict: Verdict, done: int, scales: Mapping[str, Scale], last: int | None = None) -> Ahead:
    """Return whether the claim is over, how many blocks it would take, and why.

    `scales`: by experiment; `last`: the claim is judged by no more blocks, even if some of its servers get
    more; None: by as many as each of its comparisons has.
    """
    if verdict.answer in DECIDED:
        return Ahead(True, None, f"{verdict.answer} by {verdict.blocks} blocks")
    open_ones = [effect for effect in verdict.effects if effect.answer is verdict.answer]
    ends = [most_of(effect, scales) for effect in open_ones]
    ends = ends if last is None else [min(most, last) for most in ends]
    why, had_all = open_ones[0].reason, all(done >= most for most in ends)
    if verdict.answer is VerdictWord.NOT_TESTABLE:
        if not all(effect.more_may_help for effect in open_ones):
            return Ahead(True, None, why, f"{NO_HELP}: {why}")
        if all(done < most for most in ends):
            return Ahead(False, done + 1, why)
        return Ahead(True, None, why, _no_more(max(ends)))
    needed = [_needed(effect, done, most) for effect, most in zip(open_ones, ends, strict=True)]
    numbers = [each for each in needed if each is not None]
    if had_all:
        return Ahead(True, None, why, _no_more(max(ends)))
    if not numbers:
        return Ahead(False, None, why, _too_many(open_ones, max(ends)))
    # If one comparison cannot be decided, another may still contradict the claim, so the fewest blocks count.
    of_all = max if len(numbers) == len(needed) else min
    return Ahead(False, of_all(numbers), why)


def _no_more(most: int) -> str:
    return f"it has had all {most} blocks of this scale" if most else "it is not measured in blocks"


def _too_many(open_ones: Sequence[Effect], most: int) -> str:
    if all(effect.blocks_needed is None for effect in open_ones):
        return "how many blocks would decide it is not known, or more than 100"
    return f"it would take more than the {most} blocks of this scale"


def _needed(effect: Effect, done: int, most: int) -> int | None:
    """Return how many blocks in all the effect needs, including those that do not count.

    Of the blocks to come, as large a share is expected to count as of those done. Return `most` if that is
    enough only if all of them count, or with the truth at the far end of its 80 % interval; None if `most` is
    not enough even then, or the number is not known.
    """
    counted = effect.measured.n if effect.measured else done
    # One more that counts is added on both sides: with none so far the share would be 0.
    share = (counted + 1) / (done + 1)
    needed, hoped = effect.blocks_needed, effect.blocks_hoped
    if needed and (expected := done + math.ceil(max(0, needed - counted) / share)) <= most:
        return expected
    # What disturbed the trials so far may be over, so blocks that did not count are no reason to give up.
    return most if hoped and done < most and done + max(0, hoped - counted) <= most else None


def most_of(effect: Effect, scales: Mapping[str, Scale]) -> int:
    """Return in how many blocks all of the effect's servers take part; 0 for a cost of the machine."""
    places = [place_of(name, "") for name in (effect.of, effect.to) if name]
    shared = (
        scale.blocks_for(place.server)
        for place in places
        for name, scale in scales.items()
        if not place.experiment or place.experiment == name
    )
    return min(shared, default=0)
