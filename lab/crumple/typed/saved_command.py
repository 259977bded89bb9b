"""A command saved as a file (--save): `crumple load load.toml -c 20` → the words that it stands for.

Whatever reads the words reads them as if they had been typed. Flags typed beside the file replace those in
it, and so do arguments. `${NAME}` in it stands for a variable of the environment, where its secrets are.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from crumple.errors import FileInvalid, Problem
from crumple.load import load_flags
from crumple.typed import typed_command

ENDING = ".toml"
COMMAND, ARGUMENTS = "command", "arguments"
# They are about one measurement, or are in the file as other flags.
NOT_SAVED = frozenset({"save", "name", "curl", "env", "like"})
# "$${" stands for "${" itself.
_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)\}")
Kinds = Mapping[str, Any]


def expand(words: Sequence[str], kinds: Kinds) -> list[str]:
    """Return the words of a command line, with what a saved file among them stands for. Raises FileInvalid.

    `kinds`: the flags of each command that can be saved.
    """
    if not words or words[0] not in kinds or not any(word.endswith(ENDING) for word in words):
        return list(words)
    verb, *rest = words
    typed = typed_command.read(rest, kinds[verb])
    file = next((word for word in typed.plain if is_file(word)), None)
    if file is None:
        return list(words)
    saved, arguments = _saved(Path(file), verb, kinds[verb])
    typed.plain.remove(file)
    if not typed.arguments:
        cut = arguments.index("--") if "--" in arguments else len(arguments)
        typed.plain, typed.end = arguments[:cut], arguments[cut:]
    kept = [word for name, flag_words in saved.items() if not typed.has(name) for word in flag_words]
    return [verb, *kept, *typed.words()]


def is_file(word: str) -> bool:
    """Return whether an argument names a saved file: one that is there, or a plain name such as load.toml."""
    if not word.endswith(ENDING) or "://" in word:
        return False
    return Path(word).is_file() or not re.search("[/:]", word)


def key_of(of: Field[Any]) -> str:
    """Return the key of a flag in a file: its long name."""
    return load_flags.long_name(of.name)


def _saved(file: Path, verb: str, kind: Any) -> tuple[dict[str, list[str]], list[str]]:
    """Return the words of each field in a file, and its arguments. Raises FileInvalid with every problem."""
    # Imported here because few commands are saved, and it needs pydantic.
    from crumple import parsing

    tables = parsing.read_toml(file)
    known = {key_of(each): each for each in fields(kind) if each.name not in NOT_SAVED}
    problems = _not_of(verb, tables, file)
    words: dict[str, list[str]] = {}
    arguments: list[str] = []
    for key, value in tables.items():
        if key == COMMAND or (problems and problems[0].key == COMMAND):
            continue
        try:
            if key == ARGUMENTS:
                arguments = [_filled(each) for each in _texts(value)]
            elif key in known:
                words[known[key].name] = _words(known[key], value)
            else:
                remedy = parsing.did_you_mean(key, [*known, ARGUMENTS])
                problems.append(Problem(file, key, "unknown key", remedy))
        except _Wrong as wrong:
            problems.append(Problem(file, key, wrong.message, wrong.remedy))
    if problems:
        raise FileInvalid(problems)
    return words, arguments


def _not_of(verb: str, tables: Mapping[str, Any], file: Path) -> list[Problem]:
    """Return why the file is not of this command."""
    found = tables.get(COMMAND)
    if found is None:
        return [Problem(file, COMMAND, "is missing", f'add {COMMAND} = "{verb}" at the top')]
    if found != verb:
        return [Problem(file, COMMAND, f'is "{found}"', f"repeat it with crumple {found} {file}")]
    return []


class _Wrong(Exception):  # noqa: N818 - says what happened
    """A value that a key cannot have."""

    def __init__(self, message: str, remedy: str) -> None:
        self.message, self.remedy = message, remedy


def _words(of: Field[Any], value: Any) -> list[str]:
    flag = f"--{key_of(of)}"
    if not typed_command.takes_value(of):
        if not isinstance(value, bool):
            raise _Wrong("is neither true nor false", "write true, or leave it out")
        return [flag] if value else []
    if typed_command.is_list(of):
        return [f"{flag}={_filled(each)}" for each in _texts(value)]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Wrong("is neither text nor a number", f"write it as behind {flag}, in quotes")
    return [f"{flag}={_filled(str(value))}"]


def _texts(value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    raise _Wrong("is no list of texts", 'write ["…", "…"]')


def _filled(text: str) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return "${"
        if found[1] not in os.environ:
            raise _Wrong(f"needs the variable {found[1]}, which is not set", f"export {found[1]}=…")
        return os.environ[found[1]]

    return _VARIABLE.sub(value, text)
