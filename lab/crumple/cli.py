"""The command line: all commands, how they are called, and how the program ends after an error.

The commands are in `commands`, by subject; `commands.table` says how one is registered.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from crumple import extras
from crumple.commands.left_out import with_verb
from crumple.commands.table import CommandTable, help_of, in_groups
from crumple.errors import EXIT_INTERRUPTED, EXIT_NO, EXIT_USAGE, CrumpleError
from crumple.interrupt import interruptible

if TYPE_CHECKING:
    from crumple.shell.described import Described


@contextmanager
def _aborting() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        # Otherwise Typer exits with 130 and prints nothing.
        raise typer.Abort from None


class _Commands(TyperGroup):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_of(self, ctx))

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        with _aborting():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _aborting():
            return super().invoke(ctx)


# The tables of commands, and the commands of each. For one that is typed only its own is read: to read all
# takes as long as all else before a load.
TABLES = {
    "load_commands": ("load",),
    "search_commands": ("find", "diagnose", "versus", "import"),
    "run_commands": ("try", "run", "join", "report", "map"),
    "server_commands": (
        "servers", "workloads", "studies", "setup", "verify", "new-server", "costs", "fleet", "cluster",
    ),
    "result_commands": ("list", "show", "compare", "export", "completion"),
}  # fmt: skip
COMMANDS = tuple(name for names in TABLES.values() for name in names)
# The commands that --save keeps as a file, with the place of their flags.
SAVED = {
    "load": ("crumple.load.load_flags", "LoadFlags"),
    "find": ("crumple.find.find_flags", "FindFlags"),
    "diagnose": ("crumple.diagnose.diagnose_flags", "DiagnoseFlags"),
    "versus": ("crumple.versus.versus_flags", "VersusFlags"),
}
# Commands for which a flag of another tool is named with what to write instead.
OTHER_TOOLS = ("load", "find")
_OF_ONE_HYPHEN = re.compile("-[a-zA-Z][a-zA-Z0-9]")


def _tell_version(asked: bool) -> None:
    if asked:
        from crumple.commands import version

        print(version.lines(), end="")
        raise typer.Exit


def top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_tell_version, is_eager=True, help="Show lab, engine and commit."
        ),
    ] = False,
) -> None:
    """Finds the load at which a server crumples, and says why.

    Without a command, the server at URL gets a first look of 15 seconds (load --first-look): what it is, how
    long a request takes alone and under load, what limits it, and which command goes on from there. The file
    of a saved command is repeated.
    """


@cache
def group(command: str = "") -> TyperGroup:
    """Return the commands as Typer builds them: of the table that has this one, or all for another word."""
    found = [table for table, names in TABLES.items() if command in names] or TABLES
    modules = [import_module(f"crumple.commands.{table}") for table in found]
    app = CommandTable(
        name="crumple",
        cls=_Commands,
        epilog="Begin with: crumple http://localhost:8080/",
        subcommand_metavar="URL | COMMAND [ARGS]...",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        # Typer's completion takes as long as help, and knows no servers, studies or runs: see `shell`.
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(top)
    app.registered_commands = in_groups(module.TABLE for module in modules)
    return cast(TyperGroup, get_command(app))


def described() -> "Described":
    """Return all commands as plain data, for completion and the manual."""
    from crumple.commands import describe

    # Made anew: a command that is described by itself keeps a help flag without -h.
    return describe.describe(group.__wrapped__())


def saved_kinds(command: str) -> dict[str, Any]:
    """Return the flags of a command that can be saved, under its name; none for another."""
    module, name = SAVED.get(command, ("", ""))
    return {command: getattr(import_module(module), name)} if module else {}


def main() -> None:
    """Run the `crumple` command; an expected error becomes one line on stderr and its exit code."""
    try:
        with interruptible():
            words = with_verb(sys.argv[1:], COMMANDS)
            command = words[0] if words else ""
            if kinds := saved_kinds(command):
                words = _as_typed(words, kinds)
            sys.argv[1:] = words
            if words[1:] in (["--help"], ["-h"]) and command in COMMANDS:
                code = _help(command)
            else:
                code = group(command)(words or ["--help"], prog_name="crumple", standalone_mode=False)
            # Flush here, where a failed write can still be reported.
            sys.stdout.flush()
        sys.exit(code)
    except CrumpleError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted")
        sys.exit(EXIT_INTERRUPTED)
    except ModuleNotFoundError as error:
        if (why := extras.missing(error.name or "")) is None:
            raise
        _complain(str(why))
        sys.exit(why.exit_code)
    except BrokenPipeError:
        # The reader of stdout has closed the pipe. A condition that holds may not have been shown yet, so the
        # code is not 0.
        sys.stderr.close()
        _leave_unsaid()
        sys.exit(EXIT_NO)
    except OSError as error:
        # An error that no other code handles: a full disk behind stdout, for instance.
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"cannot continue: {where}{error.strerror or error}; fix that, then try again")
        _leave_unsaid()
        sys.exit(EXIT_NO)
    except Exception as error:
        # Typer's usage errors have no common type that is public in all its versions.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "crumple")
        remedy = _remedy(command, getattr(error, "option_name", ""))
        said = getattr(error, "message", "") if remedy else error.format_message().rstrip(".")
        _complain(f"{said}; {remedy or f'see: {command} --help'}")
        sys.exit(EXIT_USAGE)


def _as_typed(words: list[str], kinds: Mapping[str, Any]) -> list[str]:
    """Return the words of a command that can be saved, with what a saved file or --like stands for.

    Flags of other tools that would be read as letters are refused.
    """
    # Imported here because other commands do not need it, and few commands name another tool.
    from crumple.typed import saved_command

    words = saved_command.expand(words, kinds)
    if any(word.startswith("--like") for word in words):
        from crumple.typed import like

        if likened := like.translate(words, kinds):
            for note in likened.notes:
                _complain(note)
            return likened.words
    if words[0] in OTHER_TOOLS and any(_OF_ONE_HYPHEN.match(each) for each in words):
        from crumple.habits import remedies

        remedies.check(words[1:])
    return words


def _help(command: str) -> int:
    """Print the help of a command. Typer would first import what reads the values of flags."""
    whole = group(command)
    context = whole.context_class(whole, info_name="crumple", **whole.context_settings)
    found: Any = whole.get_command(context, command)
    print(help_of(found, found.context_class(found, info_name=command, parent=context)))
    return 0


def _remedy(command: str, option: str) -> str | None:
    """Return what to write instead of a flag of another tool."""
    if command.split()[-1] not in OTHER_TOOLS:
        return None
    from crumple.habits import remedies

    return remedies.INSTEAD.get(option)


def _complain(line: str) -> None:
    # Imported here because help needs no rich, and it takes as long to import as all else.
    from crumple.drawing.terminal import shown_text

    print(shown_text(line), file=sys.stderr)


def _leave_unsaid() -> None:
    """Discard what stdout could not take: otherwise Python writes it again at exit, and complains."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
