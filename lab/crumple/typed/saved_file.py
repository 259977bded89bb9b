"""The flags of a command → the file that repeats it. `${NAME}` stands where a secret was typed."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import Field, fields
from functools import partial
from pathlib import Path
from typing import Any

from crumple import toml_text
from crumple.errors import Mistakes, UsageError
from crumple.typed import masked_command
from crumple.typed.saved_command import ARGUMENTS, COMMAND, NOT_SAVED, key_of
from crumple.typed.typed_command import is_list
from crumple.words import masked, masked_flags

Value = bool | int | str | list[str]


class SavedFile:
    """The text of a file, and the variables that it needs. Raises UsageError for what cannot be saved."""

    def __init__(self, verb: str, arguments: Sequence[str], flags: Any) -> None:
        self.variables: dict[str, str] = {}
        self._verb = verb
        self._used: Counter[str] = Counter()
        mistakes = Mistakes()
        self._arguments = [self._open(each, "URL", masked.url(each)) for each in arguments]
        given = [each for each in fields(flags) if each.name not in NOT_SAVED]
        self._values = {
            each.name: mistakes.of(partial(self._value, each, getattr(flags, each.name)))
            for each in given
            if getattr(flags, each.name) != each.default
        }
        mistakes.none()
        self._panels = _panels([each for each in given if each.name in self._values])

    def text(self, file: Path) -> str:
        """Return the text of the file."""
        said = [f"crumple {self._verb} {file} repeats this. Flags typed beside the file win."]
        said += [f"Before, export {name}=… ({what})." for name, what in self.variables.items()]
        head = [*map(toml_text.comment, said), toml_text.line(COMMAND, self._verb)]
        parts = ["\n".join([*head, toml_text.line(ARGUMENTS, self._arguments)])]
        for panel, given in self._panels.items():
            lines = (toml_text.line(key_of(each), self._shown(each)) for each in given)
            parts.append("\n".join([toml_text.comment(panel), *lines]))
        return "\n\n".join(parts) + "\n"

    def _shown(self, of: Field[Any]) -> Value:
        value = self._values[of.name]
        assert value is not None
        return value

    def _value(self, of: Field[Any], value: Any) -> Value:
        if isinstance(value, bool | int):
            return value
        if is_list(of):
            return [self._text(of, each) for each in value]
        return self._text(of, str(value))

    def _text(self, of: Field[Any], text: str) -> str:
        if of.name == "body":
            _check_body(text)
            return _literal(text)
        if of.name == "form":
            _check_field(text)
            return _literal(text)
        name = text.partition(":")[0] if "header" in of.name else of.name
        return self._open(text, name, masked_command.flag_value(f"--{key_of(of)}", text))

    def _open(self, text: str, name: str, hidden: str) -> str:
        """Return the text with a variable for each of its secrets, which `hidden` masks."""
        if hidden == text:
            return _literal(text)
        if masked.MASK in text:
            raise UsageError(
                f"--save: {name} holds a secret beside {masked.MASK}", "take that character out of it"
            )
        first, *rest = hidden.split(masked.MASK)
        return _literal(first) + "".join(f"${{{self._variable(name)}}}{_literal(part)}" for part in rest)

    def _variable(self, name: str) -> str:
        stem = "CRUMPLE_" + re.sub(r"\W", "_", name.strip(), flags=re.ASCII).upper()
        self._used[stem] += 1
        variable = stem if self._used[stem] == 1 else f"{stem}_{self._used[stem]}"
        self.variables[variable] = f"the secret of {name.strip().replace('_', '-')}"
        return variable


def _panels(given: Sequence[Field[Any]]) -> dict[str, list[Field[Any]]]:
    """Return the flags by the headings under which the help shows them."""
    panels: dict[str, list[Field[Any]]] = {}
    for each in given:
        panels.setdefault(each.metadata["shown"]["rich_help_panel"], []).append(each)
    return panels


def _literal(text: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UsageError("--save: a flag is not UTF-8, and a file must be", "put its value into a file")
    return text.replace("${", "$${")


def _check_body(text: str) -> None:
    if not masked_flags.names_a_file(text) and (name := next(_secrets(text), None)) is not None:
        raise UsageError(
            f"--save: the body holds a secret{name}, which the file must not", "keep it in a file: -d @FILE"
        )


def _check_field(text: str) -> None:
    name, _, value = text.partition("=")
    if value[:1] not in ("@", "<") and masked.is_secret(name, value):
        raise UsageError(
            f"--save: the field {name} holds a secret, which the file must not",
            f"keep it in a file: -F {name}='<FILE'",
        )


def _secrets(body: str) -> Iterator[str]:
    for name in masked.secrets_in(body):
        yield f" ({name})" if name else ""
