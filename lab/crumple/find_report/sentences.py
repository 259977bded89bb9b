"""What is said of one search, in the words of the glossary: plain text, no markup.

The summary, the page and the lines of the live view say it alike.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.find.find import GUESS_CONNECTIONS
from crumple.find.level import ALIVE, KEEPS_UP, Level, Part

if TYPE_CHECKING:
    from crumple.find.saturation import Sign
    from crumple.find_report.figures import Finding

LOOPBACK = "Loopback on one small machine ranks mechanisms, not data centres."
READING = (
    "The breaking point is the load at which a level holds as often as it breaks; its interval takes the "
    "noise of levels into account, and that of starts where there are several."
)
ONE_START = "One start: the interval is that of this process; another start of it may break elsewhere."
OUTCOMES = {"held": "held", "broke": "broke", "limited": "not valid", "unknown": "too few answers"}
FAULTS = {KEEPS_UP: "did not keep up", ALIVE: "the server ended"}
GLYPHS = {"held": "●", "broke": "✕", "limited": "○", "unknown": "?"}


def load(value: float | None, by_rate: bool) -> str:
    """ "8,410 /s", or "512 connections"."""
    if value is None:
        return numerals.ABSENT
    return f"{figure(value, True)}{NARROW}/s" if by_rate else numerals.count(round(value), "connection")


def figure(value: float, by_rate: bool) -> str:
    """The same without its unit."""
    # Levels lie close to each other: a digit more than elsewhere tells them apart.
    return numerals.significant(value, 4) if by_rate else f"{round(value):,}"


def headline(finding: "Finding") -> str:
    """The answer in one sentence."""
    found, by_rate = finding.found, finding.by_rate
    held = load(found.highest_held, by_rate)
    if found.point is not None:
        return f"breaks at {point(finding)}"
    if found.ending == "never":
        lowest = finding.rows[0].load if finding.rows else None
        return f"the objective does not hold even at {load(lowest, by_rate)}"
    if found.ending == "gone" and found.highest_held is None:
        return "the server answers no more"
    if found.highest_held is None:
        return "no breaking point: no valid level held"
    return f"at least {held}"


def point(finding: "Finding") -> str:
    """The breaking point with its interval: "8,410 /s [8,350 – 8,470]"."""
    at = finding.found.point
    if at is None:
        return numerals.ABSENT
    if finding.by_rate:
        return numerals.with_interval(at, unit="/s")
    low, high = figure(at.low, False), figure(at.high, False)
    return f"{load(at.estimate, False)} [{low}{NARROW}–{NARROW}{high}]"


def why(finding: "Finding") -> str:
    """What the answer rests on, or why there is no better one; with its remedy."""
    found = finding.found
    match found.ending:
        case "found":
            starts = numerals.count(finding.starts, "start") if finding.afresh else "one running process"
            return f"95{NARROW}% interval, from {numerals.count(len(found.levels), 'level')} on {starts}"
        case "never":
            return "it broke at the lowest load tried; loosen --objective, or look at what one request takes"
        case "highest":
            return (
                f"it held at the highest load allowed; raise -c above {finding.question.connections_most:,}"
            )
        case "engine":
            limit = finding.problems[0] if finding.problems else "give it more threads (--threads)"
            gave_in = "the engine gave in before the server" if found.highest_held else "no level was valid"
            return f"{gave_in}: {limit}"
        case "budget":
            return "the budget was over before it broke; give it a longer --budget"
        case "unknown":
            return _too_few(finding)
        case "gone":
            return (
                "the server answered no more after the last level; start it again, and look at what it says"
            )


def first_broken(finding: "Finding") -> str:
    """Which part gave first: "p99<250ms: 612 ms at 8,900 /s"; empty where none did."""
    part, level = finding.first_broken, finding.first_broken_level
    if part is None or level is None:
        return ""
    said = f"{_broke(part)} at {load(level.load, finding.by_rate)}"
    if part.quantity == "failed" and 2 * level.not_sent > level.failed_share * level.scheduled:
        said += f", most of it not sent: no one of {level.connections_limit:,} connections was free in time"
    return said


def _broke(part: Part) -> str:
    if part.name == KEEPS_UP:
        return f"{FAULTS[KEEPS_UP]}: the backlog grew by {numerals.share(part.value)} of what came due"
    return FAULTS.get(part.name) or f"{part.name}: {value(part)}"


def value(part: Part) -> str:
    """What a part came to, in its unit."""
    if part.value is None:
        return numerals.ABSENT
    if part.quantity in ("failed", "backlog"):
        return numerals.share(part.value)
    return numerals.rate(part.value) if part.quantity == "throughput" else numerals.duration(part.value)


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


def facts(finding: "Finding") -> list[tuple[str, str]]:
    """What stands below the answer: its name, and what is said; only what there is to say."""
    found = finding.found
    rows = [("", why(finding))]
    if found.point is not None and finding.starts == 1:
        rows.append(("", ONE_START))
    rows.append(("broke first", first_broken(finding)))
    rows.append(("used up", "; ".join(sign(each) for each in finding.signs)))
    if found.highest_held is not None:
        rows.append(("highest held", f"{load(found.highest_held, finding.by_rate)}, in one level"))
    if found.guess_per_s is not None:
        guess = numerals.count(GUESS_CONNECTIONS, "connection")
        rows.append(
            ("flat out", f"{numerals.rate(found.guess_per_s)} with {guess}, which is no load it sustains")
        )
    if finding.is_local:
        rows.append(("", LOOPBACK))
    return [(name, said) for name, said in rows if said]


def heads(finding: "Finding") -> list[str]:
    """Of the table of levels, but for how each came out."""
    shown = ["start"] if finding.afresh else []
    times = dict.fromkeys(("p50", finding.time_name, "p99"))
    watched = ["server CPU"] if finding.server_cores is not None else []
    return [*shown, "load", "ok", *times, "failed", *watched]


def cells(finding: "Finding", level: Level) -> list[str]:
    """One row of it."""
    shown = [f"{level.start + 1}"] if finding.afresh else []
    times = {"p50": level.p50_ns, finding.time_name: finding.time_of(level), "p99": level.p99_ns}
    busy = level.server_cores_busy
    cores = numerals.ABSENT if busy is None else f"{numerals.significant(busy, 2)} of {finding.server_cores}"
    return [
        *shown,
        figure(level.load, finding.by_rate),
        numerals.rate(level.throughput_per_s),
        *(numerals.duration(ns) for ns in times.values()),
        numerals.share(level.failed_share),
        *([cores] if finding.server_cores is not None else []),
    ]


def circumstances(finding: "Finding") -> list[str]:
    """What a second search needs to be the same."""
    question = finding.question
    began = datetime.fromtimestamp(finding.began_unix_s, UTC)
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
        f"engine {finding.engine_version}",
        f"{began:%Y-%m-%d %H:%M:%S} UTC",
    ]


def verdict(level: Level) -> str:
    """How a level came out, and by what: "broke: p99<250ms"."""
    said = OUTCOMES[level.outcome]
    if level.outcome == "limited":
        return level.word
    if level.outcome == "broke":
        faults = [FAULTS.get(part.name, part.name) for part in level.broken]
        return f"{said}: {', '.join(faults) or 'no answer was ok'}"
    return said


def line(level: Level, by_rate: bool) -> str:
    """A level in one line."""
    parts = [
        f"{load(level.load, by_rate):>16}",
        f"{numerals.rate(level.throughput_per_s):>11} ok",
        f"p50 {numerals.duration(level.p50_ns):>8}",
        f"p99 {numerals.duration(level.p99_ns):>8}",
        verdict(level),
    ]
    return "  ".join(parts).replace(NARROW, " ")


def _too_few(finding: "Finding") -> str:
    needed = finding.question.objective.requests_needed
    slowest = min((each.throughput_per_s for each in finding.found.levels), default=0.0)
    return (
        f"the objective takes {needed:,} requests to judge, and at {numerals.rate(slowest)} that is more "
        "than the budget holds; raise --budget, or ask for a lower quantile"
    )
