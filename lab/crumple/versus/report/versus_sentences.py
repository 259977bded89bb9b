"""A comparison in words. Pure."""

import math
import re
from collections.abc import Iterator, Sequence

from crumple.drawing import numerals
from crumple.stats.interval import Interval
from crumple.versus import lengths
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.standing import CONFIDENCE, Figure, Ratio
from crumple.versus.turn import VersusBlock

# As a label of a version that is built from a commit ends.
COMMIT = re.compile(r" \([0-9a-f]{7,}\)")
NAMES: dict[Figure, str] = {
    "p50": "median",
    "p90": "p90",
    "p99": "p99",
    "throughput": "throughput",
    "cpu": "CPU per request",
}
_AT: dict[Figure, str] = {"p50": "at the median", "p90": "at p90", "p99": "at p99"}


def question(result: VersusFigures) -> str:
    """What was compared, in a line: "A :8080, B :8081".

    Without the hashes of commits: a history keeps the name of a branch, which stays the same.
    """
    return COMMIT.sub("", ", ".join(f"{letter} {label}" for letter, label in result.labels.items()))


def headlines(result: VersusFigures) -> str:
    """What every version is beside A, in a line; first, that one was lost, if one was."""
    found = "; ".join(headline(result, letter) for letter in result.others)
    return f"{result.compared.gone}; {found}" if result.compared.gone else found


def headline(result: VersusFigures, letter: str) -> str:
    """What a version is beside A: "B answers 1.18 times as fast as A at the median (…); p99 undecided"."""
    if not result.compared.gone:
        return _beside(result, letter)
    blocks = len(result.compared.blocks)
    return (
        f"{_beside(result, letter)}, by the {numerals.count(blocks, 'block')} before that"
        if blocks
        else (f"nothing was compared of {letter} and {FIRST}")
    )


def _beside(result: VersusFigures, letter: str) -> str:
    found = differences(result, letter)
    alike, open_ones = result.answered(letter, "alike"), result.answered(letter, "undecided")
    if found:
        return "; ".join([difference(found[0]), *_also(found[1:]), *_undecided(open_ones)])
    if alike and not open_ones:
        return f"{letter} and {FIRST} are alike: no figure differs by {tolerance(result)} or more"
    if alike:
        return f"{letter} and {FIRST} are alike in {listed(alike)}; {listed(open_ones)} undecided"
    return undecided(letter)


def undecided(letter: str) -> str:
    """That no figure of a version is decided."""
    return f"whether {letter} is better or worse than {FIRST} is not decided"


def differences(result: VersusFigures, letter: str) -> list[Ratio]:
    """The figures in which a version differs, the strongest difference first."""
    return sorted(result.answered(letter, "different"), key=_strength, reverse=True)


def _strength(ratio: Ratio) -> float:
    return 0.0 if ratio.interval is None else abs(math.log(ratio.interval.estimate))


def difference(ratio: Ratio) -> str:
    """A difference, told from its larger side: "B takes 1.10 times as long as A at p99 (1.04 – 1.16)"."""
    assert ratio.interval is not None
    is_more = ratio.interval.estimate >= 1
    interval = ratio.interval if is_more else inverse(ratio.interval)
    if ratio.figure in _AT:
        verb, than = ("takes", "as long as") if is_more else ("answers", "as fast as")
        return f"{ratio.letter} {verb} {_times(interval, f'{than} {FIRST} {_AT[ratio.figure]}')}"
    more, less = (ratio.letter, FIRST) if is_more else (FIRST, ratio.letter)
    if ratio.figure == "throughput":
        return f"{more} answers {_times(interval, f'as many requests per second as {less}')}"
    return f"{more} uses {_times(interval, f'as much CPU time per request as {less}')}"


def verdict(ratio: Ratio) -> str:
    """The answer in the words of a table: "B faster", "alike", "undecided"."""
    if ratio.answer != "different" or ratio.interval is None:
        return ratio.answer
    more = ratio.interval.estimate > 1
    if ratio.figure == "cpu":
        return f"{ratio.letter} uses {'more' if more else 'less'}"
    if ratio.figure == "throughput":
        return f"{ratio.letter} answers {'more' if more else 'fewer'}"
    return f"{ratio.letter} {'slower' if more else 'faster'}"


def value(figure: Figure, number: float | None) -> str:
    """A figure of a version with its unit."""
    if figure == "throughput":
        return numerals.rate(number)
    return numerals.duration(number)


def facts(result: VersusFigures) -> list[tuple[str, str]]:
    """What was done, and how it ended."""
    return [("loads", _loads(result)), ("blocks", _blocks(result)), ("ended", reason_of_end(result))]


