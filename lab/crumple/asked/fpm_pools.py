"""Pools of php-fpm from its configuration, and what their processes and queues show. Pure."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from crumple.asked.said import Points, Said, several

_VARIABLE = re.compile(r"\$\{(\w+)\}")
# What a status page calls processes with a request.
_AT_WORK = ("Running", "Reading headers", "Finishing", "Ending")


@dataclass(frozen=True)
class Pool:
    """A pool as it is configured. `children_most` None: not given, or by a variable that is not known."""

    name: str
    listen: str
    children_most: int | None = None
    status_path: str = ""
    status_listen: str = ""

    @property
    def address(self) -> tuple[str, int] | str:
        """Where it listens, as an address of sockets."""
        return address(self.listen)


def address(listen: str) -> tuple[str, int] | str:
    """A value of `listen`, as an address of sockets: a path, or a host and a port."""
    if listen.startswith("/"):
        return listen
    host, _, port = listen.rpartition(":")
    reached = {"": "127.0.0.1", "*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "::1"}.get(
        host, host.strip("[]")
    )
    return (reached, int(port)) if port.isdecimal() else listen


@dataclass(frozen=True)
class Counted:
    """What one pool does. `waiting`: connections that no child has accepted. `status`: its status page.

    `known_most`: the most children by the configuration; None: not known.
    """

    pool: str
    listen: str
    children: int
    busy: int
    waiting: int
    known_most: int | None
    status: str = ""

    def as_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))


def pools(text: str, included: Callable[[str], str], variables: Mapping[str, str]) -> list[Pool]:
    """The pools of a configuration; `included`: the texts of the files that a pattern of `include` means."""
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in _lines(text, included):
        if header := re.fullmatch(r"\[(.+)\]", line):
            section = header[1]
        elif "=" in line and section not in ("", "global"):
            key, _, value = line.partition("=")
            found.setdefault(section, {})[key.strip()] = _value(value, variables)
    return [_pool(name, values) for name, values in found.items() if values.get("listen")]


def read(text: str, command: str) -> Said:
    """What one pool shows; `text`: a `Counted` as JSON."""
    pool = Counted(**json.loads(text))
    most = pool.known_most or pool.children
    busy, place, evidence = _by_status(pool.status) or (pool.busy, "", [])
    busy = max(busy, pool.busy)
    shows = f"pool {pool.pool}: {busy} of {several(pool.children, 'child', 'ren')} have a request"
    shows += f" (pm.max_children {pool.known_most})" if pool.known_most else ""
    shows += f"; {several(pool.waiting, 'connection')} wait to be accepted"
    full = busy >= most > 0
    points: Points = "workers" if full and pool.waiting else "none"
    count = most if points == "workers" else None
    return Said("php-fpm", command, shows, tuple(evidence), points, count, place)


def _by_status(text: str) -> tuple[int, str, list[str]] | None:
    """Busy children, the script that most of them run, and evidence; None: there is no status page.

    A child that answers the status page itself does not count. URIs are left out: they may hold secrets.
    """
    if not text:
        return None
    page = json.loads(text)
    own = [each for each in page.get("processes", []) if each.get("script") not in ("-", "", None)]
    scripts = Counter(str(each["script"]) for each in own if each.get("state") in _AT_WORK)
    evidence = [f"{count} × {script}" for script, count in scripts.most_common(4)]
    names = ("active processes", "idle processes", "listen queue", "max children reached", "slow requests")
    evidence.append(", ".join(f"{name} {page[name]}" for name in names if name in page))
    return scripts.total(), scripts.most_common(1)[0][0] if scripts else "", evidence


def _lines(text: str, included: Callable[[str], str], deep: int = 0) -> list[str]:
    found = []
    for raw in text.splitlines():
        line = raw.partition(";")[0].strip()
        if (named := re.fullmatch(r"include\s*=\s*(.+)", line)) and deep < 3:
            found += _lines(included(named[1].strip('"')), included, deep + 1)
        elif line:
            found.append(line)
    return found


def _value(text: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda each: variables.get(each[1], each[0]), text.strip().strip('"'))


def _pool(name: str, values: Mapping[str, str]) -> Pool:
    most = values.get("pm.max_children", "")
    return Pool(
        name,
        values["listen"].replace("$pool", name),
        int(most) if most.isdecimal() else None,
        values.get("pm.status_path", "").replace("$pool", name),
        values.get("pm.status_listen", "").replace("$pool", name),
    )
