"""The answer of a study: what was found about its question, the greatest surprise, and how sure that is.

The study names the claims that answer its question; what is found comes from these. Of several studies the
one with the greatest surprise comes first. Pure.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crumple.drawing import numerals
from crumple.drawing.report_parts import Phrase, Span, Tone, Words, join, plain, sure
from crumple.model_map import map_words
from crumple.run.report import map_of_view, run_sentences
from crumple.run.report.findings import ClaimResult, findings
from crumple.run.report.not_judged import disturbed, programs
from crumple.run.report.view import RunView
from crumple.verdict.case import experiments_of
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import DECIDED, most_of
from crumple.verdict.verdict_sentences import VAGUE, enumerate_parts

# Badge → its sign and tone, in the order of reports: what contradicts an article comes first.
MARKS: Mapping[str, tuple[str, Tone]] = {
    "contradicted": ("✗", "bad"),
    "contradicted in size only": ("↗", "doubtful"),
    "supported": ("✓", "good"),
    "undecided in size only": ("~", "open"),
    "undecided": ("?", "open"),
    "not testable here": ("–", "dim"),
}
NO_BADGE: tuple[str, Tone] = ("–", "dim")
# An answer tells two claims, and the greatest surprise as its third sentence: more would not be read.
TOLD_MAX = 2
# The order in which claims answer: one that is open answers only where too few are decided.
_ORDER = (*DECIDED, VerdictWord.UNDECIDED)


@dataclass(frozen=True)
class StudyAnswer:
    """The answer of a study."""

    view: RunView
    badge: str
    """The answer to the claim of the first sentence, empty if no claim was asked."""
    of_question: tuple[Words, ...]
    """One sentence or two: what answers the question."""
    surprise: tuple[Words, ...]
    """The greatest surprise in a sentence, if that is another claim."""
    sure: Phrase
    """How sure that is, and why."""
    rank: tuple[int, int, bool, float]
    """The sort key, surprises first."""

    @property
    def found(self) -> tuple[Words, ...]:
        """At most three sentences: what answers the question, then the greatest surprise."""
        return self.of_question + self.surprise

    @property
    def said(self) -> str:
        """The sentences."""
        return " ".join(map(plain, self.found))


def answers(views: Sequence[RunView]) -> list[StudyAnswer]:
    """Return the answer of each study, surprises first; equal ones in the order of the studies."""
    return sorted((answer(view) for view in views), key=lambda each: each.rank)


def answer(view: RunView) -> StudyAnswer:
    """Return the answer of one study."""
    if (drawn := map_of_view.drawn(view)) is not None:
        how = sure(*map_words.how_known(drawn), f"{map_words.sure(drawn)} {run_sentences.LOOPBACK}")
        return StudyAnswer(view, "", tuple(map_words.of_map(drawn)), (), how, (len(_ORDER), 0, False, 0.0))
    found = findings(view)
    told = _told(view, found)
    surprise = _surprise(found)
    said = [_sentence(each, view) for each in told] or [_unanswered(view, found)]
    others: tuple[Words, ...] = ()
    if surprise is not None and surprise not in told:
        others = (join("A surprise: ", _sentence(surprise, view)),)
    unsaid = [each for each in found if each is not surprise and each not in told]
    lead = surprise or next(iter(told), None)
    badge = run_sentences.answer(told[0].verdict) if told else ""
    if not told and found:
        badge = VerdictWord.NOT_TESTABLE.value
    rank = (_ORDER.index(lead.verdict.answer), *lead.rank) if lead else (len(_ORDER), 0, False, 0.0)
    if surprise:
        rank = (-1, *surprise.rank)
    return StudyAnswer(view, badge, tuple(said), others, _sure(view, told, found, unsaid), rank)


def _told(view: RunView, found: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Return the judged claims that answer the question: contradicted ones first, then other decided ones."""
    named, badges = view.run.study.answers, [*MARKS]
    if named:
        own = sorted(
            (each for each in found if each.claim.id in named),
            key=lambda one: (badges.index(run_sentences.answer(one.verdict)), named.index(one.claim.id)),
        )
    else:
        own = sorted(found, key=lambda one: (one.verdict.answer is not VerdictWord.CONTRADICTED, *one.rank))
    decided = [each for each in own if each.verdict.answer in DECIDED]
    # Of open claims the one that needs the fewest blocks says most.
    still = [each for each in own if each.verdict.answer is VerdictWord.UNDECIDED]
    still.sort(key=lambda each: (each.lead and each.lead.blocks_needed) or math.inf)
    return [*decided, *still][:TOLD_MAX]


def _surprise(found: Sequence[ClaimResult]) -> ClaimResult | None:
    against = [each for each in found if each.verdict.answer is VerdictWord.CONTRADICTED]
    return min(against, key=lambda each: each.rank, default=None)


