"""`--like TOOL`: a command that asks as another load generator does → the same in flags of crumple's own.

With `crumple load`, flags of the tool mean what they mean there, and what it does by default is added. Other
commands that load a URL get only what concerns each request: headers, timeout, method of a body.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from crumple.errors import UsageError
from crumple.habits import remedies
from crumple.habits.tool import LONGEST, OWN_FAILED, Default, Flag, Tool
from crumple.habits.tools import TOOLS
from crumple.typed import masked_command, typed_command
from crumple.typed.typed_command import TypedCommand

FLAG = "--like"
# The command whose load is the tool's, not only its requests.
WHOLE = "load"
_BODIES = ("body", "body_file", "body_lines")


@dataclass(frozen=True)
class Likened:
    """A command in flags of crumple's own."""

    words: list[str]
    notes: list[str]
    """What the command is in these flags, and what the tool does otherwise."""


def translate(words: Sequence[str], kinds: Mapping[str, Any]) -> Likened | None:
    """Return what a command line with --like stands for; None: it has none. Raises UsageError.

    `kinds`: the flags of each command that loads servers.
    """
    if not words or words[0] not in kinds:
        return None
    verb, *rest = words
    name, rest = _tool_named(rest)
    if name is None:
        return None
    tool = TOOLS.get(name)
    if tool is None:
        raise UsageError(f"{FLAG} {name}: that tool is not known", f"write one of {', '.join(TOOLS)}")
    of_tool = [partial(_take, tool=tool)] if verb == WHOLE else []
    command = typed_command.read(rest, kinds[verb], *of_tool)
    if verb == WHOLE:
        _arguments(command, tool)
        _shape(command, tool)
        tool.settle(command, command.typed)
    _request(command, tool.default)
    likened = [verb, *command.words()]
    return Likened(likened, _notes(command, tool, likened))


