"""The language of --fail-if: `p99>250ms, contradicted>0` → what must not be, and whether it is. Pure.

Each command says which figures it has, and what was measured of them. `load.objective` reads response times,
throughput and failures in the same language.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from crumple.drawing.report_parts import Only, Paragraph, Tone, on_page, phrase
from crumple.errors import EXIT_NO, EXIT_NOT_VALID, Mistakes, UsageError

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_PART = re.compile(r"([a-z][a-z0-9.-]*)\s*(<=|>=|<|>)\s*([+-]?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(\D*)")

# "not shown": only part of the interval meets it. "not known": there is no figure, or it rests on too little.
State = Literal["holds", "does not hold", "not shown", "not known"]


@dataclass(frozen=True)
class Kind:
    """The values of a figure. `units`: unit → factor; `example`: a condition to write instead of a mistake.

    `is_ratio`: a change such as +10% may be written, which is a ratio of 1.1.
    """

    units: Mapping[str, float]
    example: str
    is_ratio: bool = False


@dataclass(frozen=True)
class Condition:
    """What must not be. `limit`: in the unit of what is measured; a change as a ratio."""

    quantity: str
    operator: str
    limit: float
    written: str

    def state(self, seen: "Seen") -> State:
        """Return whether it holds of a figure that was measured."""
        meets = [OPERATORS[self.operator](end, self.limit) for end in (seen.low, seen.high)]
        if all(meets):
            return "holds" if seen.is_sure else "not shown"
        return "not shown" if any(meets) else "does not hold"


@dataclass(frozen=True)
class Seen:
    """A figure that was measured: the ends of its interval, or twice the same.

    `said`: it in words. `is_sure` False: what it says could be read otherwise, so nothing is shown by it.
    """

    low: float
    high: float
    said: str = ""
    is_sure: bool = True

    @classmethod
    def exactly(cls, value: float, said: str = "") -> "Seen":
        """Return a figure that has no interval."""
        return cls(value, value, said)


@dataclass(frozen=True)
class Missing:
    """Why there is no such figure."""

    why: str


@dataclass(frozen=True)
class Outcome:
    """A condition after the measurement. `why`: what that rests on, in words."""

    written: str
    state: State
    why: str

    @property
    def said(self) -> str:
        """The outcome in a line."""
        return f"fail if {self.written}: {WORDS[self.state]}{f': {self.why}' if self.why else ''}"

    @property
    def marked(self) -> str:
        """The outcome in a line that begins with its sign."""
        return f"{GLYPHS[self.state]} {self.said}"


WORDS: Mapping[State, str] = {
    "holds": "holds, so it fails",
    "does not hold": "does not hold",
    "not shown": "is not shown",
    "not known": "is not known",
}
WORST_FIRST: tuple[State, ...] = ("holds", "not shown", "does not hold")
GLYPHS: Mapping[State, str] = {"holds": "✗", "does not hold": "✓", "not shown": "○", "not known": "?"}

TONES: Mapping[State, Tone] = {
    "holds": "bad",
    "does not hold": "good",
    "not shown": "doubtful",
    "not known": "doubtful",
}


def for_page(outcomes: Iterable[Outcome]) -> Only:
    """Return what came of conditions as a page shows it; a terminal shows it behind the report."""
    return on_page(*(Paragraph(phrase(each.marked, TONES[each.state]), "condition") for each in outcomes))


def read(texts: Iterable[str], kinds: Mapping[str, Kind]) -> tuple[Condition, ...]:
    """Return the conditions that texts mean. Raises UsageError with every mistake."""
    mistakes = Mistakes()
    found: list[Condition | None] = []
    for text in texts:
        parts = [part.strip() for part in text.split(",")]
        if not any(parts):
            example = next(iter(kinds.values())).example
            mistakes.add("--fail-if is empty", f"write a condition, for instance: {example}")
        found += [mistakes.of(partial(_condition, part, kinds)) for part in filter(None, parts)]
    mistakes.none()
    return tuple(each for each in found if each is not None)


def pieces(part: str) -> tuple[str, str, str, str] | None:
    """Return quantity, operator, number and unit of a condition as typed; None if it is none."""
    # Accept the Greek mu as well, which looks like the micro sign.
    found = _PART.fullmatch(part.lower().replace("μ", "µ"))
    if found is None:
        return None
    quantity, sign, number, unit = found.groups()
    return quantity, sign, number, unit.strip()


def outcome(condition: Condition, seen: Sequence[Seen] | Missing) -> Outcome:
    """Return what comes of a condition: it holds if it holds of any of these figures."""
    if isinstance(seen, Missing):
        return Outcome(condition.written, "not known", seen.why)
    states = [(condition.state(each), each.said) for each in seen]
    for state in WORST_FIRST:
        said = [words for found, words in states if found == state]
        if said:
            return Outcome(condition.written, state, "; ".join(filter(None, said)))
    return Outcome(condition.written, "not known", "nothing was measured")


def code_of(outcomes: Iterable[Outcome], otherwise: int) -> int:
    """Return the exit code of a command that has this `otherwise`; where that is not 0, it stays.

    1: a condition holds. 3: whether one holds is not known.
    """
    if otherwise:
        return otherwise
    states = {each.state for each in outcomes}
    return EXIT_NO if "holds" in states else EXIT_NOT_VALID if "not known" in states else 0


def _condition(part: str, kinds: Mapping[str, Kind]) -> Condition:
    found = pieces(part)
    if found is None:
        example = next(iter(kinds.values())).example
        raise UsageError(
            f'--fail-if "{part}" is no condition', f"write a figure, < or >, and a limit, such as {example}"
        )
    quantity, sign, number, unit = found
    if quantity not in kinds:
        raise UsageError(
            f'--fail-if "{part}": there is no figure {quantity} here', f"there are {', '.join(kinds)}"
        )
    limit = _limit(part, number, unit, kinds[quantity])
    return Condition(quantity, sign, limit, f"{quantity}{sign}{number}{unit}")


def _limit(part: str, number: str, unit: str, kind: Kind) -> float:
    value, is_change = float(number.replace("_", "")), number.startswith(("+", "-"))
    if kind.is_ratio and is_change and unit == "%":
        if value <= -100:
            raise UsageError(
                f'--fail-if "{part}": nothing falls by 100 % or more', f"write {kind.example}, for instance"
            )
        return 1 + value / 100
    if is_change or unit not in kind.units:
        said = (
            "that is no value of it"
            if is_change
            else f'"{unit}" is no unit of it'
            if unit
            else "its unit is missing"
        )
        raise UsageError(f'--fail-if "{part}": {said}', f"write {kind.example}, for instance")
    return value * kind.units[unit]
