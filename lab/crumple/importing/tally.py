"""How often each request was recorded, by the host it went to; bounded in memory, whatever is recorded."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from crumple.drawing import numerals
from crumple.errors import UsageError
from crumple.importing.recorded import LeftOut, Reasons, Recorded
from crumple.words import masked

# Different requests, and letters of them all, that are kept; what is new beyond these is only counted.
KINDS_MAX, LETTERS_MAX = 100_000, 64 << 20
# The engine takes weights whose sum is 65,536 at most.
WEIGHTS_MAX = 65_536
# They depend on the load or on a cache, and not on what a request asks.
_OF_THE_MOMENT = frozenset({304, 408, 429, 499})


@dataclass
class KindOfRequest:
    """How often a request was recorded, and the statuses of its answers."""

    count: int = 0
    statuses: set[int | None] = field(default_factory=set)


@dataclass(frozen=True)
class Weighted:
    """A request with its weight, and how often it was recorded."""

    request: Recorded
    weight: int
    expect_status: int | None
    """None: any from 200 to 299."""
    count: int


@dataclass(frozen=True)
class ChosenRequests:
    """The requests of one origin."""

    origin: str
    kinds: tuple[Weighted, ...]
    used: int
    """How many recorded requests they stand for."""
    recorded: int
    """How many requests were recorded, of all origins."""

    def taken(self) -> list[str]:
        """Return a line for each method: how many requests are used, and the most frequent of them."""
        found = Reasons()
        for each in self.kinds:
            asked = each.request
            found.add(f"by {asked.method}", f"{asked.method} {masked.url(asked.path[:1000])}", each.count)
        return found.lines("taken")

    def made_up(self) -> Reasons:
        """Return how many of the requests that are used hold what no document gave, by reason."""
        found = Reasons()
        for each in self.kinds:
            if each.request.made_up:
                asked = each.request
                where = f"{asked.method} {masked.url(asked.path[:1000])}"
                found.add(asked.made_up, where, each.count)
        return found


class Tally:
    """Counts requests. `beyond`: those of each origin that were new when the bound was reached."""

    def __init__(self) -> None:
        self._of: dict[str, dict[Recorded, KindOfRequest]] = {}
        self._beyond: Counter[str] = Counter()
        self._kinds = 0
        self._letters = 0

    def take(self, requests: Iterable[Recorded]) -> None:
        """Count requests."""
        for each in requests:
            self._one(each)

    def _one(self, recorded: Recorded) -> None:
        key = recorded if recorded.status is None else replace(recorded, status=None)
        kinds = self._of.setdefault(recorded.origin, {})
        kind = kinds.get(key)
        if kind is None:
            if self._kinds >= KINDS_MAX or self._letters + key.size > LETTERS_MAX:
                self._beyond[recorded.origin] += 1
                return
            kind = kinds[key] = KindOfRequest()
            self._kinds += 1
            self._letters += key.size
        kind.count += 1
        kind.statuses.add(recorded.status)

    def chosen(self, host: str | None, most: int, left_out: LeftOut) -> ChosenRequests | None:
        """Return the requests of one origin, the most frequent first; None: nothing was counted.

        `host`: which origin; None: the most frequent. Raises UsageError if there is no such.
        """
        counts = self._counts()
        if not counts:
            return None
        recorded = sum(counts.values()) + sum(left_out.requests.counts.values())
        origin = _named(host, counts) if host else max(counts, key=lambda each: counts[each])
        others = {name: number for name, number in counts.items() if name != origin}
        if others:
            listed = listing(others)
            left_out.add("to other hosts; choose one with --host", listed, sum(others.values()))
        if self._beyond[origin]:
            bound = f"beyond {KINDS_MAX:,} different ones or {LETTERS_MAX >> 20} MiB of them"
            left_out.add(bound, count=self._beyond[origin])
        ranked = sorted(self._of[origin].items(), key=lambda each: -each[1].count)
        rest = sum(kind.count for _, kind in ranked[most:])
        if rest:
            rare = f"of {len(ranked) - most:,} kinds rarer than the first {most:,} (--most)"
            left_out.add(rare, count=rest)
        used = sum(kind.count for _, kind in ranked[:most])
        return ChosenRequests(origin, _weighted(ranked[:most]), used, recorded)

    def _counts(self) -> dict[str, int]:
        return {
            origin: sum(kind.count for kind in kinds.values()) + self._beyond[origin]
            for origin, kinds in self._of.items()
        }


def listing(counts: dict[str, int]) -> str:
    """Return hosts with their numbers, the most frequent first; of many, the first five."""
    ranked = sorted(counts.items(), key=lambda each: -each[1])
    named = [f"{origin.partition('://')[2] or 'no host'} ({number:,})" for origin, number in ranked[:5]]
    return ", ".join(named) + (f" and {len(ranked) - 5:,} more" if len(ranked) > 5 else "")


def _named(host: str, counts: dict[str, int]) -> str:
    wanted = host.strip().lower().rstrip("/")
    found = [origin for origin in counts if wanted in _names(origin)]
    if not found:
        raise UsageError(f"no request goes to {host}", f"there are requests to {listing(counts)}")
    return max(found, key=lambda each: counts[each])


def _names(origin: str) -> tuple[str, ...]:
    at = origin.partition("://")[2]
    return origin, at, at.rpartition(":")[0] if at.rpartition(":")[2].isdecimal() else at


def _weighted(ranked: list[tuple[Recorded, KindOfRequest]]) -> tuple[Weighted, ...]:
    total = sum(kind.count for _, kind in ranked)
    # Each request has a weight of 1 at least; beyond that, weights are in proportion to the counts.
    share = min(1.0, (WEIGHTS_MAX - len(ranked)) / total)
    return tuple(
        Weighted(request, max(1, int(kind.count * share)), _expected(kind.statuses), kind.count)
        for request, kind in ranked
    )


def _expected(statuses: set[int | None]) -> int | None:
    """Return the status that every answer had, if it is the request that leads to it, such as a redirect."""
    (status, *others) = statuses
    if others or status is None or status in _OF_THE_MOMENT or not 300 <= status < 500:
        return None
    return status


def kinds_said(chosen: ChosenRequests) -> str:
    """Return in words how many of the recorded requests are used, and how many kinds if some are equal."""
    used = f"{chosen.used:,} of {numerals.count(chosen.recorded, 'request')}"
    kinds = len(chosen.kinds)
    return used if kinds == chosen.used else f"{used}, {numerals.count(kinds, 'different one')}"
