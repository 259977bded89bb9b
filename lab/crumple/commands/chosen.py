"""Which servers a command is about: names, variants as node-cluster[workers=2], or folders as ./mine."""

from dataclasses import dataclass
from pathlib import Path

from crumple.commands.project_files import Project
from crumple.errors import NotFound
from crumple.server import server, variant
from crumple.server.server import ServerDescription, Setting
from crumple.server.variant import Variant
from crumple.toml_file import did_you_mean


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
    return [_one(here, name) for each in names for name in variant.split(each)]


def _one(here: Project, text: str) -> Chosen:
    name = variant.server_of(text)
    if is_folder(name):
        description = server.load(Path(name).resolve())
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
    meant = variant.parse(text, {description.name: defaults})
    return Chosen(str(Variant(meant.server, meant.settings)), description, meant.settings)


def is_folder(name: str) -> bool:
    """Whether a server is named by its folder, as ./mine or /home/me/mine, and not by its name."""
    return "/" in name or name in (".", "..")
