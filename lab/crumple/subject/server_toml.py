"""Reads a server's description from its `server.toml` into a frozen `ServerDescription`; parses variants.

A variant is a server with settings other than its defaults, written `php-apache[keep_alive=0,workers=150]`.
This label can be used wherever a server is named. `build` looks for what the server needs and builds it,
`servers` starts it.
"""

import re
import string
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from crumple import parsing
from crumple.contract_base import Frozen
from crumple.errors import CrumpleError, FileInvalid, NotFound, Problem, UsageError
from crumple.parsing import did_you_mean

FILE = "server.toml"

IoModel = Literal[
    "process-per-connection",
    "process-pool",
    "thread-per-connection",
    "thread-pool",
    "event-loop",
    "event-loop-per-core",
    "green-threads",
    "hybrid",
]
Setting = int | float | str
Text = Annotated[str, Field(min_length=1)]
Command = Annotated[tuple[Text, ...], Field(min_length=1)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]

PLACEHOLDER = re.compile(r"\{([\w-]+)\}")
GIVEN_AT_START = ("port", "scratch")
# The workload that waits and does nothing else.
SHOWS_MODEL = "hello"


class Requirement(Frozen):
    """A runtime or tool. `version`: a regular expression with one group, the version in `command`'s output.

    `at_least`: the oldest version that is accepted. `also`: globs of executables to use if the PATH has none
    that is accepted. `apt`: the packages for Debian and Ubuntu; of "a | b" the first that is available.
    """

    command: Command
    version: str
    at_least: Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")] | None = None
    also: tuple[Annotated[str, Field(pattern="^/")], ...] = ()
    apt: tuple[Text, ...] = ()

    @field_validator("version")
    @classmethod
    def _finds_one_version(cls, pattern: str) -> str:
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise _impossible(
                f"is not a regular expression ({error})", "quote it in single quotes"
            ) from error
        if groups != 1:
            raise _impossible(
                f"has {groups} groups", r"put one group around the version, as in 'go(\d+\.\d+)'"
            )
        return pattern


class Build(Frozen):
    """Commands, run one after the other in a private copy of the program's folder; empty: nothing to build.

    A requirement's name in braces is replaced by the executable that was found for it.
    """

    command: tuple[Command, ...] = ()


class StartCommand(Frozen):
    """What starts it, in that copy; `{port}`, `{scratch}`, settings and requirements are filled in."""

    command: Command
    env: dict[str, str] = Field(default_factory=dict)


class SettingDescription(Frozen):
    """A setting that a study may choose. `default`: the value if it does not."""

    default: Setting
    meaning: Text


class ServerDescription(Frozen):
    """One program with its runtimes and settings. `name`: its folder; `program`: the folder it is built from.

    The version of the first of `requires` is shown as the server's; `libraries` are for display only.
    `keep_alive`: False if it closes every connection after one answer, whatever its settings.
    """

    name: Name
    folder: Path
    title: Text
    language: Text
    io_model: IoModel
    keep_alive: bool = True
    workloads: Annotated[tuple[Name, ...], Field(min_length=1)]
    program: Name
    about: Text
    requires: Annotated[dict[str, Requirement], Field(min_length=1)]
    build: Build = Build()
    start: StartCommand
    settings: dict[str, SettingDescription] = Field(default_factory=dict)
    libraries: dict[str, str] = Field(default_factory=dict)

    def keeps_connections(self, settings: Mapping[str, Setting]) -> bool:
        """Whether a connection serves more than one answer; not so if the setting `keep_alive` is 0."""
        return self.keep_alive and settings.get("keep_alive") != 0

    @property
    def model_is_checked(self) -> bool:
        """Return whether `verify` can check `io_model` by what the server does."""
        return SHOWS_MODEL in self.workloads

    @property
    def program_folder(self) -> Path:
        """The folder of the program's source: the server's own, or a sibling's."""
        return self.folder.parent / self.program

    @model_validator(mode="after")
    def _names_are_told_apart(self) -> "ServerDescription":
        for table, names in (("settings", self.settings), ("requires", self.requires)):
            taken = {*GIVEN_AT_START, *(self.requires if table == "settings" else ())}
            for name in names:
                if name in taken:
                    raise _impossible(
                        f"{{{name}}} already stands for something else", f"rename [{table}.{name}]"
                    )
        return self

    @model_validator(mode="after")
    def _placeholders_are_filled(self) -> "ServerDescription":
        used = _placeholders([*self.start.command, *self.start.env.values()])
        if "port" not in used:
            raise _impossible("nothing under [start] says {port}", "pass {port} in command or env")
        for name in sorted(used - {*GIVEN_AT_START, *self.settings, *self.requires}):
            raise _impossible(
                f"[start] says {{{name}}}, which is no setting", f"describe it under [settings.{name}]"
            )
        for name in sorted(_placeholders(part for command in self.build.command for part in command)):
            if name not in self.requires:
                raise _impossible(
                    f"[build] says {{{name}}}, which is no requirement",
                    f"describe it under [requires.{name}]",
                )
        for name in sorted(set(self.settings) - used):
            raise _impossible(f"the setting {name} has no effect", f"say {{{name}}} in [start] or remove it")
        return self


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with every placeholder replaced by its value, which must be in `values`."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], text)


