"""One server as its folder describes it: `server.toml` → a frozen `ServerDescription`.

Reading only: whether its runtimes are there is `runtimes`, building is `build`, running is `start`.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from crumple import toml_file
from crumple.contract import Frozen
from crumple.errors import FileInvalid, Problem

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
