"""One search in the words of the glossary: plain text, no markup. `level_sentences`: what came of a level.

The summary, the page and the live view all take their words from here.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.drawing.report_parts import Tone
from crumple.find import outgrown
from crumple.find.level import Level
from crumple.find.next_level import SearchOutlook
from crumple.find.report.level_sentences import failures, miss, share, value, verdict
from crumple.find.seen import LevelOutcome
from crumple.limit.finding import Finding as Cause
from crumple.record import disturbance
from crumple.stats import shares
from crumple.words import cause_sentences, lost_sentences

if TYPE_CHECKING:
    from crumple.find.report.find_figures import SearchFigures
    from crumple.find.report.used_up import Sign

# The width of a line's first column: "1,995 /s", "512 connections".
LOAD_WIDTH = {True: 9, False: 15}
GLYPHS: Mapping[LevelOutcome, str] = {"held": "●", "broke": "✕", "limited": "○", "undecided": "?"}
TONES: Mapping[LevelOutcome, Tone] = {
    "held": "good",
    "broke": "bad",
    "limited": "doubtful",
    "undecided": "dim",
}


def load(value: float | None, by_rate: bool) -> str:
    """ "8,410 /s", or "512 connections"."""
    if value is None:
        return numerals.ABSENT
    return f"{figure(value, True)}{NARROW}/s" if by_rate else numerals.count(round(value), "connection")


def figure(value: float, by_rate: bool) -> str:
    """The load without its unit."""
    # Levels lie close to each other, so they have one digit more than elsewhere.
    return numerals.significant(value, 4) if by_rate else f"{round(value):,}"


def heads(finding: "SearchFigures") -> list[str]:
    """The heads of the table of levels, without that of the result."""
    shown = ["start"] if finding.afresh else []
    watched = ["server CPU"] if finding.server_cores is not None else []
    return [*shown, "load", "for", "ok", "p50", *finding.time_heads, "failed", *watched]


def cells(finding: "SearchFigures", level: Level) -> list[str]:
    """One row of the table of levels, without the result."""
    shown = [f"{level.start + 1}"] if finding.afresh else []
    parts = {part.name: part for part in level.parts}
    busy = level.server_cores_busy
    cores = numerals.ABSENT if busy is None else f"{numerals.significant(busy, 2)} of {finding.server_cores}"
    times = [
        share(part) if (part := parts.get(head)) and part.known else value(part) if part else numerals.ABSENT
        for head in finding.time_heads
    ]
    # A level in which the server was lost has no figure.
    is_lost = level.word == "lost"
    return [
        *shown,
        figure(level.load, finding.by_rate),
        numerals.seconds(level.measured_s),
        numerals.ABSENT if is_lost else numerals.rate(level.throughput_per_s),
        numerals.duration(level.p50_ns),
        *times,
        numerals.ABSENT if is_lost else numerals.share(level.failed_share),
        *([cores] if finding.server_cores is not None else []),
    ]


def line(level: Level, by_rate: bool) -> str:
    """A level in one line."""
    missed_most = max(
        (part for part in level.parts if part.known), key=lambda part: part.share or 0.0, default=None
    )
    parts = [
        f"{load(level.load, by_rate):>{LOAD_WIDTH[by_rate]}}",
        f"{numerals.seconds(level.measured_s):>6}",
        f"{numerals.rate(level.throughput_per_s):>10} ok",
        f"p50 {numerals.duration(level.p50_ns):>7}",
        f"missed {share(missed_most):>12}",
        verdict(level),
    ]
    return "  ".join(parts).replace(NARROW, " ")


LOOPBACK = "loopback on one small machine ranks mechanisms, not data centres"
READING = (
    "At the breaking point the share of requests that miss the objective is as high as it may be. Its "
    "interval takes the noise of levels into account, and that of starts where there are several."
)
QUEUE = (
    "slow answers came in crowds, out of a queue, so levels are weighed by the law of queues: one of seconds "
    "below the capacity often holds by chance"
)
LIMITED = "what the limiter lets through in the long run: a level above that holds only by its burst"
ONE_START = "the interval is that of this process; another start of it may break elsewhere"


def outlook(seen: SearchOutlook, budget_s: float) -> str:
    """What the budget can reach, shown before the first level."""
    least, most = f"{seen.least_s:.2g}", f"{seen.most_s:.2g}"
    each = f"{most}{NARROW}s" if least == most else f"{least} to {most}{NARROW}s"
    levels = f"{numerals.seconds(budget_s)}: about {numerals.count(seen.levels, 'level')}"
    if seen.load is None:
        return f"{levels} of {each}"
    return f"{levels}; at {load(seen.load, True)} one takes {each}"


def headline(finding: "SearchFigures") -> str:
    """The answer in one sentence; everything else explains it."""
    found, by_rate = finding.found, finding.by_rate
    if finding.decided_nothing:
        maybe = f"; it may break at {point(finding)}" if found.point else ""
        return f"nothing was decided: no level held or broke in its time{maybe}"
    if found.ending == "gone":
        return _lost(finding)
    if found.point is not None:
        return f"breaks at {point(finding)}{', by a limiter' if finding.is_by_limiter else ''}"
    if finding.fails_everywhere:
        return failing(finding)
    if found.ending == "never" or (found.ending == "budget" and finding.broke_everywhere):
        lowest = next(each.load for each in finding.rows if each.outcome != "limited")
        return f"does not hold at any load that was tried, down to {load(lowest, by_rate)}"
    if found.highest_held is not None:
        return f"at least {load(found.highest_held, by_rate)}"
    if found.ending == "engine" and (broke := _broke_at(finding)):
        return f"broke at {load(min(broke), by_rate)} and above; below, the engine gave in"
    return {
        "engine": "no answer: the engine gave in at every load",
        "interrupted": "no answer: interrupted before a level held",
    }.get(found.ending, "no answer: no level held in the time there was")


def _lost(finding: "SearchFigures") -> str:
    """That the server was lost, at which load, and what the levels before that show."""
    found, at = finding.found, ""
    if found.lost_at is not None:
        at = f" at {load(found.lost_at, finding.by_rate)}"
    said = (
        f"the server was lost{at}: {lost_sentences.how(found.lost)}" if found.lost else "the server was lost"
    )
    if found.point is not None:
        return f"{said}; by the levels before that it breaks at {point(finding)}"
    if found.highest_held is not None:
        return f"{said}; before that it held {load(found.highest_held, finding.by_rate)}"
    return said


def _broke_at(finding: "SearchFigures") -> list[float]:
    return [each.load for each in finding.rows if each.outcome == "broke"]


def point(finding: "SearchFigures") -> str:
    """The breaking point with its interval: "8,410 /s [8,350 – 8,470]"."""
    at = finding.found.point
    if at is None:
        return numerals.ABSENT
    if finding.by_rate:
        return numerals.with_interval(at, unit="/s")
    low, high = figure(at.low, False), figure(at.high, False)
    return f"{load(at.estimate, False)} [{low}{NARROW}–{NARROW}{high}]"


def failing(finding: "SearchFigures") -> str:
    """What failed at every level, and how."""
    tried = [each for each in finding.rows if each.scheduled]
    share = sum(each.failed_share * each.scheduled for each in tried) / sum(each.scheduled for each in tried)
    from_load = load(tried[0].load, finding.by_rate)
    return f"{numerals.share(share)} failed at every level, from {from_load} on ({failures(tried)})"


def why(finding: "SearchFigures") -> str:
    """What the answer rests on, or why there is no better one, with the remedy."""
    found = finding.found
    if finding.decided_nothing and found.ending in ("found", "never"):
        tried = numerals.count(len(found.levels), "level")
        return f"{tried}, of which none was decided; raise --budget, so that each has more answers"
    if finding.fails_everywhere and found.point is None and found.ending in ("never", "budget"):
        return "as many fail at the lowest load; mend what fails, or allow for it in --objective (failed<…)"
    match found.ending:
        case "found":
            return _rests_on(finding)
        case "never":
            return "it broke at the lowest load tried; loosen --objective, or look at what one request takes"
        case "highest":
            return (
                f"it held at the highest load allowed; raise -c above {finding.question.connections_most:,}"
            )
        case "engine":
            limit = finding.problems[0] if finding.problems else "give it more threads (--threads)"
            gave_in = "a level was not valid" if limit.startswith("disturbed") else "the engine gave in"
            if found.highest_held:
                return f"{gave_in} before the server broke: {limit}"
            where = f"at the lowest load tried {gave_in}" if _broke_at(finding) else "no level was valid"
            return f"{where}: {limit}"
        case "disturbed":
            return "other programs may have made each level break that broke; end them, and search again"
        case "budget":
            if past := _outgrown(finding):
                return f"{past}; search again, or raise --budget"
            return "the budget was over before there was a load that held and one that broke; raise --budget"
        case "interrupted":
            tried = numerals.count(len(found.levels), "level")
            rest = f"95{NARROW}% interval, from {tried}" if found.point else tried
            return f"{rest} until it was interrupted, after {numerals.seconds(found.took_s)}"
        case "gone":
            if found.lost is None:
                return "it answered no more after the last level; look at its log, and start it again"
            return f"{lost_sentences.sentence(found.lost)}; {lost_sentences.remedy(found.lost)}"


def _rests_on(finding: "SearchFigures") -> str:
    starts = numerals.count(finding.starts, "start") if finding.afresh else "one running process"
    rests = f"95{NARROW}% interval, from {numerals.count(len(finding.found.levels), 'level')} on {starts}"
    return "; ".join(filter(None, (rests, _allowed_for(finding), _outgrown(finding))))


def _allowed_for(finding: "SearchFigures") -> str:
    """What the interval allows for, where others slowed levels; empty: nothing that is worth mentioning."""
    most = max((each.slowdown for each in finding.edge), default=1.0)
    if most < disturbance.MENTIONED:
        return ""
    return f"it allows for other programs, which may have slowed levels {most:.2f} times"


def _outgrown(finding: "SearchFigures") -> str:
    """Which levels do not count, as the server got faster after them; empty: none."""
    told = outgrown.outgrown([each.judged for each in finding.found.levels])
    past = [each.load for each, is_so in zip(finding.found.levels, told, strict=True) if is_so]
    if not past:
        return ""
    broke = load(max(past), finding.by_rate)
    held = f"it held far beyond {broke}, where it had broken, which does not count"
    return f"it got faster during the search: {held}"


def first_broken(finding: "SearchFigures") -> str:
    """Which part broke first: "p99<250ms: 17 % of 295 took longer, at 100 /s"; empty where none did."""
    part, level = finding.first_broken, finding.first_broken_level
    if part is None or level is None:
        return ""
    return f"{miss(part, level)}, at {load(level.load, finding.by_rate)}"


def too_few(finding: "SearchFigures") -> str:
    """Shares that no level could decide, and how many requests missed them in the levels that held."""
    said = []
    held = [each for each in finding.found.levels if each.outcome == "held"]
    for term in finding.question.objective.terms:
        parts = [part for each in held for part in each.parts if part.name == str(term)]
        if not parts or term.share_limit is None or all(part.holds for part in parts):
            continue
        known, against = sum(part.known for part in parts), sum(part.against for part in parts)
        number = f"{against:,}" if against else "none"
        said.append(
            f"{term}: {number} of {known:,} missed it in the levels that held; for one to say so takes "
            f"{shares.answers_needed(term.share_limit):,}"
        )
    return "; ".join(said)


def highest_held(finding: "SearchFigures") -> str:
    """The highest load that held; if it is above the interval, why that does not contradict the answer."""
    found = finding.found
    if found.highest_held is None or found.point is None:
        return ""
    level = next(each for each in found.levels if each.load == found.highest_held)
    said = (
        f"{load(found.highest_held, finding.by_rate)}, in one level of {numerals.seconds(level.measured_s)}"
    )
    return (
        f"{said}; above the interval, {'by its burst' if finding.is_by_limiter else 'as short levels can be'}"
        if found.highest_held > found.point.high
        else said
    )


def below(finding: "SearchFigures") -> str:
    """Requests that missed the objective at low loads, where the load is not the reason."""
    seen = finding.moments_below
    if seen is None:
        return ""
    return (
        f"{numerals.share(seen.missed / seen.known)} of {seen.known:,} missed {seen.name} at loads far below "
        f"the interval, {seen.bunches:,} times or more: the server, or this machine, stops at times"
    )


def contradiction(finding: "SearchFigures") -> str:
    """How the first and the second half of the levels contradict each other; empty where they do not."""
    if finding.halves is None:
        return ""
    first, second = (load(each.estimate, finding.by_rate) for each in finding.halves)
    return (
        f"the first half of the levels says {first}, the second {second}: the server, or this machine, "
        "changed during the search, and the interval is of neither"
    )


def first_guess(finding: "SearchFigures") -> tuple[str, str]:
    """The rate that connections without pauses got, and whether that is the server's limit."""
    found = finding.found
    if found.guess is None:
        return "", ""
    got = f"{numerals.rate(found.guess.per_s)} with {numerals.count(found.guess.connections, 'connection')}"
    if found.is_flat_out:
        return "flat out", f"{got}, which is no load it sustains"
    return "first guess", f"{got}, each asking again at once: as much as these can ask for"


