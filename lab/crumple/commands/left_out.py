"""Adds the command `load` to a line that begins with a URL, a flag of `load` or a saved file.

It reads the command that a saved file names; otherwise it looks at the words only.
"""

import difflib
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from crumple.errors import UsageError

LOADS, FIRST_LOOK = "load", "--first-look"
SAVED = ".toml"
_OWN_FLAGS = ("-h", "--help", "-V", "--version")
_REST = r"([/?].*)?"
_URL = re.compile(
    rf"""
      [a-z][a-z0-9+.-]*://.*                    # with a scheme
    | ([\w.-]*|\[[0-9a-f:.]+(%\w+)?\]):\d+{_REST}    # localhost:8080/, :8080, [::1]:8080
    | container:.*                              # container:shop-api/orders
    | (localhost|\[[0-9a-f:.]+(%\w+)?\]){_REST}
    | [\w-]+(\.[\w-]+)+{_REST}                  # 127.0.0.1, example.org/path
    """,
    re.VERBOSE | re.IGNORECASE,
)


def with_verb(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the words with the command that was left out, if one was. Raises UsageError and FileInvalid.

    A URL, also behind flags, is given a first look. A saved file is repeated.
    """
    first = next(iter(words), "")
    if not first or first in commands or first in _OWN_FLAGS:
        return list(words)
    if first.endswith(SAVED) and Path(first).is_file():
        return [_saved_verb(Path(first), commands), *words]
    if any(map(is_url, _arguments(words) if first.startswith("-") else [first])):
        return [LOADS, *words, FIRST_LOOK]
    if first.startswith("-"):
        return list(words)
    near = difflib.get_close_matches(first, commands, n=2)
    remedy = f"did you mean {' or '.join(near)}?" if near else "see: crumple --help"
    raise UsageError(f"there is no command {first}", remedy)


def _arguments(words: Sequence[str]) -> list[str]:
    # Imported here because few flags stand before a URL.
    from crumple.load.load_flags import LoadFlags
    from crumple.typed import typed_command

    return typed_command.read(words, LoadFlags).plain


def _saved_verb(file: Path, commands: Collection[str]) -> str:
    # Imported here because it takes time, and few commands are repeated.
    from crumple import parsing
    from crumple.typed.saved_command import COMMAND

    verb = parsing.read_toml(file).get(COMMAND)
    if verb not in commands:
        raise UsageError(f"{file} names no command", f'add {COMMAND} = "load", for instance')
    return str(verb)


def is_url(word: str) -> bool:
    """Return whether a word can only be a URL, with or without http://; the name of a file is none."""
    return bool(_URL.fullmatch(word)) and not Path(word).exists()