def _sentence(each: ClaimResult, view: RunView) -> Words:
    """Return "Go is 3.5 times as fast as Express; the article has 5.8 (TJ-4 ✗ contradicted)."."""
    badge = run_sentences.answer(each.verdict)
    sign, tone = MARKS[badge]
    is_open = each.verdict.answer is VerdictWord.UNDECIDED
    would = f"; {_would_take(each, view)}" if is_open else ""
    claim = Span(each.claim.id, link=f"#{each.claim.id}")
    return join(f"{each.sentence}{would} (", claim, " ", Span(f"{sign} {badge}", tone), ").")


def _would_take(lead: ClaimResult, view: RunView) -> str:
    """Return how many blocks would decide an undecided claim, and whether its scale has that number."""
    effect = lead.lead
    if effect is None or effect.blocks_needed is None or effect.measured is None:
        return "how many blocks would decide it is not known"
    needed = f"about {effect.blocks_needed} blocks would decide it"
    scales = {
        name: view.run.study.experiments[name].scales[view.run.scale] for name in experiments_of(lead.claim)
    }
    most = most_of(effect, scales)
    lost = max(0, lead.verdict.blocks - effect.measured.n)
    if any(each.least_blocks for each in scales.values()) and effect.blocks_needed + lost > most:
        return f"{needed}, and this scale has {most} at most"
    return f"{needed}, {effect.blocks_needed - effect.measured.n} more"


def _unanswered(view: RunView, found: Sequence[ClaimResult]) -> str:
    """Return why no claim that answers the question could be judged."""
    if not found:
        return run_sentences.summary(view)
    named = [each for each in found if each.claim.id in view.run.study.answers] or found
    first, *others = named
    more = f", nor could {enumerate_parts([each.claim.id for each in others])}" if others else ""
    return f"Not answered yet: “{first.claim.text.rstrip('.')}” ({first.claim.id}) could not be judged{more}."


def _sure(
    view: RunView, told: Sequence[ClaimResult], found: Sequence[ClaimResult], unsaid: Sequence[ClaimResult]
) -> Phrase:
    """Return a word on how sure the answer is, and on what it rests."""
    reasons = [*_blocks(told), _trials(view), *_sees(view, told)]
    decided = [each for each in told if each.verdict.answer in DECIDED]
    named = view.run.study.answers or [each.claim.id for each in found]
    left = [each for each in found if each.claim.id in named and each.verdict.answer not in DECIDED]
    untested = [each for each in left if each.verdict.answer is VerdictWord.NOT_TESTABLE]
    still_open = [each for each in left if each not in untested]
    if not decided:
        word: tuple[str, Tone] = ("Not judged", "bad") if not told else ("Not decided", "doubtful")
    else:
        word = ("Partly sure", "doubtful") if left else ("Sure", "good")
    if decided and untested:
        reasons.insert(0, f"{enumerate_parts([each.claim.id for each in untested])} could not be judged")
    if decided and still_open:
        reasons.insert(0, f"{_are(still_open)} open")
    for badge in (each for each in MARKS if each.startswith(VerdictWord.CONTRADICTED)):
        against = [each for each in unsaid if run_sentences.answer(each.verdict) == badge]
        if also := [each for each in against if each.claim.id in view.run.study.answers]:
            reasons.insert(0, f"{_are(also)} also {badge}")
    return sure(*word, f"{'; '.join(reasons)}. {run_sentences.LOOPBACK}")


def _are(claims: Sequence[ClaimResult]) -> str:
    """Return the subject and verb of a clause: "TJ-1 is", "TJ-1 and TJ-4 are"."""
    return f"{enumerate_parts([each.claim.id for each in claims])} {'is' if len(claims) == 1 else 'are'}"


def _trials(view: RunView) -> str:
    """Return how many planned trials count, and in how many others took too much for some figures."""
    counting = [start for start in view.starts if start.counts]
    said = f"{len(counting)} of {numerals.count(len(view.starts) + view.left_out, 'trial')} count"
    some = disturbed(counting)
    which = "all of them" if len(some) == len(counting) else f"{len(some)} of them"
    return f"{said}; {programs(some)} disturbed {which}, so not every figure counts" if some else said


def _blocks(told: Sequence[ClaimResult]) -> Iterator[str]:
    numbers = sorted({each.verdict.blocks for each in told if each.verdict.blocks})
    if numbers:
        yield (
            numerals.count(numbers[0], "block")
            if len(numbers) == 1
            else f"{numbers[0]} to {numbers[-1]} blocks"
        )
    if any(each.lead is not None and each.lead.is_vague for each in told):
        yield VAGUE


def _sees(view: RunView, told: Sequence[ClaimResult]) -> Iterator[str]:
    """Yield the greatest of the differences in throughput that the claims' experiments could see."""
    names = {name for each in told for name in experiments_of(each.claim)}
    seen = [run_sentences.visible_ratio(each) for each in view.experiments if each.name in names]
    known = [ratio for ratio in seen if ratio is not None and ratio <= run_sentences.BEYOND_MEASURE]
    if known:
        yield f"a difference of {run_sentences.difference(max(known))} in throughput would be seen"