def reason_of_end(result: VersusFigures) -> str:
    """Why there was no further block."""
    compared = result.compared
    if compared.ending == "decided":
        return "everything is decided"
    if compared.ending == "no use":
        return "what is undecided would probably stay so within the budget"
    if compared.ending == "interrupted":
        return "interrupted: this is what was measured until then"
    if compared.ending == "gone":
        return f"{compared.gone}; this is what was measured until then"
    most = compared.rule.looks.most if compared.rule else 0
    if len(compared.blocks) >= lengths.MOST == most:
        return f"{most} blocks are the most there are"
    return "the budget was used up"


def circumstances(result: VersusFigures) -> list[str]:
    """How long it took, and with which seed."""
    took = numerals.seconds(result.compared.took_s)
    rate = result.compared.rate_per_s
    at = [f"response times at {numerals.rate(rate)}"] if rate else []
    return [*at, numerals.count(len(result.compared.blocks), "block"), took, f"seed {result.loads.seed}"]


READING = (
    "The ratio is that of the version to the mean of A and its twin in the same block. The intervals of all "
    f"figures and versions hold together, at whichever block one looked, in {CONFIDENCE:.0%} of comparisons. "
    "Different: the whole interval lies on one side of 1. Alike: all of it lies within the tolerance."
)


def larger(worse_by: Interval) -> str:
    """How much worse or better, from the larger side, with its ends: "1.51 times worse [1.42 – 1.61]"."""
    told = worse_by if worse_by.estimate >= 1 else inverse(worse_by)
    times = f"{numerals.estimate(told)} times {side(worse_by.estimate)}"
    return f"{times} [{numerals.ends(told, of='block')}]"


def factor(value: float) -> str:
    """A factor of one block told from its larger side: "1.51 times worse"."""
    return f"{numerals.significant(max(value, 1 / value))} times {side(value)}"


def side(worse_by: float) -> str:
    """On which side of alike a factor lies, of which those above 1 are worse."""
    return "worse" if worse_by > 1 else "better"


def worse(ratio: Ratio) -> Interval | None:
    """By which factor the version is worse than the first, below 1: better; None: that is not known."""
    interval = ratio.interval
    return inverse(interval) if interval is not None and is_better_with_more(ratio) else interval


def is_better_with_more(ratio: Ratio) -> bool:
    """Whether more of its figure is better."""
    return ratio.figure == "throughput"


def inverse(interval: Interval) -> Interval:
    """The reciprocal."""
    low = 1 / interval.high if interval.high else 0.0
    high = 1 / interval.low if interval.low else float("inf")
    return Interval(1 / interval.estimate, low, high, interval.confidence, interval.n)


def _times(interval: Interval, what: str) -> str:
    return f"{numerals.estimate(interval)} times {what} ({numerals.ends(interval, whole=True)})"


def _also(different: list[Ratio]) -> Iterator[str]:
    """Yield in what else it is better, and in what worse, each with its factor."""
    found = [(NAMES[each.figure], by) for each in different if (by := worse(each)) is not None]
    for word in ("better", "worse"):
        told = [f"{name} {_times_of(by)}" for name, by in found if side(by.estimate) == word]
        if told:
            yield f"{word}, too: {', '.join(told)}"


def _times_of(worse_by: Interval) -> str:
    told = worse_by if worse_by.estimate >= 1 else inverse(worse_by)
    return f"{numerals.estimate(told)} times"


def _undecided(ratios: list[Ratio]) -> Iterator[str]:
    if ratios:
        yield f"{listed(ratios)} undecided"


def listed(ratios: list[Ratio]) -> str:
    names = [NAMES[each.figure] for each in ratios]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def tolerance(result: VersusFigures) -> str:
    return numerals.share(result.loads.tolerance)


def _loads(result: VersusFigures) -> str:
    loads, compared = result.loads, result.compared
    if compared.lengths is None or compared.rule is None:
        return "none was put on"
    share = f", {numerals.share(loads.share)} of what the slowest takes" if loads.rate_per_s is None else ""
    arrivals = "Poisson arrivals" if loads.arrivals == "poisson" else "even gaps"
    at_rate = (
        f"{numerals.rate(compared.rate_per_s)}{share}, {arrivals}, for {_seconds(compared.lengths.rate_s)}"
    )
    closed = f"{numerals.count(loads.connections, 'connection')} for {_seconds(compared.lengths.closed_s)}"
    return f"response times at {at_rate}; throughput and CPU with {closed}"


def _seconds(value: float) -> str:
    return numerals.seconds(value)


