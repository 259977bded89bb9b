"""All commands as plain data: what a shell completes, and what the pages of the manual say. Types only."""

from typing import TypedDict


class Option(TypedDict):
    """`metavar`: what its value is, as help calls it; empty: it takes none. `among`: the values, if few."""

    names: list[str]
    metavar: str
    among: list[str]
    many: bool
    panel: str
    help: str


class Argument(TypedDict):
    """`metavar`: as help calls it. `among`: the values, if few."""

    metavar: str
    among: list[str]
    many: bool
    help: str


class Command(TypedDict):
    """`usage`: how it is typed; `said`: the paragraphs of its help; `examples`: commands, one each."""

    usage: str
    said: list[str]
    examples: list[str]
    options: list[Option]
    arguments: list[Argument]


class Described(TypedDict):
    """The whole command line. `commands`: by name; `top`: what is typed without one."""

    version: str
    top: Command
    commands: dict[str, Command]
    metrics: list[str]
