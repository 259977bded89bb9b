"""Stored comparisons of versions → a side that `verdict` compares: of each version, its ratio to the first.

Not its own figures: these drift from one day to the next, and the ratio of two versions that were measured in
turns does not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from crumple.record import failures
from crumple.results.selection import StoredEntry
from crumple.verdict import sides
from crumple.verdict.comparison import Comparison, Difference
from crumple.verdict.sides import Place, Side
from crumple.versus.letters import FIRST
from crumple.versus.report.versus_document import VersusDocument
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.standing import Figure

VERSUS = "versus"
# Figure of a comparison → the metric that it is.
METRICS: Mapping[Figure, str] = {
    "p50": "response_p50",
    "p90": "response_p90",
    "p99": "response_p99",
    "throughput": "throughput",
    "cpu": "cpu_per_request",
}
TIMES = ("response_p50", "response_p90", "response_p99")
# By which factor rates may differ at which times were measured. Ratios of times say nothing of each other
# if it is larger.
RATE_FACTOR = 1.1
# A commit in a label, behind the branch or tag that was typed.
_COMMIT = re.compile(r" \([0-9a-f]{9}\)")


def question_of(document: Mapping[str, object]) -> str:
    """Return what was compared, whichever commit a branch was at."""
    return without_commits(str(document["asked"]))


def without_commits(label: str) -> str:
    """Return a label, or several, without the commits that branches were at."""
    return _COMMIT.sub("", label)


def side(found: Sequence[VersusDocument], entries: Sequence[StoredEntry]) -> Side:
    """Return comparisons as one side, in which a single one has a value for each block."""
    each = [_side(one, entry.name) for one, entry in zip(found, entries, strict=True)]
    if len(each) == 1:
        return each[0]
    return replace(sides.together(each), run=f"{len(each)} comparisons (the last: {entries[-1].name})")


def metrics(before: Side, after: Side) -> tuple[str, ...]:
    """Return the metrics that both sides have."""
    known = [{name for values in each.values.values() for name in values} for each in (before, after)]
    return tuple(name for name in METRICS.values() if name in known[0] & known[1])


def check(
    compared: Comparison, before: Sequence[VersusDocument], after: Sequence[VersusDocument]
) -> Comparison:
    """Return the comparison without what other loads make incomparable, and with cautions."""
    every = [*before, *after]
    differences = tuple(_check(each, every) for each in compared.differences)
    return replace(compared, differences=differences, cautions=(*compared.cautions, *_cautions(every)))


def _side(found: VersusDocument, name: str) -> Side:
    result = VersusFigures(found)
    places = {letter: place(result, letter) for letter in result.others}
    return Side(
        run=name,
        study=VERSUS,
        scale=VERSUS,
        machine=found.measured_on,
        versions={},
        answers={},
        values={(*places[letter], False): _values(result, letter) for letter in result.others},
        failed={places[letter]: _failed(result, letter) for letter in result.others},
        starts={places[letter]: _starts(result, letter) for letter in result.others},
    )


def place(result: VersusFigures, letter: str) -> Place:
    """Return what a row is about: a version beside the first, without the commits that branches were at."""
    one, other = (without_commits(result.labels[each]) for each in (FIRST, letter))
    return VERSUS, f"{letter} {other} ÷ {FIRST} {one}"


def _values(result: VersusFigures, letter: str) -> dict[str, tuple[float, ...]]:
    found = {name: result.by_block(letter, figure) for figure, name in METRICS.items()}
    return {name: tuple(values.values()) for name, values in found.items() if values}


def _failed(result: VersusFigures, letter: str) -> tuple[float, ...]:
    return tuple(max(load.failed_share for load in each.loads) for each in result.turns(letter))


def _starts(result: VersusFigures, letter: str) -> tuple[int, int]:
    """How many turns count, and how many there are. Failures are judged by themselves."""
    turns = result.turns(letter)
    lost = sum(any(load.failed_share > failures.SHARE_MAX for load in each.loads) for each in turns)
    return len(turns) - lost, len(turns)


def _check(each: Difference, every: Sequence[VersusDocument]) -> Difference:
    why = _other_load(every, of_times=each.metric in TIMES)
    return replace(each, ratio=None, visible=None, change="not known", reason=why) if why else each


def _other_load(every: Sequence[VersusDocument], *, of_times: bool) -> str:
    """Return why figures say nothing of each other; empty if they do."""
    last = every[-1].loads
    if of_times:
        rates = [each.rate_per_s for each in every]
        if min(rates) <= 0 or max(rates) / min(rates) > RATE_FACTOR:
            span = f"{min(rates):,.0f} to {max(rates):,.0f} requests/s"
            return f"the load is another: {span}; name one with --rate"
        if any(each.loads.arrivals != last.arrivals for each in every):
            return "the load is another: its arrivals"
    elif any(each.loads.connections != last.connections for each in every):
        return "the load is another: the number of connections"
    return ""


def _cautions(every: Sequence[VersusDocument]) -> Iterator[str]:
    for each in every:
        if each.ended_early:
            yield f"{each.name or each.began} ended early"
    if any(not version.fresh_starts for each in every for version in each.versions):
        yield "versions ran already: how much starts differ is not part of the intervals"
