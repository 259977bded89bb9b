"""The load generators with which the engine is compared: how each is called for a timed closed load over
keep-alive connections, and where it prints how many requests were answered. This module times nothing.
"""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass

INSTALL = "apt-get install wrk nghttp2-client apache2-utils hey; cargo install oha"


@dataclass(frozen=True)
class Peer:
    """One load generator. `command(url, connections, seconds)` is its call, with one thread.
    `answered(output)` and `per_s(output)` read the number of answers, and their number per second of the time
    that it took by its own clock (wrk takes up to a tenth of a second longer than it is told)."""

    name: str
    command: Callable[[str, int, float], list[str]]
    answered: Callable[[str], int]
    per_s: Callable[[str], float]

    @property
    def installed(self) -> bool:
        return shutil.which(self.name) is not None


def _text(pattern: str, output: str) -> str:
    found = re.search(pattern, output)
    if not found:
        raise ValueError(f"no {pattern!r} in: {output[-500:]}")
    return found[1]


def _number(pattern: str) -> Callable[[str], int]:
    return lambda output: int(_text(pattern, output))


def _rate(pattern: str) -> Callable[[str], float]:
    return lambda output: float(_text(pattern, output))


def _oha_answered(output: str) -> int:
    return sum(json.loads(output)["statusCodeDistribution"].values())


PEERS = [
    Peer(
        "wrk",
        lambda url, connections, s: ["wrk", "-t1", f"-c{connections}", f"-d{s:.0f}s", url],
        _number(r"(\d+) requests in"),
        _rate(r"Requests/sec:\s+([\d.]+)"),
    ),
    Peer(
        "h2load",
        lambda url, connections, s: ["h2load", "--h1", "-t1", f"-c{connections}", f"-D{s:.0f}", url],
        _number(r"(\d+) succeeded"),
        _rate(r"finished in [^,]+, ([\d.]+) req/s"),
    ),
    Peer(
        "ab",
        lambda url, connections, s: [
            "ab", "-q", "-k", "-c", str(connections), "-t", f"{s:.0f}", "-n", "5000000", url,
        ],
        _number(r"Complete requests:\s+(\d+)"),
        _rate(r"Requests per second:\s+([\d.]+)"),
    ),
    Peer(
        "hey",
        lambda url, connections, s: ["hey", "-cpus", "1", "-c", str(connections), "-z", f"{s:.0f}s", url],
        _number(r"\[200\]\s+(\d+) responses"),
        _rate(r"Requests/sec:\s+([\d.]+)"),
    ),
    Peer(
        "oha",
        lambda url, connections, s: [
            "oha", "--no-tui", "--output-format", "json", "-c", str(connections), "-z", f"{s:.0f}s", url,
        ],
        _oha_answered,
        lambda output: json.loads(output)["summary"]["requestsPerSec"],
    ),
]  # fmt: skip
