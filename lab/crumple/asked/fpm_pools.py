"""Pools of php-fpm from its configuration, and what their children and queues show. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crumple.asked.found import SourceFinding
from crumple.drawing import numerals
from crumple.observation.answers import AskedPart

_VARIABLE = re.compile(r"\$\{(\w+)\}")
# How deep files that include others are followed, so that files which include one another come to an end.
_INCLUDED_DEEP = 3


@dataclass(frozen=True)
class Pool:
    """A pool as it is configured. `children_most` None: not given, or by a variable that is not known."""

    name: str
    listen: str
    children_most: int | None = None

    @property
    def address(self) -> tuple[str, int] | str:
        """Where it listens: a host and a port, or the path of a Unix-domain socket."""
        if self.listen.startswith("/"):
            return self.listen
        host, _, port = self.listen.rpartition(":")
        anywhere = {"": "127.0.0.1", "*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "::1"}
        return (anywhere.get(host, host.strip("[]")), int(port)) if port.isdecimal() else self.listen


@dataclass(frozen=True)
class PoolState:
    """What one pool does. `waiting`: connections that no child has accepted. `is_behind`: others ask it."""

    pool: Pool
    children: int
    busy: int
    waiting: int
    is_behind: bool


def pools(text: str, included: Callable[[str], str], variables: Mapping[str, str]) -> list[Pool]:
    """Return the pools of a configuration; `included`: the texts of the files that an `include` means."""
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in _lines(text, included):
        if header := re.fullmatch(r"\[(.+)\]", line):
            section = header[1]
        elif "=" in line and section not in ("", "global"):
            key, _, value = line.partition("=")
            plain = value.strip().strip('"')
            known = _VARIABLE.sub(lambda each: variables.get(each[1], each[0]), plain)
            found.setdefault(section, {})[key.strip()] = known
    return [_pool(name, values) for name, values in found.items() if values.get("listen")]


def read(counted: PoolState) -> SourceFinding:
    """Return what one pool shows.

    Its children are the server's workers, or those of what is behind it. They are only held up there if more
    requests wait for one, and no more children may be started.
    """
    name, most = counted.pool.name, counted.pool.children_most
    limit = f" (pm.max_children {most})" if most else ""
    does = f"children of pool {name} have a request{limit}"
    queue = f"{numerals.count(counted.waiting, 'connection')} {'waits' if counted.waiting == 1 else 'wait'}"
    shows = f"{counted.busy} of {counted.children} {does}; {queue} to be accepted"
    of = most or counted.children
    if not counted.is_behind:
        return SourceFinding(
            shows, {"occupied": AskedPart(counted.busy, of, f"{does}, and {queue} to be accepted")}
        )
    held = counted.busy if counted.waiting and counted.busy >= of else 0
    return SourceFinding(shows, {"held_up": AskedPart(held, of, f"{does}, and {queue} to be accepted")})


def _lines(text: str, included: Callable[[str], str], deep: int = 0) -> list[str]:
    found = []
    for raw in text.splitlines():
        line = raw.partition(";")[0].strip()
        if (named := re.fullmatch(r"include\s*=\s*(.+)", line)) and deep < _INCLUDED_DEEP:
            found += _lines(included(named[1].strip('"')), included, deep + 1)
        elif line:
            found.append(line)
    return found


def _pool(name: str, values: Mapping[str, str]) -> Pool:
    most = values.get("pm.max_children", "")
    return Pool(name, values["listen"].replace("$pool", name), int(most) if most.isdecimal() else None)
