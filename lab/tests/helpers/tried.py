"""What a busy machine can spoil is tried again, by one rule.

Only what time alone explains is a `SpoiledError`: a port that another program took, too few readings. A wrong
result is an assertion, and no assertion is tried again. Each repeat is a warning, which pytest lists in the
end.
"""

import warnings
from collections.abc import Callable
from typing import TypeVar

ATTEMPTS = 5
Shown = TypeVar("Shown")


class SpoiledError(Exception):
    """An attempt that showed nothing, and why."""


def until_shown(attempt: Callable[[], Shown]) -> Shown:
    """Return what the first attempt returns that is not spoiled. Raises the last SpoiledError if all are."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except SpoiledError as why:
            warnings.warn(f"tried again, as a busy machine may be the reason: {why}", stacklevel=2)
    return attempt()
