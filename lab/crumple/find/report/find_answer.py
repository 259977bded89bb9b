"""The answer of a search: up to which load the objective holds, what limits it, how sure that is. Pure."""

import shlex
from collections.abc import Iterator

from crumple.drawing import numerals, scale
from crumple.drawing.report_parts import (
    URL,
    Answer,
    Charts,
    Phrase,
    Tone,
    Words,
    phrase,
    sentence,
    sure,
)
from crumple.find.report import find_sentences as say
from crumple.find.report.find_figures import SearchFigures
from crumple.limit import finding as causes
from crumple.load.objective import Term
from crumple.words import cause_sentences

# The most sentences of an answer: more are not read in a minute.
SENTENCES_MAX = 3
# Names of facts.
Names = tuple[str, ...]


def of(finding: SearchFigures, picture: Charts | None = None) -> Answer:
    """Return the answer."""
    return Answer(asked(finding), [said for _, said in _told(finding)], how_sure(finding), picture=picture)


def names(finding: SearchFigures) -> frozenset[str]:
    """Return the names of the facts that the answer says."""
    return frozenset(name for names, _ in _told(finding) for name in names)


def _told(finding: SearchFigures) -> list[tuple[Names, Words]]:
    return [*_found(finding)][:SENTENCES_MAX]


def asked(finding: SearchFigures) -> str:
    """Return what was asked, in a sentence."""
    kept = " and ".join(map(_kept, finding.question.objective.terms))
    if finding.by_rate:
        return f"Up to how many requests a second does {finding.asked} keep {kept}?"
    return f"With up to how many connections does {finding.asked} keep {kept}?"


def _kept(term: Term) -> str:
    """Return a part of the objective without the names of quantities: "99 % within 250 ms"."""
    within = term.operator in ("<", "<=")
    if term.quantile is not None and within:
        return f"{term.quantile * 100:.10g}{numerals.NARROW}% within {scale.duration(term.limit)}"
    if term.quantity == "failed" and within:
        limit = f"{100 * term.limit:g}{numerals.NARROW}%"
        return f"failures below {limit}" if term.limit else "every answer as expected"
    if term.quantity == "max" and within:
        return f"all within {scale.duration(term.limit)}"
    if term.quantity == "mean" and within:
        return f"a mean below {scale.duration(term.limit)}"
    return str(term)


def _found(finding: SearchFigures) -> Iterator[tuple[Names, Words]]:
    """Yield up to which load it holds, what limits the server there, and what to change or ask.

    Each with the names of the facts that it says.
    """
    if finding.found.point is None or finding.found.lost is not None or finding.decided_nothing:
        yield (), phrase(sentence(say.headline(finding)), _tone(finding), strong=True)
        yield ("because",), sentence(say.why(finding))
    else:
        beyond = _beyond(finding)
        names = ("rests on", "one start", *(("broke first",) if beyond else ()))
        yield names, " ".join(map(sentence, filter(None, (f"up to {_point(finding)}", beyond))))
    yield from _limit(finding)


def _point(finding: SearchFigures) -> str:
    """Return the breaking point with its interval."""
    point = finding.found.point
    assert point is not None
    unit = "requests a second" if finding.by_rate else "connections"
    of = numerals.count(finding.starts, "start") if finding.afresh else "this process"
    low, high = (say.figure(end, False) for end in (point.low, point.high))
    ends = numerals.ends(point) if finding.by_rate else f"{low}{numerals.NARROW}–{numerals.NARROW}{high}"
    at = numerals.estimate(point) if finding.by_rate else say.figure(point.estimate, False)
    limiter = ", which a limiter lets through" if finding.is_by_limiter else ""
    return f"{at} {unit} ({ends}, {of}){limiter}"


def _beyond(finding: SearchFigures) -> str:
    """Return what is missed beyond the point, and where each of several starts broke."""
    broke = say.first_broken(finding)
    if not broke or finding.is_by_limiter:
        return ""
    part, _, missed = broke.partition(": ")
    lowest = sorted(load for load in first_broke(finding).values() if load is not None)
    starts = ""
    if finding.afresh and len(lowest) > 1:
        ends = f"{say.figure(lowest[0], finding.by_rate)} to {say.load(lowest[-1], finding.by_rate)}"
        starts = f"; {len(lowest)} of {finding.starts} starts missed it, at {ends} and more"
    return f"beyond it misses {part}: {missed}{starts}"


def first_broke(finding: SearchFigures) -> dict[int, float | None]:
    """Return the lowest load at which each start broke; None: it did not."""
    found: dict[int, float | None] = {each.start: None for each in finding.found.levels}
    for each in reversed(finding.rows):
        if each.outcome == "broke":
            found[each.start] = each.load
    return found


def _limit(finding: SearchFigures) -> Iterator[tuple[Names, Words]]:
    first = causes.first(finding.said)
    if first is not None:
        limit = sentence(cause_sentences.first_limit(first))
        likely = "" if first.cause == "none" else f" {sentence(cause_sentences.sure(first))}"
        yield ("first limit",), f"{limit}{likely}"
        if first.remedy:
            yield ("try",), sentence(f"try: {first.remedy}")
        return
    if used_up := say.exhaustion(finding):
        yield ("used up",), sentence(f"where it broke, this was used up: {used_up}")
    row = dict(cause_sentences.in_short(finding.said)).get("first limit", "")
    if why := row.removeprefix("cannot tell: "):
        yield ("first limit",), sentence(f"what limits it cannot be told: {why}")
    if finding.is_local and finding.found.lost is None:
        yield (), f"Ask: crumple diagnose {_server(finding.asked)}{finding.document.from_flag}"


def _server(asked: str) -> str:
    """Return the URL or the server that was asked, as a word of a command."""
    last = asked.rpartition(" ")[2]
    return shlex.quote(last if URL.match(last) else asked.removeprefix("server ").partition(",")[0])


def _tone(finding: SearchFigures) -> Tone:
    return "bad" if finding.found.lost is not None else "doubtful"


def how_sure(finding: SearchFigures) -> Phrase:
    """Return what the answer rests on."""
    warned = [*finding.problems, *finding.warnings]
    warnings = numerals.count(len(warned), "warning") if warned else ""
    if finding.found.lost is not None:
        return sure("lost", "bad", warnings)
    if finding.found.point is None or finding.decided_nothing:
        held = finding.found.highest_held is not None and not finding.decided_nothing
        return sure("a lower bound" if held else "not known", "doubtful", warnings)
    return sure("measured", "good", "; ".join(filter(None, (say.why(finding), warnings))))
