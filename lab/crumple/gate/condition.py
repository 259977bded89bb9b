"""Parses conditions such as `p99>250ms, contradicted>0`, and decides whether each one is met. Pure.

Every `--fail-if` and every `--objective` is read here. Each command knows which figures it has, and what was
measured of them.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from crumple.drawing.report_parts import Only, Paragraph, Tone, on_page, phrase
from crumple.errors import EXIT_NO, EXIT_NOT_VALID, Mistakes, UsageError
from crumple.parsing import did_you_mean
from crumple.stats.decision import Answer

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_PART = re.compile(r"([a-z][a-z0-9.-]*)\s*(<=|>=|<|>)\s*([+-]?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(\D*)")

# "not shown": only part of the interval meets it. "not known": there is no figure, or it rests on too little.
State = Literal["holds", "does not hold", "not shown", "not known"]
# The worst first.
STATES: Mapping[Answer, State] = {"yes": "holds", "open": "not shown", "no": "does not hold"}
WORDS: Mapping[State, str] = {
    "holds": "holds, so it fails",
    "does not hold": "does not hold",
    "not shown": "is not shown",
    "not known": "is not known",
}
GLYPHS: Mapping[State, str] = {"holds": "✗", "does not hold": "✓", "not shown": "○", "not known": "?"}
TONES: Mapping[State, Tone] = {
    "holds": "bad",
    "does not hold": "good",
    "not shown": "doubtful",
    "not known": "doubtful",
}
SHARE_UNITS: Mapping[str, float] = {"%": 0.01}


@dataclass(frozen=True)
class FigureKind:
    """Which values a figure has."""

    units: Mapping[str, float]
    """Unit → factor."""
    example: str
    """A condition to write instead of a mistake."""
    is_ratio: bool = False
    """Whether a change such as +10% may be written, which is a ratio of 1.1."""
    is_share: bool = False
    """Whether it lies between 0 and 1."""


@dataclass(frozen=True)
class Condition:
    """A figure compared with a limit."""

    quantity: str
    """The name of the figure."""
    operator: str
    """One of OPERATORS."""
    limit: float
    """In the unit in which the figure is measured; a change as a ratio."""
    written: str
    """As it was typed, without spaces."""

    def answer(self, seen: "FigureSeen") -> Answer:
        """Return whether the figure that was measured meets it."""
        meets = [OPERATORS[self.operator](end, self.limit) for end in (seen.low, seen.high)]
        if all(meets):
            return "yes" if seen.is_sure else "open"
        return "open" if any(meets) else "no"


@dataclass(frozen=True)
class FigureSeen:
    """A figure that was measured."""

    low: float
    """The low end of its interval."""
    high: float
    """The high end; the same as `low` if it has no interval."""
    words: str = ""
    """The figure in words."""
    is_sure: bool = True
    """Whether what it shows cannot be read otherwise; if not, it meets no condition for certain."""

    @classmethod
    def exactly(cls, value: float, words: str = "") -> "FigureSeen":
        """Return a figure that has no interval."""
        return cls(value, value, words)


@dataclass(frozen=True)
class NoFigure:
    """There is no such figure."""

    why: str
    """Why there is none."""


@dataclass(frozen=True)
class Outcome:
    """A condition of --fail-if after the measurement."""

    written: str
    """The condition."""
    state: State
    """Whether it holds."""
    why: str
    """What that rests on, in words."""

    @property
    def sentence(self) -> str:
        """The outcome in a line."""
        return f"fail if {self.written}: {WORDS[self.state]}{f': {self.why}' if self.why else ''}"

    @property
    def marked(self) -> str:
        """The outcome in a line that begins with its sign."""
        return f"{GLYPHS[self.state]} {self.sentence}"


def read(
    texts: Iterable[str], kinds: Mapping[str, FigureKind], flag: str = "--fail-if"
) -> tuple[Condition, ...]:
    """Return the conditions that the values of a flag mean. Raises UsageError with every mistake."""
    mistakes = Mistakes()
    found: list[Condition | None] = []
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        if not any(parts):
            mistakes.add(f"{flag} is empty", f"write {_example(kinds)}, for instance")
        found += [mistakes.of(partial(_condition, part, kinds, flag)) for part in filter(None, parts)]
    mistakes.none()
    return tuple(each for each in found if each is not None)


def outcome(condition: Condition, seen: Sequence[FigureSeen] | NoFigure) -> Outcome:
    """Return what comes of a condition: it holds if it holds of any of these figures."""
    if isinstance(seen, NoFigure):
        return Outcome(condition.written, "not known", seen.why)
    answers = [(condition.answer(figure), figure.words) for figure in seen]
    for answer, state in STATES.items():
        words = [figure for given, figure in answers if given == answer]
        if words:
            return Outcome(condition.written, state, "; ".join(filter(None, words)))
    return Outcome(condition.written, "not known", "nothing was measured")


def for_page(outcomes: Iterable[Outcome]) -> Only:
    """Return what came of conditions as a page shows it; a terminal shows it behind the report."""
    return on_page(*(Paragraph(phrase(each.marked, TONES[each.state]), "condition") for each in outcomes))


def code_of(outcomes: Iterable[Outcome], otherwise: int) -> int:
    """Return the exit code of a command that has this `otherwise`; if that is not 0, it stays.

    1: a condition holds. 3: whether one holds is not known.
    """
    if otherwise:
        return otherwise
    states = {each.state for each in outcomes}
    return EXIT_NO if "holds" in states else EXIT_NOT_VALID if "not known" in states else 0


def _example(kinds: Mapping[str, FigureKind]) -> str:
    return next(iter(kinds.values())).example


def _condition(part: str, kinds: Mapping[str, FigureKind], flag: str) -> Condition:
    mistaken = f'{flag} "{part}"'
    # Accept the Greek mu as well, which looks like the micro sign.
    found = _PART.fullmatch(part.lower().replace("μ", "µ"))
    if found is None:
        raise UsageError(
            f"{mistaken} is not a comparison with a limit",
            f"write a figure, < or >, and a limit, such as {_example(kinds)}",
        )
    quantity, sign, number, unit = (text.strip() for text in found.groups())
    try:
        kind = kinds[quantity]
    except KeyError:
        message = f"{mistaken}: there is no figure {quantity} here"
        raise UsageError(message, did_you_mean(quantity, kinds)) from None
    limit = _limit(mistaken, quantity, number, unit, kind)
    if kind.is_share:
        _check_share(mistaken, quantity, sign, limit, kind)
    return Condition(quantity, sign, limit, f"{quantity}{sign}{number}{unit}")


def _limit(mistaken: str, quantity: str, number: str, unit: str, kind: FigureKind) -> float:
    value, is_change = float(number.replace("_", "")), number.startswith(("+", "-"))
    if kind.is_ratio and is_change and unit == "%":
        if value <= -100:
            raise UsageError(f"{mistaken}: nothing falls by 100 % or more", f"write {kind.example}")
        return 1 + value / 100
    if unit in kind.units and not is_change:
        return value * kind.units[unit]
    if is_change:
        fault = f'"{number}{unit}" is not a value of {quantity}'
    else:
        fault = f'"{unit}" is not a unit of {quantity}' if unit else f"{quantity} needs a unit"
    units = [name for name in kind.units if name]
    listed = f"; units are {', '.join(units)}" if len(units) > 1 else ""
    raise UsageError(f"{mistaken}: {fault}", f"write {kind.example}{listed}")


def _check_share(mistaken: str, quantity: str, sign: str, limit: float, kind: FigureKind) -> None:
    if limit >= 1:
        raise UsageError(f"{mistaken}: a share lies below 100 %", f"write {kind.example}")
    if sign == "<" and not limit:
        raise UsageError(f"{mistaken}: no share lies below 0 %", f"write {quantity}<=0%")
