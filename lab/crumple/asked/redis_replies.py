"""Replies of Redis (RESP2) as values, and what they show of its one thread and its clients. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crumple.asked.said import Points, Said, several

NAME = "redis"
Value = str | int | list["Value"] | None
# What is asked, in this order; between the two halves lies a wait.
COMMANDS = (
    ("TIME",), ("INFO", "commandstats"),
    ("TIME",), ("INFO", "commandstats"), ("CLIENT", "LIST"), ("SLOWLOG", "GET", "32"),
)  # fmt: skip
FIRST_HALF = 2
# Beyond this part of the time within commands, one waits for longer than it takes itself. Reading and writing
# the sockets is not counted, and takes Redis about as long as a short command.
BUSY_SHARE = 0.5
# Of clients that wait in a command such as BLPOP: one may be a consumer that waits for work.
QUEUE_MIN, QUEUE_SHARE = 2, 0.1
_KEY_MOST = 24
# Of this load, and not of what was asked before.
RECENT_S = 10


class Incomplete(Exception):  # noqa: N818  (it is no error: more is to come)
    """The bytes end within a reply."""


@dataclass(frozen=True)
class _Seen:
    """`busy`: the part of the time within commands; `by_command`: the parts of each; `calls_per_s` of all."""

    busy: float
    by_command: Mapping[str, float]
    calls_per_s: float


def encoded(command: Sequence[str]) -> bytes:
    """A command as it is sent."""
    words = [word.encode() for word in command]
    return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)])


def values(read: bytes) -> list[Value]:
    """The whole replies that have come; an error is a text that begins with "-"."""
    found, at = [], 0
    while at < len(read):
        try:
            value, at = _value(read, at)
        except Incomplete:
            break
        found.append(value)
    return found


def read(text: str, command: str) -> Said:
    """What the replies to COMMANDS show."""
    replies = values(text.encode("utf-8", "surrogateescape"))
    replies += [None] * (len(COMMANDS) - len(replies))
    seen = _seen(replies)
    clients = [_fields(line) for line in str(replies[4] or "").splitlines() if line.startswith("id=")]
    blocked = Counter(client.get("cmd", "?") for client in clients if "b" in client.get("flags", ""))
    slow = _slow(replies[5], replies[2])
    shows = [f"{several(len(clients), 'client')}, {blocked.total()} of them blocked"]
    evidence = [f"{count} clients wait in {name}" for name, count in blocked.most_common(2)]
    points: Points = "none"
    count, place = None, ""
    if seen:
        rate = f"{seen.calls_per_s:,.0f} commands per second"
        shows.insert(0, f"its one thread spends {seen.busy:.0%} of the time in {rate}")
        busiest = sorted(seen.by_command.items(), key=lambda each: -each[1])[:3]
        evidence += [f"{name}: {share:.0%} of the time" for name, share in busiest if share >= 0.01]
        if seen.busy >= BUSY_SHARE:
            points, count, place = "dependency", 1, busiest[0][0]
    if points == "none" and blocked.total() >= max(QUEUE_MIN, QUEUE_SHARE * len(clients)):
        points, place = "gate", blocked.most_common(1)[0][0]
    evidence += slow
    return Said(NAME, command, "; ".join(shows), tuple(evidence), points, count, place)


def _value(read: bytes, at: int) -> tuple[Value, int]:
    """The reply that begins there, and where it ends. Raises Incomplete."""
    end = read.find(b"\r\n", at)
    if end < 0:
        raise Incomplete
    kind, head, at = read[at : at + 1], read[at + 1 : end], end + 2
    if kind == b":":
        return int(head), at
    if kind == b"$":
        length = int(head)
        if length < 0:
            return None, at
        if at + length + 2 > len(read):
            raise Incomplete
        return read[at : at + length].decode("utf-8", "replace"), at + length + 2
    if kind == b"*":
        items: list[Value] = []
        for _ in range(int(head)):
            item, at = _value(read, at)
            items.append(item)
        return items, at
    sign = "-" if kind == b"-" else ""
    return sign + head.decode("utf-8", "replace"), at


def _seen(replies: Sequence[Value]) -> _Seen | None:
    """What passed between both halves; None: it may not be read, or no time has passed."""
    began, before, ended, after = (replies[at] for at in range(4))
    if not isinstance(began, list) or not isinstance(ended, list):
        return None
    passed_us = _us(ended) - _us(began)
    earlier, later = _stats(str(before or "")), _stats(str(after or ""))
    if passed_us <= 0 or not later:
        return None
    spent = {name: us - earlier.get(name, (0, 0))[1] for name, (_, us) in later.items()}
    calls = sum(number - earlier.get(name, (0, 0))[0] for name, (number, _) in later.items())
    # A blocked command counts no time while it waits.
    shares = {name: us / passed_us for name, us in spent.items()}
    return _Seen(sum(shares.values()), shares, calls / (passed_us / 1e6))


def _us(time: list[Value]) -> int:
    seconds, us = (int(str(part)) for part in time[:2])
    return seconds * 1_000_000 + us


def _stats(text: str) -> dict[str, tuple[int, int]]:
    """Calls and microseconds of each command."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name.startswith("cmdstat_"):
            fields = dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
            counts = int(fields.get("calls", 0)), int(fields.get("usec", 0))
            found[name.removeprefix("cmdstat_").upper()] = counts
    return found


def _fields(line: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in line.split(" ") if "=" in pair)


def _slow(log: Value, now: Value) -> list[str]:
    """The slowest commands of late in the slow log: the command and the beginning of its key, no values."""
    if not isinstance(log, list) or not isinstance(now, list):
        return []
    since = _us(now) / 1e6 - RECENT_S
    took = Counter[str]()
    counts = Counter[str]()
    for entry in log:
        if not isinstance(entry, list) or len(entry) < 4 or int(str(entry[1])) < since:
            continue
        name = _word(entry[3] if isinstance(entry[3], list) else [])
        counts[name] += 1
        took[name] = max(took[name], int(str(entry[2])))
    return [
        f"slow log: {counts[name]} × {name}, up to {us / 1000:,.1f} ms" for name, us in took.most_common(3)
    ]


def _word(words: Sequence[Value]) -> str:
    """A command with the part of its key that many share, as in "GET session:…"."""
    name = str(words[0]).upper() if words else "?"
    if len(words) < 2 or name in ("AUTH", "HELLO", "CONFIG", "ACL"):
        return name
    key = str(words[1])
    prefix = key.partition(":")[0][:_KEY_MOST]
    return f"{name} {prefix}:…" if ":" in key else f"{name} …"
