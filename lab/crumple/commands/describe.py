"""The commands as typer holds them → plain data (`shell.described`), for completion and the manual."""

import re
from typing import Any

from crumple import release
from crumple.commands import help_text
from crumple.record.metrics import METRICS
from crumple.shell.described import Argument, Command, Described, Option

# "even|poisson", "[http|https]"; and in help: "The report's format: text, html, md or json."
_CHOICES = re.compile(r"[a-z]+(\|[a-z]+)+")
_LISTED = re.compile(r": ((?:[\w-]+, )+[\w-]+ or [\w-]+)\.")


def describe(top: Any) -> Described:
    """Return the data. `top`: the group of all commands, as `typer.main.get_command` makes it."""
    context = top.context_class(top, info_name="crumple")
    names: list[str] = top.list_commands(context)
    return {
        "version": release.VERSION,
        "top": _command(top, context),
        "commands": {name: _of_name(top, context, name) for name in names},
        "metrics": sorted(METRICS),
    }


def _of_name(top: Any, context: Any, name: str) -> Command:
    command = top.get_command(context, name)
    return _command(command, command.context_class(command, info_name=name, parent=context))


def _command(command: Any, context: Any) -> Command:
    _, _, examples = (command.epilog or "").partition(": ")
    parameters = command.get_params(context)
    return {
        "usage": help_text.usage(command, context),
        "said": [" ".join(each.split()) for each in help_text.paragraphs(command)],
        "examples": examples.split("\n") if examples else [],
        "options": [_option(each) for each in parameters if each.param_type_name == "option"],
        "arguments": [_argument(each) for each in parameters if each.param_type_name == "argument"],
    }


def _option(parameter: Any) -> Option:
    metavar = "" if parameter.is_flag else parameter.metavar or "TEXT"
    return {
        "names": sorted(parameter.opts, key=lambda name: (-len(name), name)),
        "metavar": metavar,
        "among": _among(metavar, parameter.help) if metavar else [],
        "many": bool(parameter.multiple),
        "panel": getattr(parameter, "rich_help_panel", None) or help_text.OPTIONS,
        "help": parameter.help or "",
    }


def _argument(parameter: Any) -> Argument:
    return {
        "metavar": parameter.metavar,
        "among": _among(parameter.metavar, parameter.help),
        "many": parameter.nargs == -1,
        "help": parameter.help or "",
    }


def _among(metavar: str, said: str) -> list[str]:
    """Return the values that there are, if what is said of them names all."""
    if _CHOICES.fullmatch(metavar):
        return metavar.split("|")
    listed = _LISTED.search(said or "")
    return re.split(r", | or ", listed[1]) if listed else []
