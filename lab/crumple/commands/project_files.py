"""What every command needs of the project: its folders, its descriptions, the names that exist.

Servers are named by name, as a variant such as node-cluster[workers=2], or by folder such as ./mine.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crumple import project
from crumple.errors import NotFound
from crumple.parsing import did_you_mean
from crumple.record.metrics import METRICS
from crumple.study import study
from crumple.study.names import Known
from crumple.study.study import ScaleName, Study
from crumple.subject import server_toml, servers, workload
from crumple.subject.server_toml import ServerDescription, Setting, Settings, Variant
from crumple.subject.workload import Workload


@dataclass(frozen=True)
class Project:
    """The project in `root`, read when asked for; never written to but for its runs."""

    root: Path

    @classmethod
    def here(cls) -> "Project":
        """The one `project.root` finds. Raises UsageError."""
        return cls(project.root())

    @property
    def runs(self) -> Path:
        """Where runs are stored."""
        return project.runs(self.root)

    @cached_property
    def servers(self) -> dict[str, ServerDescription]:
        """By name. Raises FileInvalid."""
        return servers.find(self.root)

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """By name. Raises FileInvalid."""
        return workload.find(self.root)

    @cached_property
    def defaults(self) -> dict[str, Settings]:
        """Server → its settings with their defaults. Raises FileInvalid."""
        return server_toml.defaults(self.servers)

    def study(self, name: str) -> Study:
        """Raises NotFound, FileInvalid."""
        known = Known(
            servers={each.name: each.workloads for each in self.servers.values()},
            workloads={each.name: tuple(each.parameters) for each in self.workloads.values()},
            metrics=tuple(METRICS),
            defaults=self.defaults,
        )
        return study.load(name, self.root, known)

    def chosen(self, names: list[str]) -> list[ServerDescription]:
        """The servers named, or all. Raises NotFound."""
        for name in names:
            if name not in self.servers:
                raise NotFound(f'no server is called "{name}"', did_you_mean(name, self.servers))
        return [self.servers[name] for name in names or self.servers]

    def of_articles(self, scale: ScaleName) -> list[str]:
        """Names of the studies that re-check an article and have that scale. Raises FileInvalid."""
        return [
            name for name in study.find(self.root) if (each := self.study(name)).article and each.has(scale)
        ]


@dataclass(frozen=True)
class Chosen:
    """A server as it was asked for. `label`: its name, with the settings given to it."""

    label: str
    description: ServerDescription
    settings: dict[str, Setting]


def chosen(here: Project, names: list[str]) -> list[Chosen]:
    """The servers named, or all. Raises NotFound, UsageError, FileInvalid."""
    if not names:
        return [Chosen(name, description, {}) for name, description in here.servers.items()]
    return [_one(here, name) for each in names for name in server_toml.split(each)]


def _one(here: Project, text: str) -> Chosen:
    name = server_toml.server_of(text)
    if is_folder(name):
        description = server_toml.load(Path(name).resolve())
        text = description.name + text.removeprefix(name)
    elif name in here.servers:
        description = here.servers[name]
    else:
        beside = Path(name)
        remedy = (
            f"for the folder here write ./{name}" if beside.is_dir() else did_you_mean(name, here.servers)
        )
        raise NotFound(f'no server is called "{name}"', remedy)
    defaults = {key: setting.default for key, setting in description.settings.items()}
    meant = server_toml.parse(text, {description.name: defaults})
    return Chosen(str(Variant(meant.server, meant.settings)), description, meant.settings)


def is_folder(name: str) -> bool:
    """Whether a server is named by its folder, as ./mine or /home/me/mine, and not by its name."""
    return "/" in name or name in (".", "..")
