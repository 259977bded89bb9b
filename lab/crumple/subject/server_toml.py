"""One server as its folder describes it: `server.toml` → a frozen `ServerDescription`; and its variants.

A variant is a server with settings other than its defaults, written `php-apache[keep_alive=0,workers=150]`.
This label names it wherever a server is named. This module only reads: `runtimes` looks for what the server
needs, `build` builds it, `servers` starts it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from crumple import toml_file
from crumple.contract import Frozen
from crumple.errors import FileInvalid, NotFound, Problem, UsageError
from crumple.toml_file import did_you_mean

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

    `at_least`: the oldest version that will do. `also`: globs of executables to take where the PATH has none
    that will do. `apt`: the packages that bring it on Debian and Ubuntu; of "a | b" the first there is.
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
    """Commands run one after the other in a private copy of the program's folder; none: nothing to build.

    The name of a requirement in braces stands for the executable that was found for it.
    """

    command: tuple[Command, ...] = ()


class Start(Frozen):
    """What starts it, in that copy, with `{port}`, `{scratch}`, settings and requirements filled in."""

    command: Command
    env: dict[str, str] = Field(default_factory=dict)


class SettingDescription(Frozen):
    """A choice its user has. `default` is what runs if a study says nothing."""

    default: Setting
    meaning: Text


class ServerDescription(Frozen):
    """One program with its runtimes and settings. `name`: of its folder; `program`: of what it is built from.

    The first of `requires` is the runtime whose version stands for the server's; `libraries` are for display.
    `keep_alive`: false if it closes every connection after one answer, whatever its settings.
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
    start: Start
    settings: dict[str, SettingDescription] = Field(default_factory=dict)
    libraries: dict[str, str] = Field(default_factory=dict)

    def keeps_connections(self, settings: Mapping[str, Setting]) -> bool:
        """Whether a connection is there for more than one answer; a setting `keep_alive` of 0 is for one."""
        return self.keep_alive and settings.get("keep_alive") != 0

    @property
    def model_is_checked(self) -> bool:
        """Whether `verify` can hold `io_model` against what the server does."""
        return SHOWS_MODEL in self.workloads

    @property
    def program_folder(self) -> Path:
        """Where the program's source lies: its own folder or a sibling's."""
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
    """`text` with every placeholder replaced by its value; all of them must have one."""
    return PLACEHOLDER.sub(lambda found: values[found[1]], text)


def load(folder: Path) -> ServerDescription:
    """The description in `folder`/server.toml. Raises FileInvalid with every problem of the file."""
    file = folder / FILE
    written = toml_file.read(file)
    problems = [
        Problem(file, key, "is taken from the folder", "remove it")
        for key in ("name", "folder")
        if key in written
    ]
    tables = {"program": folder.name, **written, "name": folder.name, "folder": str(folder)}
    description, invalid = toml_file.meant(ServerDescription, tables, file)
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
