"""A server with settings other than its defaults, as text: `php-apache[keep_alive=0,workers=150]`.

The label names it wherever a server is named. Whether it is in a study is the study's to say; nothing starts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crumple.errors import NotFound, UsageError
from crumple.server.server import ServerDescription, Setting
from crumple.toml_file import did_you_mean

Settings = Mapping[str, Setting]

_LABEL = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]")
# A trial's id is a file's name with "/" written as "__".
_NOT_IN_A_VALUE = ("/", "__", "[", "]", ",")


@dataclass(frozen=True)
class Variant:
    """A server by name, and what is set over its defaults; nothing: the server as it is."""

    server: str
    settings: dict[str, Setting] = field(default_factory=dict)

    def __str__(self) -> str:
        """The label: the settings in order of their names."""
        if not self.settings:
            return self.server
        return f"{self.server}[{','.join(f'{name}={_text(value)}' for name, value in self._sorted())}]"

    def _sorted(self) -> list[tuple[str, Setting]]:
        return sorted(self.settings.items())


def defaults(described: Mapping[str, ServerDescription]) -> dict[str, Settings]:
    """Server → its settings as they are if nobody says otherwise."""
    return {
        name: {setting: each.default for setting, each in server.settings.items()}
        for name, server in described.items()
    }


def is_variant(text: str) -> bool:
    """Whether it is written as a variant; the names in it may stand for nothing."""
    return _LABEL.fullmatch(text) is not None


def server_of(label: str) -> str:
    """The server's name in a label."""
    return label.partition("[")[0]


def parse(text: str, known: Mapping[str, Settings]) -> Variant:
    """What the text means; `known`: server → its settings' defaults, whose types the values take.

    Raises NotFound for an unknown server, UsageError for all else.
    """
    text = text.strip()
    name, inside = _parts(text)
    if name not in known:
        raise NotFound(f'no server is called "{name}"', did_you_mean(name, known))
    settings: dict[str, Setting] = {}
    for part in filter(None, (part.strip() for part in inside.split(","))):
        setting, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not value:
            raise UsageError(f"{text}: {part} sets nothing", f"write {name}[{setting or 'setting'}=value]")
        if setting in settings:
            raise UsageError(f"{text} sets {setting} twice", "keep one of them")
        settings[setting] = typed(name, setting, value, known[name])
    return Variant(name, settings)


def canonical(text: str, known: Mapping[str, Settings]) -> str:
    """The label of a variant that makes sense, an "experiment:" before it kept; other text as it is."""
    experiment, colon, label = "", "", text
    if ":" in server_of(text):
        experiment, colon, label = text.partition(":")
    if not is_variant(label):
        return text
    try:
        return f"{experiment}{colon}{parse(label, known)}"
    except UsageError:
        return text


def canonical_names(written: Any, known: Mapping[str, Settings]) -> Any:
    """Tables as written, with every variant in them by its label, so that equal ones are equal texts."""
    if isinstance(written, str):
        return canonical(written, known)
    if isinstance(written, dict):
        return {canonical(key, known): canonical_names(value, known) for key, value in written.items()}
    if isinstance(written, list):
        return [canonical_names(item, known) for item in written]
    return written


def typed(server: str, setting: str, value: str, defaults: Settings) -> Setting:
    """A setting's value of the type its default has. Raises UsageError."""
    if setting not in defaults:
        raise UsageError(f"server {server} has no setting {setting}", did_you_mean(setting, defaults))
    forbidden = next((mark for mark in _NOT_IN_A_VALUE if mark in value), None)
    if forbidden:
        raise UsageError(f"{setting} = {value}: a setting's value holds no {forbidden}", "leave it out")
    kind = type(defaults[setting])
    try:
        return kind(value)
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise UsageError(
            f"{setting} = {value}: server {server} wants {wanted} there",
            f"write for instance {setting}={_text(defaults[setting])}",
        ) from None


def split(text: str) -> list[str]:
    """Names between commas; those within brackets belong to a variant."""
    names, depth, now = [], 0, ""
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth <= 0:
            names.append(now)
            now = ""
        else:
            now += letter
    return [name.strip() for name in (*names, now) if name.strip()]


def _parts(text: str) -> tuple[str, str]:
    found = _LABEL.fullmatch(text)
    if found:
        return found[1].strip(), found[2]
    if "[" in text or "]" in text:
        raise UsageError(f"{text} is no server with settings", "write it as php-apache[workers=150]")
    return text, ""


def _text(value: Setting) -> str:
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)
