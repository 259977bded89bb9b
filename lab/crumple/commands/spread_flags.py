"""Makes a command of a function that takes all its flags as one dataclass, whose fields declare the flags."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import typer

from crumple.load import load_flags

Command = Callable[..., None]


def spread(command: Command) -> Command:
    """Return the command with each field of its last parameter, a dataclass, as a parameter of its own."""
    *before, last = inspect.signature(command).parameters.values()
    kind: Any = last.annotation

    @functools.wraps(command)
    def called(**given: Any) -> None:
        flags = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given, **{last.name: flags})

    parameters = [
        *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in before),
        *(
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=typer.Option(each.default, *load_flags.names(each), **each.metadata["shown"]),
                annotation=each.type,
            )
            for each in fields(kind)
        ),
    ]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(called)["__signature__"] = inspect.Signature(parameters)
    return called
