"""The parts of an OpenAPI document: where a $ref leads, and how many steps may be taken in all.

By YAML's anchors a few bytes may name a large part once more, so the steps that a whole document takes are
bounded: to find parts, to make examples, to check them and to write them.
"""

import re
from typing import Any
from urllib.parse import unquote

SHOWN_MAX = 80
# As a $ref may lead to another, and as long as one may be.
REFERENCES_MAX, REFERENCE_LETTERS_MAX = 100, 2_000
# The largest documents of an API take some millions. A step takes one or two microseconds.
STEPS_MAX = 20_000_000
# As many letters take as long as a step to write.
LETTERS_A_STEP = 16
_INDEX = re.compile(r"[0-9]{1,9}")


class NoExample(Exception):  # noqa: N818 - says what happened
    """Why a request cannot be made, as the end of a sentence about it. `detail`: what is wrong in it."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.detail = detail


class TooManySteps(Exception):  # noqa: N818 - says what happened
    """The document takes more than STEPS_MAX steps."""


def short(text: str) -> str:
    """Return a text, or its beginning, as it stands in a sentence."""
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 1]}…"


class Parts:
    """Finds the parts of one document and counts steps. Every method raises TooManySteps."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._steps = 0

    def take(self, steps: int = 1, *, letters: int = 0) -> None:
        """Count steps, and letters that are written."""
        self._steps += steps + letters // LETTERS_A_STEP
        if self._steps > STEPS_MAX:
            raise TooManySteps

    def pointed(self, part: Any) -> Any:
        """Return what a $ref leads to, over others if need be, or the part itself. Raises NoExample."""
        seen: set[str] = set()
        while isinstance(part, dict) and isinstance(reference := part.get("$ref"), str):
            if reference in seen:
                raise NoExample(f"with a $ref that leads back to itself ({short(reference)})")
            if len(seen) == REFERENCES_MAX:
                raise NoExample(f"with more than {REFERENCES_MAX} $ref that lead to each other")
            seen.add(reference)
            part = self.at(reference)
        return part

    def at(self, reference: str) -> Any:
        """Return the part that a $ref names. Raises NoExample."""
        if not reference.startswith("#"):
            raise NoExample(f"with a $ref to another document ({short(reference.partition('#')[0])})")
        if len(reference) > REFERENCE_LETTERS_MAX:
            raise NoExample(f"with a $ref of more than {REFERENCE_LETTERS_MAX:,} letters")
        part = self.document
        for step in filter(None, reference[1:].split("/")):
            self.take()
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(part, list) and _INDEX.fullmatch(name) and int(name) < len(part):
                part = part[int(name)]
            elif isinstance(part, dict) and name in part:
                part = part[name]
            else:
                raise NoExample(f"with a $ref to what is not there ({short(reference)})")
        return part
