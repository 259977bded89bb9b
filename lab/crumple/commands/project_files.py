"""The project as commands use it: its folders, and its servers, workloads and studies by name.

A server is given by its name, as a variant such as node-cluster[workers=2], or by its folder such as ./mine.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crumple import project
from crumple.errors import NotFound
from crumple.parsing import did_you_mean
from crumple.record.metrics import METRICS
from crumple.study import study
from crumple.study.claim import ScaleName
from crumple.study.names import Known
from crumple.study.study import Study
from crumple.subject import server_toml, servers, workload
from crumple.subject.server_toml import ServerDescription, Setting, Settings, Variant
from crumple.subject.workload import Workload


@dataclass(frozen=True)
class Project:
    """The project in `root`. Its files are read when they are asked for; only runs are written."""

    root: Path

    @classmethod
    def here(cls) -> "Project":
        """Return the project that `project.root` finds. Raises UsageError."""
        return cls(project.root())

    @property
    def runs(self) -> Path:
        """Return the folder in which runs are stored."""
        return project.runs(self.root)

    @cached_property
    def servers(self) -> dict[str, ServerDescription]:
        """Return name → server. Raises FileInvalid."""
        return servers.find(self.root)

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """Return name → workload. Raises FileInvalid."""
        return workload.find(self.root)

    @cached_property
    def defaults(self) -> dict[str, Settings]:
        """Return server → its settings with their defaults. Raises FileInvalid."""
        return server_toml.defaults(self.servers)

    def study(self, name: str) -> Study:
        """Return the study of that name or file. Raises NotFound, FileInvalid."""
        known = Known(
            servers={each.name: each.workloads for each in self.servers.values()},
            workloads={each.name: tuple(each.parameters) for each in self.workloads.values()},
            metrics=tuple(METRICS),
            defaults=self.defaults,
        )
        return study.load(name, self.root, known)

    def chosen(self, names: list[str]) -> list[ServerDescription]:
        """Return the named servers, or all if none is named. Raises NotFound."""
        for name in names:
            if name not in self.servers:
                raise NotFound(f'no server is called "{name}"', did_you_mean(name, self.servers))
        return [self.servers[name] for name in names or self.servers]

    def of_articles(self, scale: ScaleName) -> list[str]:
        """Return the names of the studies of articles that have that scale. Raises FileInvalid."""
        return [
            name for name in study.find(self.root) if (each := self.study(name)).article and each.has(scale)
        ]


@dataclass(frozen=True)
class ChosenServer:
    """A server as the user named it. `label`: its name with the settings given."""

    label: str
    description: ServerDescription
    settings: dict[str, Setting]


def chosen(here: Project, names: list[str]) -> list[ChosenServer]:
    """Return the named servers, or all if none is named. Raises NotFound, UsageError, FileInvalid."""
    if not names:
        return [ChosenServer(name, description, {}) for name, description in here.servers.items()]
    return [_one(here, name) for each in names for name in server_toml.split(each)]


def _one(here: Project, text: str) -> ChosenServer:
    name = server_toml.server_of(text)
    if is_folder(name):
        description = server_toml.load(Path(name).resolve())
        text = description.name + text.removeprefix(name)
    elif name in here.servers:
        description = here.servers[name]
    else:
        beside = Path(name)
        remedy = (
            f"to name the folder, write ./{name}" if beside.is_dir() else did_you_mean(name, here.servers)
        )
        raise NotFound(f'no server is called "{name}"', remedy)
    defaults = {key: setting.default for key, setting in description.settings.items()}
    meant = server_toml.parse(text, {description.name: defaults})
    return ChosenServer(str(Variant(meant.server, meant.settings)), description, meant.settings)


def is_folder(name: str) -> bool:
    """Return whether this names a folder, such as ./mine or /home/me/mine, and not a server."""
    return "/" in name or name in (".", "..")
