"""All commands as plain data: what a shell completes, and what the pages of the manual say. Types only."""

from typing import TypedDict


class Option(TypedDict):
    """A flag of a command."""

    names: list[str]
    metavar: str
    """What its value is, as help calls it; empty: it takes none."""
    among: list[str]
    """The values, if few."""
    many: bool
    panel: str
    help: str


class Argument(TypedDict):
    """An argument of a command."""

    metavar: str
    """What its value is, as help calls it."""
    among: list[str]
    """The values, if few."""
    many: bool
    help: str


class Command(TypedDict):
    """A command."""

    usage: str
    """How the command is typed."""
    said: list[str]
    """The paragraphs of its help."""
    examples: list[str]
    """Whole commands, one in each."""
    options: list[Option]
    arguments: list[Argument]


class Described(TypedDict):
    """The whole command line."""

    version: str
    top: Command
    """What is typed without a command."""
    commands: dict[str, Command]
    """The commands by name."""
    metrics: list[str]
