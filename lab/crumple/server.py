"""One server as its folder describes it: `server.toml` → a frozen `ServerDescription`.

Reading only: whether its runtimes are there is `runtimes`, building is `build`, running is `start`.
"""

import re
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

PLACEHOLDER = re.compile(r"\{(\w+)\}")
GIVEN_AT_START = ("port", "scratch")


class Requirement(Frozen):
    """A runtime or tool. `version`: a regular expression with one group, the version in `command`'s output.

    `at_least`: the oldest version that will do; `apt`: the packages that bring it on Debian and Ubuntu.
    """

    command: Command
    version: str
    at_least: Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")] | None = None
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
    """Commands run one after the other in a private copy of the program's folder; none: nothing to build."""

    command: tuple[Command, ...] = ()


class Start(Frozen):
    """What starts it, in that private copy, with `{port}`, `{scratch}` and the settings filled in."""

    command: Command
    env: dict[str, str] = Field(default_factory=dict)


class SettingDescription(Frozen):
    """A choice its user has. `default` is what runs if a study says nothing."""

    default: Setting
    meaning: Text


class ServerDescription(Frozen):
    """One program with its runtimes and settings. `name`: of its folder; `program`: of what it is built from.

    The first of `requires` is the runtime whose version stands for the server's; `libraries` are for display.
    """

    name: Name
    folder: Path
    title: Text
    language: Text
    io_model: IoModel
    workloads: Annotated[tuple[Name, ...], Field(min_length=1)]
    program: Name
    about: Text
    requires: Annotated[dict[str, Requirement], Field(min_length=1)]
    build: Build = Build()
    start: Start
    settings: dict[str, SettingDescription] = Field(default_factory=dict)
    libraries: dict[str, str] = Field(default_factory=dict)

    @property
    def program_folder(self) -> Path:
        """Where the program's source lies: its own folder or a sibling's."""
        return self.folder.parent / self.program

    @model_validator(mode="after")
    def _placeholders_are_filled(self) -> "ServerDescription":
        written = " ".join([*self.start.command, *self.start.env.values()])
        used = set(PLACEHOLDER.findall(written))
        if "port" not in used:
            raise _impossible("nothing under [start] says {port}", "pass {port} in command or env")
        unknown = sorted(used - {*GIVEN_AT_START, *self.settings})
        if unknown:
            raise _impossible(
                f"[start] says {{{unknown[0]}}}, which is no setting",
                f"describe it under [settings.{unknown[0]}]",
            )
        unused = sorted(set(self.settings) - used)
        if unused:
            raise _impossible(
                f"the setting {unused[0]} has no effect", f"say {{{unused[0]}}} in [start] or remove it"
            )
        return self


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


def _impossible(message: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("impossible", "{message}", {"message": message, "remedy": remedy})
