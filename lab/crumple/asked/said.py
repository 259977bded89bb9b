"""What a source says of a server, why it was not asked, and whom it could be asked of. Pure.

Texts are as the runtime or the dependency printed them: they may hold anything. `escaped` makes them safe to
show; `all_of` returns nothing that has not gone through it.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crumple.drawing import terminal

Points = Literal["workers", "gate", "connection-pool", "dependency", "row-lock", "garbage", "none"]
EVIDENCE_MOST = 8
LINE_MOST = 160


@dataclass(frozen=True)
class Said:
    """What one source shows.

    `command`: how the user could ask the same; without any password. `shows`: one sentence with its counts.
    `count`: how many are let in at a time by what it points to; None: the source does not show it. `place`:
    in the code, or the statement, or the command; empty: not shown.
    """

    source: str
    command: str
    shows: str
    evidence: tuple[str, ...]
    points_to: Points
    count: int | None = None
    place: str = ""


@dataclass(frozen=True)
class NotAsked:
    """Why a source was not asked, or gave no answer. `there`: the server has what could be asked."""

    source: str
    why: str
    there: bool


@dataclass(frozen=True)
class Peer:
    """A dependency: its address and port, or `unix:` and a path; who listens there, if on this machine."""

    address: str
    listener_pid: int | None = None
    listener_name: str = ""

    @property
    def port(self) -> int | None:
        """Its TCP port; None: a Unix-domain socket."""
        last = self.address.rpartition(":")[2]
        return int(last) if last.isdecimal() and not self.address.startswith("unix:") else None

    @property
    def host(self) -> str:
        """Its address without the port, and without brackets; empty: a Unix-domain socket."""
        return "" if self.port is None else self.address.rpartition(":")[0].strip("[]")


@dataclass(frozen=True)
class Server:
    """Whom to ask: the server's processes, its root first; its dependencies; databases that are named."""

    pids: tuple[int, ...]
    peers: tuple[Peer, ...] = ()
    urls: tuple[str, ...] = ()


class NotAnswered(Exception):  # noqa: N818  (it is no error of crumple: a source has not answered)
    """A source was asked and has not answered; `why` names the remedy where there is one."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def escaped(said: Said | NotAsked) -> Said | NotAsked:
    """The same with characters escaped that act on a terminal, and with its evidence cut to a few lines."""
    if isinstance(said, NotAsked):
        return dataclasses.replace(said, why=line(said.why, 4 * LINE_MOST))
    return dataclasses.replace(
        said,
        command=line(said.command, 8 * LINE_MOST),
        shows=line(said.shows, 4 * LINE_MOST),
        evidence=tuple(line(each) for each in said.evidence[:EVIDENCE_MOST]),
        place=line(said.place),
    )


def line(text: str, most: int = LINE_MOST) -> str:
    """The text on one line, escaped and cut to so many characters."""
    plain = terminal.shown(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def several(number: int, noun: str, plural: str = "s") -> str:
    """A number with its noun: "1 thread", "2 threads"."""
    return f"{number:,} {noun}{plural if number != 1 else ''}"


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence, with "and" before the last."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
