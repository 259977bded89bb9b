"""The load generators that the engine is measured beside: how each is called for a timed closed load over
keep-alive connections, and where it says how many requests were answered. Nothing here times anything.
"""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass

INSTALL = "apt-get install wrk nghttp2-client apache2-utils hey; cargo install oha"


@dataclass(frozen=True)
class Peer:
    """One load generator. `command(url, connections, seconds)` puts the load on with one thread;
    `answered(output)` reads the number of answers from what it printed."""

    name: str
    command: Callable[[str, int, float], list[str]]
    answered: Callable[[str], int]

    @property
    def installed(self) -> bool:
        return shutil.which(self.name) is not None


def _number(pattern: str) -> Callable[[str], int]:
    def read(output: str) -> int:
        found = re.search(pattern, output)
        if not found:
            raise ValueError(f"no {pattern!r} in: {output[-500:]}")
        return int(found[1])

    return read


def _oha_answered(output: str) -> int:
    return sum(json.loads(output)["statusCodeDistribution"].values())


PEERS = [
    Peer(
        "wrk",
        lambda url, connections, s: ["wrk", "-t1", f"-c{connections}", f"-d{s:.0f}s", url],
        _number(r"(\d+) requests in"),
    ),
    Peer(
        "h2load",
        lambda url, connections, s: ["h2load", "--h1", "-t1", f"-c{connections}", f"-D{s:.0f}", url],
        _number(r"(\d+) succeeded"),
    ),
    Peer(
        "ab",
        lambda url, connections, s: [
            "ab", "-q", "-k", "-c", str(connections), "-t", f"{s:.0f}", "-n", "5000000", url,
        ],
        _number(r"Complete requests:\s+(\d+)"),
    ),
    Peer(
        "hey",
        lambda url, connections, s: ["hey", "-cpus", "1", "-c", str(connections), "-z", f"{s:.0f}s", url],
        _number(r"\[200\]\s+(\d+) responses"),
    ),
    Peer(
        "oha",
        lambda url, connections, s: [
            "oha", "--no-tui", "--output-format", "json", "-c", str(connections), "-z", f"{s:.0f}s", url,
        ],
        _oha_answered,
    ),
]  # fmt: skip
