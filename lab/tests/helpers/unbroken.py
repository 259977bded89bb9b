"""Whether a text drawn for few columns breaks a word, or parts a number from its unit."""

import re
from collections.abc import Callable

# What plots, histograms and axes consist of, beside spaces.
_DRAWN = re.compile(r"[\s─┄╌│┤└┼┬┴░·•●✕○▁-█⠀-⣿…?\\]+")
# What only the narrow text says: which columns it leaves out.
_LEFT_OUT = re.compile(r"left\s+out,\s+because\s+.*?--json\s+has\s+all", re.DOTALL)
_PARTED = re.compile(r"[\d,.]*\d\n *(?:[nµm]?s|min|h|/s|%|[KMG]iB(?:/s)?)(?![\w<])")


def check(drawn: Callable[[int], str], columns: int, many: int = 400, also: str = "") -> None:
    """Fail if a line is longer than `columns`, or a word or number broken. `drawn`: width → text.

    `also`: words that only few columns show.
    """
    narrow = drawn(columns)
    longer = [line for line in narrow.splitlines() if len(line) > columns]
    assert longer == [], longer
    found = broken(narrow, f"{drawn(many)}\n{also}")
    assert found == [], found


def broken(narrow: str, wide: str) -> list[str]:
    """Return the words of `narrow` that `wide` lacks: pieces of words, and parted numbers."""
    # Both say the same, so what only one of them has is a piece of a word.
    told = _LEFT_OUT.sub("", narrow)
    return [*sorted(_words(told) - _words(wide)), *(each[0] for each in _PARTED.finditer(told))]


def _words(text: str) -> set[str]:
    return {word for word in _DRAWN.split(text) if word}
