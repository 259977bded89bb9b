"""What all commands share: how a command is registered, and the arguments that several commands have.

The tables are the modules `…_commands`: a function per command with its flags, its help and an example, and
no logic. The work of a command is in the other modules. They are imported only when the command is called,
so that help appears at once.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType, CommandInfo

from crumple import extras
from crumple.errors import UsageError
from crumple.load import load_flags


class PlainCommand(TyperCommand):
    """A command, whose help is plain text, and which asks first for what it needs to be installed."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_of(self, ctx))

    def invoke(self, ctx: Any) -> Any:
        extras.check(self.name or "", page=bool(ctx.params.get("html")))
        return super().invoke(ctx)


def help_of(command: TyperCommand | TyperGroup, context: Any) -> str:
    """Return the help of a command, or of all."""
    # Imported here because only help needs it.
    from crumple.commands import help_text

    return help_text.page(command, context)


# The groups in which help lists the commands, in this order.
LOAD, COMPARE, STUDIES, RESULTS = "Load", "Compare", "Studies", "Results"
MACHINE = "Servers and the machine"
GROUPS = (LOAD, COMPARE, STUDIES, RESULTS, MACHINE)


class CommandTable(typer.Typer):
    """Commands that are registered with `@TABLE.command()`, in this order.

    `group`: under which heading help lists them, unless one says another.
    """

    def __init__(self, group: str = MACHINE, **described: Any) -> None:
        super().__init__(**described)
        self._group = group

    def command(
        self, name: str | None = None, *, group: str | None = None, **described: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        return super().command(name, cls=PlainCommand, rich_help_panel=group or self._group, **described)


def in_groups(tables: Iterable[CommandTable]) -> list[CommandInfo]:
    """Return the commands of the tables, group by group."""
    every = [command for table in tables for command in table.registered_commands]
    return sorted(every, key=lambda each: GROUPS.index(str(each.rich_help_panel)))


def refuse_blank(param: typer.CallbackParam, value: Any) -> Any:
    """Return the value; raise UsageError if it is blank, as from an unset variable of a shell."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, str) and not each.strip(" ,"):
            is_option = param.param_type_name == "option"
            what = max(param.opts, key=len) if is_option else (param.metavar or "").strip("…")
            remedy = "give it a value" if param.required else "give it a value, or leave it out"
            raise UsageError(f"{what} is empty", remedy)
    return value


Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON on stdout, in place of the screen.")
]
Color = Annotated[
    str | None,
    typer.Option(metavar="WHEN", help=load_flags.COLOURS, callback=load_flags.colour, is_eager=True),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Install without asking.")]
Servers = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SERVER…",
        help="A server's name, a variant such as name[key=value], or a folder such as ./name. "
        "Default: all servers.",
        callback=refuse_blank,
    ),
]


def example(*lines: str) -> str:
    """Return lines of a shell as the end of a command's help."""
    return "Example: " + "\n".join(lines)
