"""What is compared: a version as typed → a URL, a server with its settings, a commit of one, or a command.

Reads files and asks git for commits. Nothing is built, started or sent here.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crumple.errors import NotFound, UsageError
from crumple.find.find_plan import is_server
from crumple.load import target
from crumple.load.load_flags import TargetFlags
from crumple.load.target import Resolved
from crumple.machine.load_machine import LoadMachine
from crumple.parsing import did_you_mean
from crumple.subject import command_start, commits, server_toml
from crumple.subject.server_toml import ServerDescription, Setting, Variant
from crumple.typed import masked_command
from crumple.words import masked

LETTERS = "ABCDEFGH"
# How many digits of a commit's hash are shown.
SHORT_HASH = 9

Known = Callable[[], Mapping[str, ServerDescription]]


@dataclass(frozen=True)
class UrlVersion:
    """A server that runs already."""

    resolved: Resolved

    @property
    def label(self) -> str:
        """How reports name it."""
        return masked.url(self.resolved.url)


@dataclass(frozen=True)
class ServerVersion:
    """A server that has a folder with a server.toml."""

    description: ServerDescription
    settings: Mapping[str, Setting]
    """The settings that were given."""
    label: str


@dataclass(frozen=True)
class CommitVersion:
    """A server's folder at a commit, by its full hash."""

    folder: Path
    commit: str
    settings: str
    """The settings as typed, with brackets, or empty."""
    label: str


@dataclass(frozen=True)
class CommandVersion:
    """A server that a command starts."""

    words: tuple[str, ...]
    at: str = ""
    """The commit at which the working folder is taken, as typed."""
    commit: str = ""
    """The full hash of that commit; empty: the working folder as it is."""

    @property
    def label(self) -> str:
        """How reports name it."""
        words = " ".join(masked_command.arguments(self.words))
        return f"{words} at {self.at}{_short(self.commit, self.at)}" if self.commit else words


VersionKind = UrlVersion | ServerVersion | CommitVersion | CommandVersion


@dataclass(frozen=True)
class Version:
    """One of what is compared."""

    letter: str
    """A for the first, which the others are compared with."""
    kind: VersionKind

    @property
    def label(self) -> str:
        """How reports name it, beside its letter."""
        return self.kind.label


def split(words: Sequence[str], typed: Sequence[str]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the versions named, and the commands, each of which follows a "--". Raises UsageError.

    `typed`: the whole command line.
    """
    if "--" not in typed:
        return [*words], []
    after = [*typed[list(typed).index("--") + 1 :]]
    commands: list[list[str]] = [[]]
    for word in after:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    if not all(commands):
        raise UsageError("-- without a command", "write crumple versus URL -- ./server --port {port}")
    return [*words[: len(words) - len(after)]], [tuple(command) for command in commands]


def read(text: str, flags: TargetFlags, known: Known, machine: LoadMachine | None = None) -> VersionKind:
    """Return what the text names; `known`: the servers of the project; `machine`: which loads it.

    Raises UsageError.
    """
    name = server_toml.server_of(text)
    settings = text.removeprefix(name)
    folder, at, commit = name.rpartition("@")
    if "://" not in text and at and (_is_folder(folder) or is_server(folder)):
        return _commit_version(folder, commit, settings, known)
    if "://" not in text and _is_folder(name):
        return of_folder(Path(name).resolve(), settings, name)
    if name.startswith(("./", "../")):
        raise UsageError(f"{text}: there is no folder {name}", "check the path")
    if is_server(text):
        return _server_named(text, name, known())
    return UrlVersion(target.resolve(text, flags, machine))


def command(words: tuple[str, ...]) -> CommandVersion:
    """Return the server that a command starts. Raises UsageError."""
    command_start.check(words)
    return CommandVersion(words)


def command_at(words: tuple[str, ...], commit: str) -> CommandVersion:
    """Return the server that a command starts in the folder as it was at a commit. Raises UsageError.

    A path in the folder is not looked for, as a commit may build it.
    """
    if "/" not in words[0]:
        command_start.check(words)
    return CommandVersion(words, commit, commits.find_commit(Path.cwd(), commit))


def of_folder(folder: Path, settings: str, name: str) -> ServerVersion:
    """Return the server in a folder, named so, with settings as typed. Raises FileInvalid, UsageError."""
    description = server_toml.load(folder)
    return _with(description, settings, name)


def same(one: VersionKind, other: VersionKind) -> bool:
    """Whether both are one thing: the same URL, the same server with the same settings, the same command."""
    if isinstance(one, ServerVersion) and isinstance(other, ServerVersion):
        return one.description.folder == other.description.folder and one.settings == other.settings
    if isinstance(one, CommitVersion) and isinstance(other, CommitVersion):
        return dataclasses.replace(one, label=other.label) == other
    if isinstance(one, CommandVersion) and isinstance(other, CommandVersion):
        return (one.words, one.commit) == (other.words, other.commit)
    return one == other


def _is_folder(name: str) -> bool:
    return ("/" in name or name in (".", "..")) and Path(name).is_dir()


def _server_named(text: str, name: str, known: Mapping[str, ServerDescription]) -> ServerVersion:
    if name not in known:
        beside = f"to name the folder, write ./{name}" if Path(name).is_dir() else did_you_mean(name, known)
        raise NotFound(f'no server is called "{name}"', beside)
    return _with(known[name], text.removeprefix(name), name)


def _with(description: ServerDescription, settings: str, name: str) -> ServerVersion:
    variant = server_toml.parse(
        description.name + settings, server_toml.defaults({description.name: description})
    )
    label = str(Variant(description.name, variant.settings)).removeprefix(description.name)
    return ServerVersion(description, variant.settings, name + label)


def _commit_version(folder: str, commit: str, settings: str, known: Known) -> CommitVersion:
    place = Path(folder).resolve()
    if not _is_folder(folder):
        servers = known()
        if folder not in servers:
            raise NotFound(f'no server is called "{folder}"', did_you_mean(folder, servers))
        place = servers[folder].folder
    typed = commit or "HEAD"
    full = commits.find_commit(place, typed)
    return CommitVersion(place, full, settings, f"{folder}@{typed}{settings}{_short(full, typed)}")


def _short(commit: str, typed: str) -> str:
    """Return the beginning of a commit's hash in parentheses; empty: it is what was typed."""
    return "" if commit.startswith(typed) else f" ({commit[:SHORT_HASH]})"
