"""The files that a command line reads, as the commands before curl leave them.

Nothing is executed, and nothing is written: a text that a command before curl writes to a file is taken from
where it stands. What stands nowhere is refused, because a file of that name here may be an old one.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from crumple.errors import UsageError

# Returns the text that is written to a file; None: nobody knows it without executing the command.
Text = Callable[[], str | None]
_RUN_IT_FIRST = "run it first, and give the command of curl alone"


@dataclass
class Files:
    """What commands before curl do to files."""

    moved_by: str = ""
    """A command that goes to another folder; empty: there is none."""
    changed_by: str = ""
    """A command that may write to any file; empty: there is none."""
    _written: dict[str, tuple[str, Text]] = field(default_factory=dict)

    def write(self, name: str, by: str, text: Text) -> None:
        """Take note of a file that a command writes."""
        if self.moved_by and not Path(name).is_absolute():
            # Which file that is by its whole path, only a shell knows.
            self.changed_by = by
        self._written[self._key(name)] = (by, text)

    def move(self, by: str) -> None:
        """Take note of a command that goes to another folder."""
        if any(key.startswith(_BEHIND_A_MOVE) for key in self._written):
            self.changed_by = by
        self._written = {
            key: each for key, each in self._written.items() if not key.startswith(_BEHIND_A_MOVE)
        }
        self.moved_by = by

    def written(self, name: str) -> str | None:
        """Return the text that is written to a file; None: it is as it lies here. Raises UsageError."""
        by, text = self._written.get(self._key(name), ("", None))
        if text is not None:
            known = text()
            if known is None:
                raise UsageError(f"--curl: {by} writes {name}, and nothing is executed", _RUN_IT_FIRST)
            return known
        if self.changed_by:
            raise UsageError(
                f"--curl: {self.changed_by} may write {name} before curl reads it, and nothing is executed",
                _RUN_IT_FIRST,
            )
        if self.moved_by and not Path(name).is_absolute():
            raise UsageError(
                f"--curl: {self.moved_by} goes to another folder, and curl reads {name} there",
                "write the whole path of the file",
            )
        return None

    def check(self, name: str) -> None:
        """Refuse a file that is not as it lies here. Raises UsageError."""
        if self.written(name) is not None:
            by, _ = self._written[self._key(name)]
            raise UsageError(f"--curl: {by} writes {name}, and nothing is executed", _RUN_IT_FIRST)

    def read(self, name: str) -> str:
        """Return the text of a file. Raises UsageError."""
        text = self.written(name)
        return _text_here(name) if text is None else text

    def _key(self, name: str) -> str:
        if self.moved_by and not Path(name).is_absolute():
            return _BEHIND_A_MOVE + os.path.normpath(name)
        return os.path.abspath(name)  # noqa: PTH100 - takes ".." out, as a name needs no file here


_BEHIND_A_MOVE = "…/"


def _text_here(name: str) -> str:
    path = Path(name)
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"--curl: {name} is no file that ends", "write what it holds to a file")
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--curl: cannot read {name}: {why}", "check the path") from None