def _tool_named(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the last tool that --like names, and the other words."""
    name: str | None = None
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return name, [*rest, word, *left]
        if word == FLAG and left:
            name = left.pop(0)
        elif word.startswith(f"{FLAG}="):
            name = word.partition("=")[2]
        else:
            rest.append(word)
    return name, rest


def _arguments(command: TypedCommand, tool: Tool) -> None:
    """Leave out the word behind the tool's name, such as attack. Raises UsageError for a script."""
    if command.plain[:1] == tool.command.split()[1:2]:
        del command.plain[0]
    script = next((word for word in command.plain if word.endswith((".js", ".ts", ".lua"))), None)
    if script and "://" not in script:
        raise UsageError(
            f"{FLAG} {tool.name}: {script} is a script, and none is run", "write the URL that it asks"
        )


def _shape(command: TypedCommand, tool: Tool) -> None:
    """Add when and how often the tool asks by default, where nothing typed says otherwise."""
    default = tool.default
    if command.has("requests") and command.has("duration") and tool.number_or_time != "first":
        command.drop("requests" if tool.number_or_time == "time" else "duration")
    drawn = command.has("steps", "ramp")
    if default.rate_per_s and not drawn and not command.has("rate"):
        command.put("rate", str(default.rate_per_s))
        command.put("arrivals", "even")
    if not command.has("requests", "duration") and not drawn:
        if default.requests is not None:
            command.put("requests", str(default.requests))
        elif default.duration_s is not None:
            command.put("duration", f"{default.duration_s:g}s")
    if not command.has("connections", "ramp"):
        requests = command.value("requests") or ""
        most = int(requests) if requests.isdecimal() else default.connections
        command.put("connections", str(min(default.connections, most)))


def _request(command: TypedCommand, default: Default) -> None:
    """Add what each request has by default."""
    if not command.has("timeout"):
        command.put("timeout", LONGEST if default.timeout_s is None else f"{default.timeout_s:g}s")
    if command.has("curl"):
        return
    has_body = command.has(*_BODIES)
    if has_body and not command.has("method"):
        command.put("method", default.body_method)
    sent = {text.partition(":")[0].strip().lower() for text in command.values("header")}
    sent |= {"accept"} if command.has("accept") else set()
    sent |= {"content-type"} if command.has("content_type", "form") else set()
    sent |= {"accept-encoding"} if command.has("disable_compression") else set()
    headers = [*default.headers]
    if has_body and default.body_type and command.value("method") != "GET":
        headers.append(("Content-Type", default.body_type))
    if command.has("disable_keepalive"):
        headers = [each for each in headers if each[0] != "Connection"] + [("Connection", "close")]
    for name, value in headers:
        if name.lower() not in sent:
            command.put("header", f"{name}: {value}")


def _notes(command: TypedCommand, tool: Tool, words: Sequence[str]) -> list[str]:
    """Return what the command is in flags of crumple's own, and how it differs from the tool's."""
    if command.has("quiet"):
        return []
    typed = shlex.join(["crumple", *masked_command.arguments(words)])
    return [
        f"as {tool.command} asks: {typed}",
        f"{tool.name} does otherwise: it {', '.join(_differences(command, tool))}",
    ]


def _differences(command: TypedCommand, tool: Tool) -> list[str]:
    """Return how the tool differs from this command, as far as it matters for it."""
    default = tool.default
    over_tls = any(each.startswith("https:") for each in command.plain)
    name = (
        f"names itself {default.user_agent.rstrip('/')} in User-Agent"
        if default.user_agent
        else "sends no User-Agent"
    )
    found = {
        name: not command.has("user_agent"),
        f"follows up to {default.redirects} redirects": default.redirects > 0,
        "speaks HTTP/2 to a server that offers it": default.http2_over_tls and over_tls,
        "takes any certificate (--insecure)": over_tls
        and not default.verifies
        and not command.has("insecure"),
        "waits at the end for what is in flight": default.waits_at_end and command.has("duration"),
        "gives each connection the same number of requests": default.equal_parts and command.has("requests"),
        "waits for answers before it keeps to the rate": default.waits_under_rate and command.has("rate"),
        f"counts {default.failed} as failed": default.failed != OWN_FAILED,
    }
    return [*(said for said, holds in found.items() if holds), *tool.differs]


def _take(word: str, rest: list[str], command: TypedCommand, tool: Tool) -> bool:
    """Take a flag of the tool with its value, or return False. Raises UsageError if it is refused."""
    if tool.grammar == "go":
        name, equals, value = word.partition("=")
        flag = tool.flag(f"-{name.lstrip('-')}")
        if flag is None:
            return False
        if flag.takes_value and not equals:
            value = _next(name, rest)
        elif not flag.takes_value and equals and value.lower() in ("false", "0", "f"):
            command.typed[flag.names[0]] = "false"
            return True
        _give(flag, name, value, command, tool)
        return True
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        flag = tool.flag(name)
        if flag is None:
            return False
        _give(flag, name, value if equals or not flag.takes_value else _next(name, rest), command, tool)
        return True
    return _take_letters(word, rest, command, tool)


def _take_letters(word: str, rest: list[str], command: TypedCommand, tool: Tool) -> bool:
    """Take letters behind one hyphen, of which the last may have a value."""
    letters = word[1:]
    while letters:
        name, letters = f"-{letters[0]}", letters[1:]
        flag = tool.flag(name)
        if flag is None:
            if len(letters) + len(name) == len(word):
                return False
            raise UsageError(f"{word}: {tool.name} has no {name}", "write each flag by itself")
        if not flag.takes_value:
            _give(flag, name, "", command, tool)
            continue
        _give(flag, name, letters.removeprefix("=") or _next(name, rest), command, tool)
        break
    return True


def _next(name: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(f"{name} needs a value", "write it behind the flag")
    return rest.pop(0)


def _give(flag: Flag, name: str, value: str, command: TypedCommand, tool: Tool) -> None:
    if flag.gives is None:
        raise UsageError(f"--like {tool.name}: {name} cannot be taken over", remedies.of(flag))
    command.typed[flag.names[0]] = value
    words = list(flag.gives(value))
    while words:
        ours = words.pop(0)
        of = command.known[ours]
        taken = words.pop(0) if typed_command.takes_value(of) else None
        if not typed_command.is_list(of):
            command.drop(of.name)
        command.given.append((ours, taken))