def load(folder: Path) -> ServerDescription:
    """The description in `folder`/server.toml. Raises FileInvalid with every problem of the file."""
    file = folder / FILE
    written = parsing.read_toml(file)
    problems = [
        Problem(file, key, "is taken from the folder", "remove it")
        for key in ("name", "folder")
        if key in written
    ]
    tables = {"program": folder.name, **written, "name": folder.name, "folder": str(folder)}
    description, invalid = parsing.meant(ServerDescription, tables, file)
    problems += invalid
    if description is not None and not description.program_folder.is_dir():
        problems.append(
            Problem(
                file, "program", f"there is no folder {description.program} beside this one", "mend the name"
            )
        )
    if problems or description is None:
        raise FileInvalid(problems)
    return description


def _placeholders(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in PLACEHOLDER.findall(text)}


def _impossible(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("impossible", "{message}", {"message": message, "remedy": remedy})


Settings = Mapping[str, Setting]

_LABEL = re.compile(r"([^\[\]]+)\[([^\[\]]*)\]")
# A trial's id becomes a file name, with "/" written as "__".
_NOT_IN_A_VALUE = ("/", "__", "[", "]", ",")


@dataclass(frozen=True)
class Variant:
    """A server's name, and the settings that differ from its defaults; empty: the server itself."""

    server: str
    settings: dict[str, Setting] = field(default_factory=dict)

    def __str__(self) -> str:
        """The label, with its settings ordered by name."""
        if not self.settings:
            return self.server
        return f"{self.server}[{','.join(f'{name}={_text(value)}' for name, value in self._sorted())}]"

    def _sorted(self) -> list[tuple[str, Setting]]:
        return sorted(self.settings.items())


def defaults(described: Mapping[str, ServerDescription]) -> dict[str, Settings]:
    """Server → its settings' defaults."""
    return {
        name: {setting: each.default for setting, each in server.settings.items()}
        for name, server in described.items()
    }


def is_variant(text: str) -> bool:
    """Whether the text has the form of a variant; the names in it need not exist."""
    return _LABEL.fullmatch(text) is not None


def server_of(label: str) -> str:
    """The server's name in a label."""
    return label.partition("[")[0]


def parse(text: str, known: Mapping[str, Settings]) -> Variant:
    """The server or variant that the text names; `known`: server → its settings' defaults.

    Values get the types of the defaults. Raises NotFound for an unknown server, UsageError for all else.
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
        settings[setting] = convert(name, setting, value, known[name])
    return Variant(name, settings)


def canonical(text: str, known: Mapping[str, Settings]) -> str:
    """The label of the variant that the text names, after its "experiment:" if any; other text unchanged."""
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
    """The tables with each variant replaced by its label, so that equal variants are equal texts."""
    if isinstance(written, str):
        return canonical(written, known)
    if isinstance(written, dict):
        return {canonical(key, known): canonical_names(value, known) for key, value in written.items()}
    if isinstance(written, list):
        return [canonical_names(item, known) for item in written]
    return written


def convert(server: str, setting: str, value: str, defaults: Settings) -> Setting:
    """A setting's value, converted to the type of its default. Raises UsageError."""
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
    """The names between commas; a comma in brackets belongs to a variant."""
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


STARTER = Path(__file__).parent / "starter"
NEW_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
LANGUAGE = re.compile(r"[^\"\\\x00-\x1f]+")


def write_new(folder: Path, language: str, taken: Collection[str]) -> tuple[Path, ...]:
    """Write a folder to begin a server with: a commented server.toml and a small program that works.

    Returns the files. `taken`: names of servers. Overwrites nothing. Raises UsageError and CrumpleError.
    """
    name = folder.name
    if not NEW_NAME.fullmatch(name):
        raise UsageError(f'"{name}" is no name for a server', "use small letters, digits and hyphens")
    if not LANGUAGE.fullmatch(language):
        raise UsageError(f"--language {language}: that is no name", "write it plainly, such as Python")
    if folder.exists():
        raise UsageError(f"{folder} exists", "choose another name, or remove it first")
    if name in taken:
        raise UsageError(f"a server named {name} already exists", "choose another name")
    try:
        folder.mkdir(parents=True)
        files = tuple(_written_new(file, folder, name, language) for file in sorted(STARTER.iterdir()))
    except OSError as error:
        raise CrumpleError(
            f"cannot write {error.filename}: {error.strerror}", "choose another place"
        ) from None
    return files


def _written_new(file: Path, folder: Path, name: str, language: str) -> Path:
    text = file.read_text(encoding="utf-8")
    if file.name == FILE:
        values = {"name": name, "title": name.replace("-", " ").capitalize(), "language": language}
        text = string.Template(text).substitute(values)
    written = folder / file.name
    written.write_text(text, encoding="utf-8")
    return written
