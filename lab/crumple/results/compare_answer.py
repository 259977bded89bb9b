"""The answer of a comparison of results: both values of what changed, and how sure that is. Pure."""

import math
from collections.abc import Callable, Iterator, Sequence

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
# How values of these units are shown, as tables of loads show them.
SHOWN: dict[str, Callable[[float], str]] = {
    "requests/s": numerals.rate,
    "ns": numerals.duration,
    "µs": lambda number: numerals.duration(1e3 * number),
    "bytes": numerals.size,
    "share": numerals.share,
}
# A sentence names this many figures; more are counted.
NAMED_MAX = 4
NO_ALARM = "of results that are alike, at most one comparison in twenty calls a figure slower"


def of(compared: ResultComparison, picture: Charts | None) -> Answer:
    """Return the answer."""
    return Answer(
        asked=f"What changed from {compared.comparison.before} to {compared.comparison.after}?",
        found=[sentence(said) for said in found(compared)],
        sure=how_sure(compared),
        subjects=[subject] if (subject := only_subject(compared)) else [],
        picture=picture,
    )


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
    """Return a figure before and after: "p99 43.5 ms → 62.0 ms (1.43 times, 1.30 – 1.56)"."""
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
        return numerals.rate(number)
    unit = METRICS[each.metric].unit
    return SHOWN[unit](number) if unit in SHOWN else verdict_sentences.amount(number, unit)


def _factor(ratio: Interval) -> str:
    """Return a ratio with its ends, told from its larger side."""
    low, high = ratio.low, ratio.high
    if ratio.estimate < 1:
        low, high = 1 / high if high else 0.0, 1 / low if low else math.inf
    larger = Interval(max(ratio.estimate, 1 / ratio.estimate), low, high, ratio.confidence, ratio.n)
    return f"{numerals.estimate(larger)} times, {numerals.ends(larger, whole=True)}"


def how_sure(compared: ResultComparison) -> Phrase:
    """Return how sure it is, and why; if nothing was judged, what would decide it."""
    differences = compared.comparison.differences
    if why := why_undecided(compared):
        return sure("not judged", "doubtful", why.removeprefix("nothing was judged: "))
    reasons = "; ".join([*_visible(differences), NO_ALARM])
    if compared.comparison.slower:
        return sure("slower", "bad", reasons)
    is_faster = any(each.change == "faster" for each in differences)
    return sure(*(("faster", "good") if is_faster else ("no change seen", "plain")), reasons)


def _visible(differences: Sequence[Difference]) -> Iterator[str]:
    """Yield which changes would have been seen."""
    seen = [each.visible for each in differences if each.visible is not None and math.isfinite(each.visible)]
    if seen:
        least, most = change(min(seen)), change(max(seen))
        span = least if least == most else f"{least} to {most}, by figure,"
        yield f"a change above {span} would have been seen in four cases of five"


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
