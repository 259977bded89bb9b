"""A command saved as a file (--save): `crumple load load.toml -c 20` → the words that it stands for.

Whatever reads the words reads them as if they had been typed. Flags typed beside the file replace those in
it, and so do arguments. `${NAME}` in it stands for a variable of the environment, where its secrets are.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from crumple.errors import FileInvalid, Problem
from crumple.load import load_flags

ENDING = ".toml"
COMMAND, ARGUMENTS = "command", "arguments"
# They are about one measurement, or are in the file as other flags.
NOT_SAVED = frozenset({"save", "name", "curl", "env", "like"})
# "$${" stands for "${" itself.
_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)\}")
Kinds = Mapping[str, Any]


@dataclass
class Typed:
    """A command line."""

    flags: list[str] = field(default_factory=list)
    """The words of flags and their values."""
    named: set[str] = field(default_factory=set)
    """The fields that these flags set."""
    plain: list[str] = field(default_factory=list)
    """The arguments."""
    command: list[str] = field(default_factory=list)
    """The words from the first "--" on."""

    @property
    def arguments(self) -> list[str]:
        """Return all that is no flag."""
        return [*self.plain, *self.command]


def expand(words: Sequence[str], kinds: Kinds) -> list[str]:
    """Return the words of a command line, with what a saved file among them stands for. Raises FileInvalid.

    `kinds`: the flags of each command that can be saved.
    """
    if not words or words[0] not in kinds or not any(word.endswith(ENDING) for word in words):
        return list(words)
    verb, *rest = words
    typed = read(rest, kinds[verb])
    file = next((word for word in typed.plain if is_file(word)), None)
    if file is None:
        return list(words)
    saved, arguments = _saved(Path(file), verb, kinds[verb])
    typed.plain.remove(file)
    if not typed.arguments:
        cut = arguments.index("--") if "--" in arguments else len(arguments)
        typed.plain, typed.command = arguments[:cut], arguments[cut:]
    kept = [word for name, flag_words in saved.items() if name not in typed.named for word in flag_words]
    return [verb, *kept, *typed.flags, *typed.arguments]


def is_file(word: str) -> bool:
    """Return whether an argument names a saved file: one that is there, or a plain name such as load.toml."""
    if not word.endswith(ENDING) or "://" in word:
        return False
    return Path(word).is_file() or not re.search("[/:]", word)


def read(words: Sequence[str], kind: Any) -> Typed:
    """Return what was typed behind the name of a command. Flags that it does not have take no value."""
    known = by_name(kind)
    typed, rest = Typed(), list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            typed.command = [word, *rest]
            break
        if not is_flag(word):
            typed.plain.append(word)
            continue
        of = field_of(word, known)
        typed.flags.append(word)
        if of is None:
            continue
        typed.named.add(of.name)
        if takes_value(of) and value_within(word, known) is None and rest:
            typed.flags.append(rest.pop(0))
    return typed


def is_flag(word: str) -> bool:
    """Return whether a word is a flag, and not an argument."""
    return word.startswith("-") and word != "-"


def field_of(word: str, known: Mapping[str, Field[Any]]) -> Field[Any] | None:
    """Return which flag a word is, alone, as a letter with its value or as --flag=value."""
    name = word.partition("=")[0]
    return known.get(word[:2] if _is_letter(word, known) else name)


def value_within(word: str, known: Mapping[str, Field[Any]]) -> str | None:
    """Return the value that a word of a flag holds; None: the next word is the value, if it takes one."""
    if _is_letter(word, known):
        return word[2:] or None
    _, equals, value = word.partition("=")
    return value if equals else None


def _is_letter(word: str, known: Mapping[str, Field[Any]]) -> bool:
    return word.partition("=")[0] not in known and not word.startswith("--")


def takes_value(of: Field[Any]) -> bool:
    """Return whether a flag is followed by a value."""
    return of.metadata["shown"]["metavar"] is not None


def key_of(of: Field[Any]) -> str:
    """Return the key of a flag in a file: its long name."""
    return load_flags.long_name(of.name)


def by_name(kind: Any) -> dict[str, Field[Any]]:
    """Return the flags of a command by their names."""
    return {name: each for each in fields(kind) for name in load_flags.names(each)}


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
    if not takes_value(of):
        if not isinstance(value, bool):
            raise _Wrong("is neither true nor false", "write true, or leave it out")
        return [flag] if value else []
    if is_list(of):
        return [f"{flag}={_filled(each)}" for each in _texts(value)]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Wrong("is neither text nor a number", f"write it as behind {flag}, in quotes")
    return [f"{flag}={_filled(str(value))}"]


def is_list(of: Field[Any]) -> bool:
    """Return whether a flag may be repeated."""
    return "list[" in str(of.type)


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
