"""The answer of a comparison of results: both values of what changed, and how sure that is. Pure."""

import math
import re
from collections.abc import Iterator, Sequence

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.drawing.report_parts import Answer, Charts, Phrase, sentence, sure
from crumple.record.metrics import METRICS
from crumple.results.comparing import VERSUS, ResultComparison
from crumple.run.report.run_sentences import difference as change
from crumple.stats.interval import Interval
from crumple.verdict import points, verdict_sentences
from crumple.verdict.comparison import ANOTHER, ChangeWord, Difference

# Figures by the names that tables of loads have for them.
SHORT = {
    "response_p50": "median",
    "response_p90": "p90",
    "response_p99": "p99",
    points.METRIC: "breaking point",
}
# A sentence names this many figures; more are counted.
NAMED_MAX = 4
NO_ALARM = "where nothing changed, at most one comparison in twenty calls a figure slower"
# From this factor on, and below its inverse, a change is told as a factor: as per cent it is hard to read.
AS_FACTOR = 2.0
# Behind a colon of a caution stands what follows of it, which the page says below.
_AFTER_THE_FACT = re.compile("[:;] ")
# When a side was measured, behind its name.
_WHEN = re.compile(r": ([^:]*:\d\d UTC)")


def of(compared: ResultComparison, picture: Charts | None) -> Answer:
    """Return the answer."""
    return Answer(
        asked=asked(compared),
        found=[sentence(said) for said in found(compared)],
        sure=how_sure(compared),
        subjects=[subject] if (subject := only_subject(compared)) else [],
        picture=picture,
    )


def asked(compared: ResultComparison) -> str:
    """Return what was asked, in a sentence: results by their names, and by their times if these are alike."""
    before, after = compared.comparison.before, compared.comparison.after
    when = [found[1] for each in compared.measured if (found := _WHEN.search(each))]
    if before == after and len(set(when)) > 1:
        before, after = (f"{before} of {each}" for each in when[:2])
    return f"What changed from {before} to {after}?"


def only_subject(compared: ResultComparison) -> str:
    """Return what all figures are of; empty: of several."""
    places = {(each.experiment, each.server) for each in compared.comparison.differences}
    return next(iter(places))[1] if len(places) == 1 else ""


def title(compared: ResultComparison) -> str:
    """Return the result in a few words."""
    return found(compared)[0].replace(NARROW, " ")


def found(compared: ResultComparison) -> list[str]:
    """Return what is slower, what is faster, and all else: a sentence each, with the values of both."""
    differences = compared.comparison.differences
    of = {word: [each for each in differences if each.change == word] for word in WORDS}
    slower, faster, before, unknown = (_listed(compared, word, of[word]) for word in WORDS)
    rest = "; ".join(filter(None, [before, unknown]))
    said = [each for each in (slower, faster, rest) if each]
    return said or ["nothing could be compared"]


# Each answer to whether a figure changed, as a sentence of it begins.
WORDS: dict[ChangeWord, str] = {
    "slower": "slower",
    "faster": "faster",
    "as before": "within chance",
    "not known": "not judged",
}


def _listed(compared: ResultComparison, word: ChangeWord, every: Sequence[Difference]) -> str:
    """Return the figures to which the same happened; of many that did not change only their number."""
    changed = word in ("slower", "faster")
    if not every:
        return ""
    if not changed and len(every) > NAMED_MAX:
        return f"{WORDS[word]}: {numerals.count(len(every), 'figure')}"
    named = [told(compared, each) for each in every[:NAMED_MAX]]
    more = [f"{len(every) - NAMED_MAX} more"] if len(every) > NAMED_MAX else []
    return f"{WORDS[word]}: {', '.join([*named, *more])}"


def told(compared: ResultComparison, each: Difference) -> str:
    """Return a figure before and after: "p99 43.5 ms → 62.0 ms (+43 %, +30 to +56)"."""
    of = "" if only_subject(compared) else f"{each.server} "
    was, now = (value(compared, each, number) for number in (each.was, each.now))
    is_shown = each.ratio is not None and each.change in ("slower", "faster") and not each.limit
    factor = f" ({_factor(each.ratio)})" if is_shown and each.ratio is not None else ""
    return f"{of}{name(each)} {was} → {now}{factor}"


