"""Which server is asked about, and what one source shows of it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crumple.drawing import terminal
from crumple.observation.answers import AskedPart
from crumple.observation.at_load import Peer

# The most lines of evidence from one source, and the most characters of a line.
EVIDENCE_MOST, LINE_MOST = 4, 160


@dataclass(frozen=True)
class AskedServer:
    """The server's processes, its root first, and its dependencies."""

    pids: tuple[int, ...]
    peers: tuple[Peer, ...] = ()


@dataclass(frozen=True)
class SourceFinding:
    """What one source shows: in a sentence, as parts by their names, and in further lines.

    Texts are as the runtime or the dependency printed them: they may hold anything. `line` makes them safe.
    """

    shows: str
    parts: Mapping[str, AskedPart] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()


class NotAnswered(Exception):  # noqa: N818  (it is no error of crumple: a source has not answered)
    """A source was asked and has not answered; its text names the remedy where there is one."""


def line(text: str, most: int = LINE_MOST) -> str:
    """Return the text on one line, with characters escaped that act on a terminal, and cut."""
    plain = terminal.shown(text[: 2 * most])
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def at_port(peers: Sequence[Peer], listeners: Sequence[str], port: int) -> Peer | None:
    """Return the dependency with one of these listeners, or at this port of TCP; None: there is none."""
    return next(
        (
            each
            for each in peers
            if each.listener in listeners
            or (not each.listener and each.address.rpartition(":")[2] == str(port))
        ),
        None,
    )


def place_of(address: str) -> tuple[str, int] | str:
    """Return the host and port of a peer's address, or the path of its Unix-domain socket."""
    if address.startswith("unix:"):
        return address.removeprefix("unix:")
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