def sign(found: "Sign") -> str:
    """What was used up, where it broke."""
    busy, cores = numerals.significant(found.value, 2), numerals.count(round(found.limit), "core")
    match found.kind:
        case "cpu":
            return f"the server's CPU: {busy} of {cores} busy"
        case "one-core":
            return f"one core: the server kept {busy} of {cores} busy, as a single thread would"
        case "connections":
            return (
                f"all {round(found.limit):,} connections were in use, and the server's CPU was not: raise -c"
            )
        case "retransmits":
            again = f"{round(found.value):,} TCP segments"
            return f"{again} were sent again: a backlog was full, or packets were lost"
        case "idle":
            return (
                f"not its CPU ({busy} of {cores} busy): it waited, for workers, a lock or what is behind it"
            )
        case "unwatched":
            return "not known: the server was not watched; add --watch :PORT"


# What a cause says, too, with its evidence.
_SAID_BY_CAUSE = ("cpu", "one-core", "idle")


def exhaustion(finding: "SearchFigures") -> str:
    """What was used up, where it broke, unless a cause that was found says so."""
    known = any(isinstance(each, Cause) for each in finding.said)
    return "; ".join(sign(each) for each in finding.signs if not (known and each.kind in _SAID_BY_CAUSE))


def facts(finding: "SearchFigures") -> list[tuple[str, str]]:
    """The facts below the answer, each with its name; those with nothing to say are left out."""
    point_found = finding.found.point is not None
    failed = failing(finding) if finding.fails_everywhere and point_found else ""
    rows = [
        ("rests on" if point_found and not finding.decided_nothing else "because", why(finding)),
        ("broke first", first_broken(finding)),
        ("failing", failed),
        ("weighed as", LIMITED if finding.is_by_limiter else QUEUE if finding.found.queue else ""),
        ("not decided", too_few(finding)),
        ("far below", below(finding)),
        ("moved", contradiction(finding)),
        ("used up", exhaustion(finding)),
        *cause_sentences.in_short(finding.said),
        ("highest held", highest_held(finding)),
        first_guess(finding),
        ("one start", ONE_START if point_found and finding.starts == 1 else ""),
        ("machine", LOOPBACK if finding.is_local else ""),
    ]
    return [(name, said) for name, said in rows if said]


def circumstances(finding: "SearchFigures") -> list[str]:
    """What somebody needs to repeat the search: shape, seed, time, engine and date."""
    question = finding.question
    began = datetime.fromisoformat(finding.document.began)
    shape = (
        f"open, {'Poisson' if question.arrivals == 'poisson' else 'even'}, on up to "
        f"{question.connections_most:,} connections"
        if finding.by_rate
        else "closed"
    )
    return [
        shape,
        f"seed {question.seed}",
        f"{numerals.seconds(finding.found.took_s)} of {numerals.seconds(question.budget_s)}",
        f"engine {finding.document.engine_version}",
        f"{began:%Y-%m-%d %H:%M:%S} UTC",
    ]
