"""A word of a command line as its pieces come → the words that bash makes of it.

What a variable stands for outside quotes is divided at blanks. A word with * ? or [ outside quotes that fits
names of files stands for those.
"""

import glob
import re
from pathlib import Path

from crumple.errors import UsageError

_BRACES = re.compile(r"\{(?=[^{}\s]*+\})(?:[^{}\s]*,[^{}\s]*|-?\w+\.\.-?\w+(?:\.\.\d+)?)\}")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=")
# Stands for a piece in quotes.
_QUOTED = "\0"


class Pieces:
    """The pieces of a word. `may_assign`: NAME=… would be an assignment here; `splits`: bash divides it."""

    def __init__(self, *, may_assign: bool, splits: bool) -> None:
        self._may_assign, self._splits = may_assign, splits
        self._texts, self._patterns, self._bare = [""], [""], ""

    def add(self, text: str, *, is_quoted: bool) -> None:
        """Add a character, or a piece in quotes."""
        self._texts[-1] += text
        self._patterns[-1] += glob.escape(text) if is_quoted else text
        self._bare += _QUOTED if is_quoted else text

    def add_filled_in(self, value: str) -> None:
        """Add what a variable or a command outside quotes stands for."""
        whole = not self._splits or self.is_assignment
        first, *rest = [value] if whole else re.split(r"[ \t\n]+", value)
        self._texts[-1] += first
        self._patterns[-1] += first
        self._texts += rest
        self._patterns += rest

    @property
    def is_assignment(self) -> bool:
        """Whether bash takes the word for an assignment."""
        return self._may_assign and _ASSIGNS.match(self._bare) is not None

    @property
    def is_bare(self) -> bool:
        """Whether nothing in the word is quoted."""
        return _QUOTED not in self._bare

    def words(self) -> list[tuple[str, bool]]:
        """Return each word, and whether it stands for names of files. Raises UsageError."""
        if _BRACES.search(self._bare):
            raise UsageError(
                "--curl: braces outside quotes stand for several words in a shell",
                "put what has braces into quotes",
            )
        if re.match(r"~(?:/|$)", self._bare):
            self._texts[0] = str(Path("~").expanduser()) + self._texts[0][1:]
        may_be_names = self._splits and not self.is_assignment
        return [
            (text, may_be_names and _fits_names(pattern))
            for text, pattern in zip(self._texts, self._patterns, strict=True)
            if text or not self.is_bare
        ]


def _fits_names(pattern: str) -> bool:
    return glob.has_magic(pattern) and "\0" not in pattern and bool(glob.glob(pattern))  # noqa: PTH207 - as bash does