def name(each: Difference) -> str:
    """Return a figure's name within a sentence."""
    return SHORT.get(each.metric) or METRICS[each.metric].phrase


def value(compared: ResultComparison, each: Difference, number: float | None) -> str:
    """Return a figure with its unit; of comparisons of versions it is a ratio."""
    if number is None:
        return numerals.ABSENT
    if compared.kind == "versus":
        return f"{numerals.significant(number)} times"
    if each.metric == points.METRIC:
        by_rate = all(search.by_rate for side in compared.searches for search in side)
        return numerals.rate(number) if by_rate else numerals.count(round(number), "connection")
    unit = METRICS[each.metric].unit
    worded = numerals.IN_WORDS.get(unit)
    return worded(number) if worded else verdict_sentences.amount(number, unit)


def _factor(ratio: Interval) -> str:
    """Return a ratio with its ends, as it rose or fell: "−17 %, −19 to −14", "2.1 times less, 1.9 – 2.3"."""
    if ratio.estimate in (0.0, math.inf) or not 1 / AS_FACTOR < ratio.estimate < AS_FACTOR:
        low, high = ratio.low, ratio.high
        is_less = 0 < ratio.estimate < 1
        if is_less:
            low, high = 1 / high if high else 0.0, 1 / low if low else math.inf
        estimate = 1 / ratio.estimate if is_less else ratio.estimate
        larger = Interval(estimate, low, high, ratio.confidence, ratio.n)
        word = "times less" if is_less else "times as much"
        return f"{numerals.estimate(larger)} {word}, {numerals.ends(larger, whole=True)}"
    if not numerals.bounded(ratio):
        return f"{_per_cent(ratio.estimate)}{NARROW}%, {numerals.ends(ratio)}"
    middle, least, most = map(_per_cent, (ratio.estimate, ratio.low, ratio.high))
    return f"{middle}{NARROW}%, {least} to {most}"


def _per_cent(ratio: float) -> str:
    """Return a ratio as per cent that are added or taken away: 0.831 → "−17", 1.043 → "+4.3"."""
    change = 100 * (ratio - 1)
    sign = "+" if change > 0 else "−" if change < 0 else ""
    return f"{sign}{numerals.significant(abs(change), 2)}"


def how_sure(compared: ResultComparison) -> Phrase:
    """Return how sure it is, and why; if nothing was judged, what would decide it."""
    differences = compared.comparison.differences
    if why := why_undecided(compared):
        return sure("not judged", "doubtful", why.removeprefix("nothing was judged: "))
    reasons = "; ".join([*_first_caution(compared), *_visible(differences), NO_ALARM])
    if compared.comparison.slower:
        return sure("slower", "bad", reasons)
    is_faster = any(each.change == "faster" for each in differences)
    return sure(*(("faster", "good") if is_faster else ("no change seen", "plain")), reasons)


def _first_caution(compared: ResultComparison) -> Iterator[str]:
    """Yield the first thing that makes it doubtful, and how many more there are."""
    if cautions := compared.comparison.cautions:
        more = f" and {numerals.count(len(cautions) - 1, 'more warning')}" if len(cautions) > 1 else ""
        yield f"but {_AFTER_THE_FACT.split(cautions[0])[0]}{more}"


def _visible(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield which change would have been seen in every figure."""
    seen = [each.visible for each in differences if each.visible is not None and math.isfinite(each.visible)]
    if seen:
        yield f"a change above {change(max(seen))} would have been seen in four cases of five"


def why_undecided(compared: ResultComparison) -> str:
    """Return why nothing was judged, and what would decide it; empty if something was."""
    found = compared.comparison
    if any(each.change != "not known" for each in found.differences):
        return ""
    if found.other_machine and any(each.reason == ANOTHER for each in found.differences):
        how = "; ".join(found.other_machine)
        return (
            f"nothing was judged: the machine is another ({how}); measure both on one machine, or say "
            "--any-machine"
        )
    if not found.differences:
        return "nothing could be compared: no server has figures of the same experiment in both runs"
    if compared.kind == "run":
        # A ratio of which only a bound is known is not judged, and is compared.
        bound = any(each.limit for each in found.differences)
        return "" if bound else f"nothing could be compared: {found.differences[0].reason}"
    return f"nothing was judged: {found.differences[0].reason}; {VERSUS}"
