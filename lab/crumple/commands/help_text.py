"""The help of a command as plain text: usage, what it does, examples, and its flags by group in two columns.

It needs no rich: importing that takes longer than all else that help does.
"""

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from crumple import streams
from crumple.drawing import numerals

# The narrowest and the widest help, in columns, whatever the width of the terminal.
WIDTH_MIN, WIDTH_MAX = 40, 100
# The width of the help, in columns, if stdout is not a terminal.
WIDTH_DEFAULT = 80
# The longest name, in columns, that has its meaning beside it; a longer one has it below.
NAME_MAX = 26
# The fewest columns for meanings beside the names. If fewer are left, every meaning is below its name.
MEANING_MIN = 30
# How many blanks are before a name, between a name and its meaning, and before a meaning below its name.
INDENT, GAP, BELOW = 2, 2, 8
ARGUMENTS, OPTIONS = "Arguments", "Options"

# A name such as "-host", as hey writes it, beside "--host". It can be typed and is not shown.
_OF_ONE_HYPHEN = re.compile(r"(?<![\w-])-[a-z][a-z-]+, |, -[a-z][a-z-]+(?![\w-])")
# What is typed, and what it means.
Row = tuple[str, str]


def page(command: Any, context: typer.Context) -> str:
    """Return the help, wrapped between words at the width of the terminal, but at 40 to 100 columns."""
    columns = min(WIDTH_MAX, max(WIDTH_MIN, shutil.get_terminal_size((WIDTH_DEFAULT, 0)).columns))
    parts = [_beside("Usage", _wrap(usage(command, context), columns - len("Usage: ")))]
    parts += ["\n".join(_wrap(each, columns)) for each in paragraphs(command)]
    label, _, examples = (command.epilog or "").partition(": ")
    if examples:
        # The help of all commands begins with the one to begin with.
        at = 0 if hasattr(command, "list_commands") else len(parts)
        lines = [*_shell_lines(examples.split("\n"), columns - len(label) - 2)]
        parts.insert(at, _beside(label, lines))
    listed = {**_subcommands(command, context), **groups(command, context)}
    beside = INDENT + max(len(name) for rows in listed.values() for name, _ in rows if len(name) <= NAME_MAX)
    for name, rows in listed.items():
        if rows:
            parts.append("\n".join([_bold(f"{name}:"), *_columns(rows, beside + GAP, columns)]))
    return "\n\n".join(parts)


def usage(command: Any, context: typer.Context) -> str:
    """Return how the command is typed: its arguments are in brackets if they may be left out."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    named = [each.metavar if each.required else f"[{each.metavar}]" for each in arguments]
    pieces = ["[OPTIONS]", *named, getattr(command, "subcommand_metavar", None)]
    return " ".join([context.command_path, *filter(None, pieces)])


def groups(command: Any, context: typer.Context) -> dict[str, list[Row]]:
    """Return the arguments, the flags of each panel in its order, and the flags of none, such as --help."""
    found: dict[str, list[Row]] = {ARGUMENTS: []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            own = ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS
            rows = found.setdefault(getattr(parameter, "rich_help_panel", None) or own, [])
            names, said = record
            rows.append(_row(parameter, _OF_ONE_HYPHEN.sub("", names), said))
    found[OPTIONS] = found.pop(OPTIONS, [])
    return {name: rows for name, rows in found.items() if rows}


def _wrap(text: str, columns: int, subsequent_indent: str = "") -> list[str]:
    # No line ends at a narrow space.
    lines = textwrap.wrap(
        numerals.joined(text),
        columns,
        break_long_words=False,
        break_on_hyphens=False,
        subsequent_indent=subsequent_indent,
    )
    return [line.replace(numerals.NARROW, " ") for line in lines]


def _row(parameter: Any, names: str, said: str) -> Row:
    # Typer shows an argument's type too.
    names = parameter.metavar if parameter.param_type_name == "argument" else names
    more = re.search(r"\[(default: .+|required)\]$", said)
    return names, f"{parameter.help} ({more[1]})" if more else parameter.help


def _subcommands(command: Any, context: typer.Context) -> dict[str, list[Row]]:
    """Return each command with the first paragraph of its help, by heading; nothing for a command itself."""
    found: dict[str, list[Row]] = {}
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        each = command.get_command(context, name)
        found.setdefault(each.rich_help_panel, []).append((name, paragraphs(each)[0]))
    return found


def paragraphs(command: Any) -> list[str]:
    """Return the paragraphs of what a command says of itself."""
    return re.split(r"\n\s*\n", (command.help or "").strip())


def _shell_lines(commands: Sequence[str], columns: int) -> Iterator[str]:
    """Yield the commands; one that is too long continues on further lines, as a shell reads it."""
    for command in commands:
        # A blank within quotes is no place to continue.
        kept = re.sub(r"'[^']*'", lambda quoted: quoted[0].replace(" ", numerals.NARROW), command)
        lines = _wrap(kept, columns - len(" \\"), subsequent_indent="  ")
        yield from " \\\n".join(lines).split("\n")


def _beside(label: str, lines: Sequence[str]) -> str:
    indent = "\n" + " " * (len(label) + 2)
    return f"{_bold(f'{label}:')} {indent.join(lines)}"


def _columns(rows: Sequence[Row], meanings_at: int, columns: int) -> Iterator[str]:
    narrow = columns - meanings_at < MEANING_MIN
    meanings_at = BELOW if narrow else meanings_at
    for name, meaning in rows:
        lines = [f"{'':{meanings_at}}{line}" for line in _wrap(meaning, columns - meanings_at)]
        typed = f"{'':{INDENT}}{name}"
        if not narrow and len(typed) + GAP <= meanings_at:
            lines[0] = typed + lines[0][len(typed) :]
        else:
            yield typed
        yield from lines


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if streams.takes_colours() else text
