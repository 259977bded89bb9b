"""Values as TOML has them, for files that a person reads and edits."""

import json
from collections.abc import Mapping, Sequence

Value = bool | int | float | str | Sequence[str] | Mapping[str, str]


def line(key: str, value: Value) -> str:
    """Return "key = value", without a line break behind it."""
    return f"{_key(key)} = {text(value)}"


def text(value: Value) -> str:
    """Return a value: text in the quotes with the fewest escapes, and of several lines as lines."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return _lines(value) or _on_a_line(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(name)} = {_on_a_line(each)}" for name, each in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return f"[{', '.join(map(_on_a_line, value))}]"


def comment(said: str) -> str:
    """Return a line of text as a comment; what would end the line is escaped."""
    return f"# {_escaped(said)[1:-1]}".replace('\\"', '"').rstrip()


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else _escaped(name)


def _on_a_line(value: str) -> str:
    return _literal(value) or _escaped(value)


def _escaped(value: str) -> str:
    return "".join(map(_letter, json.dumps(value, ensure_ascii=False)))


def _letter(letter: str) -> str:
    """Return a letter, or its escape where a terminal would not show it."""
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"


def _literal(value: str) -> str | None:
    """Return text in single quotes, in which nothing is escaped; None where double ones do as well."""
    plain = value.isprintable() and "'" not in value
    return f"'{value}'" if plain and ('"' in value or "\\" in value) else None


def _lines(value: str) -> str | None:
    """Return text of several lines as lines; None where that does not show what it holds."""
    is_shown = value.replace("\n", "").isprintable()
    if not is_shown or "\n" not in value or "'''" in value or value.endswith("'"):
        return None
    return f"'''\n{value}'''"