def _blocks(result: VersusFigures) -> str:
    done = numerals.count(len(result.compared.blocks), "block")
    starts = set(result.afresh.values())
    how = "each turn a fresh start" if starts == {True} else "processes that ran already"
    if starts == {True, False}:
        how = (
            f"fresh starts of {', '.join(letter for letter, is_new in result.afresh.items() if is_new)} only"
        )
    took = numerals.seconds(result.compared.took_s)
    return f"{done} of {len(result.labels) + 1} turns in {took}; {how}"


def blocks_counted(result: VersusFigures) -> str:
    """How many blocks there were, and how many turns of them count in full."""
    turns = [turn for block in result.compared.blocks for turn in block.turns]
    counting = sum(not turn.against for turn in turns)
    whole = "" if counting == len(turns) else " in full"
    blocks = numerals.count(len(result.compared.blocks), "block")
    return f"{counting or 'none'} of {len(turns)} turns count{whole}, in {blocks}"


def control(result: VersusFigures) -> str:
    """A beside its twin, by the rule that versions are compared by, at the looks that count."""
    ratios = result.compared.ratios
    twins = {each.figure: each.twin for each in ratios if each.twin is not None}
    if not twins:
        return ""
    # The twin's ratio is that of the same blocks for every version.
    apart = dict.fromkeys(each.figure for each in ratios if each.twin_differs)
    if not apart:
        return f"{FIRST} beside itself ({TWIN}) differs in no figure, as it should"
    said = ", ".join(
        f"{NAMES[figure]} {numerals.with_interval(twins[figure], of='block')}" for figure in apart
    )
    return f"{FIRST} differs from itself ({TWIN}): {said}; so nothing is said of that"


def without_ratio(result: VersusFigures) -> str:
    """Why figures have no ratio, which the table leaves out: each reason once, with its figures."""
    figures: dict[str, dict[Figure, Ratio]] = {}
    for ratio in result.compared.ratios:
        if ratio.interval is None:
            figures.setdefault(ratio.why, {}).setdefault(ratio.figure, ratio)
    every = {ratio.figure for ratio in result.compared.ratios}
    told = []
    for why, of in figures.items():
        most = max(len(result.by_block(each.letter, figure)) for figure, each in of.items())
        which = "" if of.keys() == every else f"{listed([*of.values()])}: "
        told.append(f"{which}{why}, and {('none does', 'one does')[most]}" if most < 2 else f"{which}{why}")
    return "; ".join(told)


def so_far_apart(result: VersusFigures, letter: str) -> str:
    """The values of figures without ratio, as far as there are any: "so far median 6.13 ms → 30.6 ms"."""
    told = []
    for each in result.answered(letter, "undecided"):
        was, now = (result.value(one, each.figure) for one in (FIRST, letter))
        if each.interval is None and was is not None and now is not None:
            told.append(f"{NAMES[each.figure]} {value(each.figure, was)} → {value(each.figure, now)}")
    return f"so far {', '.join(told)}" if told else ""


def to_decide(result: VersusFigures) -> str:
    """How many blocks would decide the rest, and how long they take."""
    compared = result.compared
    left = [each for each in compared.ratios if each.answer == "undecided" and each.needed is not None]
    if not left or not compared.blocks or compared.lengths is None:
        return ""
    least = min(left, key=lambda each: each.needed or 0)
    took_s = (least.needed or 0) * compared.lengths.block_s
    figure = f"{NAMES[least.figure]} of {least.letter}" if len(result.others) > 1 else NAMES[least.figure]
    return f"{figure} takes about {numerals.count(least.needed or 0, 'block')}: --budget {_budget(took_s)}"


def _budget(seconds: float) -> str:
    """A budget that suffices, as it is typed: whole minutes, rounded up."""
    return f"{int(seconds // 60) + 2}m"


def so_far(ratios: Sequence[Ratio]) -> str:
    """All comparisons on one line, after a block: "B ÷ A  median 1.17 different, p99 1.05"."""
    parts = []
    for letter in dict.fromkeys(each.letter for each in ratios):
        own = [each for each in ratios if each.letter == letter]
        parts.append(f"{letter} ÷ {FIRST}  {', '.join(map(_short, own))}")
    return ";  ".join(parts)


def left_out_turns(block: VersusBlock) -> str:
    """How many of the block's turns do not count in full; empty: all do."""
    left = sum(bool(each.against) for each in block.turns)
    return f"  ({left} of {len(block.turns)} turns do not count in full)" if left else ""


def _short(ratio: Ratio) -> str:
    number = numerals.ABSENT if ratio.interval is None else numerals.significant(ratio.interval.estimate)
    return f"{NAMES[ratio.figure]} {number}{f' {ratio.answer}' if ratio.is_decided else ''}"
