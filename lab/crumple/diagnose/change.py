"""What `--try` changes of a server: its settings, slots of its command, or its environment. Pure.

A slot is written {NAME=VALUE}, beside {port}: no shell reads it, so it needs no quotes, and the command says
itself what it is started with where nothing is tried.
"""

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from crumple.errors import UsageError
from crumple.limit.remedy import Number
from crumple.parsing import did_you_mean
from crumple.words import masked

# The port is given to the server in this variable.
PORT = "PORT"
WRITE = "write --try NAME=VALUE"
_NAME = r"[A-Za-z_]\w*"
_SLOT = re.compile(rf"\{{({_NAME})=([^{{}}]*)\}}")


@dataclass(frozen=True)
class Change:
    """What is changed. `says`: in words, without secrets; `numbers`: what of it is a number.

    `values`: all names with their new values.
    """

    says: str
    values: Mapping[str, str]
    numbers: tuple[Number, ...] = field(default=())


def read(texts: Sequence[str] | None) -> dict[str, str]:
    """Return the names with their values; empty: nothing is to be tried. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UsageError(f"--try {text}: that changes nothing", WRITE)
        if name in found:
            raise UsageError(
                f"--try {name}: it is given two values, and all --try are one change",
                "try one value now, and the other by another command",
            )
        found[name] = value
    return found


def slots(command: Sequence[str]) -> dict[str, str]:
    """Return the slots of a command, each with the value that it has where nothing is tried."""
    return {name: value for word in command for name, value in _SLOT.findall(word)}


def fill(command: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command with a value in each of its slots: the one given, or its own."""
    return tuple(_SLOT.sub(lambda slot: values.get(slot[1], slot[2]), word) for word in command)


def of_command(command: Sequence[str], given: Mapping[str, str], environ: Mapping[str, str]) -> Change | None:
    """Return what is changed of a command; None: nothing. `environ`: as it is. Raises UsageError."""
    if PORT in given:
        raise UsageError(f"--try {PORT}: the server is given its port in it", "change another variable")
    own = slots(command)
    for name in given:
        _check_name(name, own, environ)
    before = {name: own.get(name, environ.get(name)) for name in given}

    def where(name: str) -> str:
        return "" if name in own else " in its environment"

    return _change(given, before, where)


def _check_name(name: str, own: Collection[str], environ: Collection[str]) -> None:
    """Return if the name is a slot of the command or that of a variable. Raises UsageError."""
    if name in own or name in environ:
        return
    if near := difflib.get_close_matches(name, own):
        raise UsageError(f"--try {name}: the command has no such slot", did_you_mean(name, near))
    if not re.fullmatch(_NAME, name):
        wrong = "that is neither a slot of the command nor the name of a variable"
        raise UsageError(f"--try {name}: {wrong}", WRITE)


def of_settings(given: Mapping[str, str], before: Mapping[str, object]) -> Change | None:
    """Return what is changed of a server of the project; None: nothing. `before`: its settings."""
    return _change(given, {name: str(before[name]) for name in given}, lambda _: "")


def environment(command: Sequence[str], change: Change) -> dict[str, str]:
    """Return the variables that the change sets: what is no slot of the command."""
    own = slots(command)
    return {name: value for name, value in change.values.items() if name not in own}


def _change(
    given: Mapping[str, str], before: Mapping[str, str | None], where: Callable[[str], str]
) -> Change | None:
    for name, value in given.items():
        if before[name] == value:
            raise UsageError(f"--try {name}={value}: it has that value already", "try another one")
    numbers = [
        Number(name, _number(before[name]), after)
        for name, value in given.items()
        if (after := _number(value)) is not None
    ]
    says = " and ".join(f"{name}={_shown(name, value)}{where(name)}" for name, value in given.items())
    return Change(says, dict(given), tuple(numbers)) if given else None


def _shown(name: str, value: str) -> str:
    return masked.MASK if masked.is_secret(name, value) else masked.url(value)


def _number(text: str | None) -> float | None:
    """Return a number that may be how many of something there are; None: it is none."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None
