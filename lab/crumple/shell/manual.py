"""The pages of the manual: the commands as data → text for man(1), one page each."""

import re
from collections.abc import Iterator

from crumple.shell.described import Command, Described, Option

# Section 1 of the manual is for commands of users.
SECTION = 1


def pages(described: Described) -> dict[str, str]:
    """Return each page by the name of its file: crumple.1, crumple-load.1."""
    found = {f"crumple.{SECTION}": _page("crumple", described["top"], described)}
    for name, command in described["commands"].items():
        found[f"crumple-{name}.{SECTION}"] = _page(f"crumple-{name}", command, described)
    return found


def _page(title: str, command: Command, described: Described) -> str:
    return "\n".join(_lines(title, command, described)) + "\n"


def _lines(title: str, command: Command, described: Described) -> Iterator[str]:
    short = command["said"][0]
    yield f'.TH "{title.upper()}" {SECTION} "" "crumple {described["version"]}" "crumple"'
    yield from (".SH NAME", rf"{_safe(title)} \- {_safe(short[:1].lower() + short[1:].removesuffix('.'))}")
    yield from (".SH SYNOPSIS", _safe(command["usage"]))
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate(command["said"]):
        yield from ([".PP"] if number else [])
        yield _text(paragraph)
    if title == "crumple":
        yield ".SH COMMANDS"
        for name, each in described["commands"].items():
            yield from (".TP", rf"\fBcrumple\-{_safe(name)}\fR(1)", _text(each["said"][0]))
    if command["arguments"]:
        yield ".SH ARGUMENTS"
        for argument in command["arguments"]:
            yield from (".TP", rf"\fI{_safe(argument['metavar'])}\fR", _text(argument["help"]))
    yield from _options(command)
    if command["examples"]:
        yield from (".SH EXAMPLES", ".nf", *(_text(each) for each in command["examples"]), ".fi")
    if title != "crumple":
        yield from (".SH SEE ALSO", r"\fBcrumple\fR(1)")


def _options(command: Command) -> Iterator[str]:
    panels: dict[str, list[Option]] = {}
    for option in command["options"]:
        panels.setdefault(option["panel"], []).append(option)
    for panel, options in panels.items():
        yield f'.SH "{_safe(panel.upper())}"'
        for option in options:
            names = ", ".join(rf"\fB{_safe(name)}\fR" for name in reversed(option["names"]))
            value = rf" \fI{_safe(option['metavar'])}\fR" if option["metavar"] else ""
            yield from (".TP", f"{names}{value}", _text(option["help"]))


def _text(said: str) -> str:
    """A line of text: at its beginning a dot or an apostrophe would be a request."""
    safe = _safe(said)
    return rf"\&{safe}" if safe[:1] in ".'" else safe


def _safe(said: str) -> str:
    """Text as it is to appear: man takes a backslash for a request and a hyphen for a dash."""
    escaped = said.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    return re.sub(r"[^\x00-\x7f]", lambda found: rf"\[u{ord(found[0]):04X}]", escaped)
