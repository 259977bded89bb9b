"""What every command needs of the project: its folders, its descriptions, the names that exist."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from crumple import project
from crumple.errors import NotFound
from crumple.record.metrics import METRICS
from crumple.server import servers, variant
from crumple.server.server import ServerDescription
from crumple.server.variant import Settings
from crumple.study import study
from crumple.study.names import Known
from crumple.study.study import ScaleName, Study
from crumple.toml_file import did_you_mean
from crumple.workload import workload
from crumple.workload.workload import Workload


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
        return variant.defaults(self.servers)

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
