"""Where the mean response time went at each level of a search, as a table: parts down, loads across. Pure."""

from crumple.drawing import numerals
from crumple.find.level import Level
from crumple.find.report import find_sentences as say
from crumple.find.report.find_figures import SearchFigures
from crumple.record.flow import WORDS, StageTime
from crumple.record.stages import Budget
from crumple.words import time_sentences

# The most levels that fit a page.
LEVELS_MAX = 8
# The least share of the mean, in some level, with which a part is shown.
SHARE_MIN = 0.01

Divided = tuple[Level, Budget]
# The name of a row, and a cell for each level.
Row = tuple[str, list[str]]


def choose(finding: SearchFigures, most: int = LEVELS_MAX) -> list[Divided]:
    """The levels that are shown: the lowest, the highest, and others whose loads differ most."""
    left = list(finding.divided)
    while len(left) > max(2, most):
        gaps = [left[at + 1][0].load / left[at - 1][0].load for at in range(1, len(left) - 1)]
        del left[1 + gaps.index(min(gaps))]
    return left


def telling(finding: SearchFigures) -> list[Divided]:
    """The lowest level, the highest that held below one that broke, and the lowest of those that broke."""
    broke = next((each for each in finding.divided if each[0].outcome == "broke"), None)
    held = [
        each
        for each in finding.divided
        if each[0].outcome == "held" and (broke is None or each[0].load <= broke[0].load)
    ]
    chosen = [*finding.divided[:1], *held[-1:], *([broke] if broke else [])]
    return [each for at, each in enumerate(chosen) if each not in chosen[:at]]


def heads(finding: SearchFigures, levels: list[Divided]) -> list[str]:
    """The loads, and whether each held."""
    return [f"{say.GLYPHS[level.outcome]} {say.figure(level.load, finding.by_rate)}" for level, _ in levels]


def rows(levels: list[Divided]) -> list[Row]:
    """A row for each part that takes a share of the mean worth showing, in their order; then the mean."""
    parts: dict[str, StageTime] = {}
    for _, budget in levels:
        for part in budget.shown:
            if part.mean_ns >= SHARE_MIN * budget.measured_ns:
                parts.setdefault(part.words, part)
    order = list(WORDS)
    shown = sorted(parts, key=lambda words: order.index(parts[words].name))
    return [
        *((words, [_time(budget, words) for _, budget in levels]) for words in shown),
        ("mean", [numerals.duration(budget.measured_ns) for _, budget in levels]),
    ]


def _time(budget: Budget, words: str) -> str:
    part = next((part for part in budget.shown if part.words == words), None)
    return numerals.ABSENT if part is None or not part.mean_ns else time_sentences.part_of(budget, part)


def unknown(finding: SearchFigures) -> str:
    """Why it is not known of any level where the time went; empty if it is known, or nobody asked."""
    asked = [each.time for each in finding.rows if each.time is not None and each.ok]
    whys = [each.why for each in asked if not isinstance(each, Budget)]
    return f"by stages not known: {whys[-1]}" if whys and not finding.divided else ""


def not_divided(finding: SearchFigures) -> str:
    """Why the time inside is not divided at some levels; empty if it is."""
    why = next((budget.not_divided for _, budget in reversed(finding.divided) if budget.not_divided), "")
    return f"inside is not divided: {why}" if why else ""
