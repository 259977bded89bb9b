"""What 10 % more of each part would give, as bars of a terminal. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from crumple.drawing.numerals import NARROW
from crumple.limit import what_if
from crumple.limit.finding import Cause, Finding, Said
from crumple.limit.what_if import Part
from crumple.observation import peer_names
from crumple.observation.server_facts import ServerFacts

# The share by which each part is changed, and the number of columns that stands for a gain of the same share.
TENTH, COLUMNS = 0.1, 20
# The least gain that is drawn, as a share; a smaller one is not called a gain.
LEAST = 0.005
# The parts of which less is a gain.
LESS: tuple[Part, ...] = ("dependency", "cpu")
# The causes whose remedy each part is.
OF: dict[Part, tuple[Cause, ...]] = {
    "workers": ("workers", "one-loop"),
    "connections": ("connection-pool",),
    "cores": what_if.OF_CORES,
    "dependency": ("dependency",),
    "cpu": (*what_if.OF_CORES, "one-loop"),
    "gate": ("gate",),
}


@dataclass(frozen=True)
class Tenth:
    """What 10 % more of a part gives: shares of the throughput, at least and at most.

    `tested`: an experiment tried the cause whose remedy it is.
    """

    part: Part
    what: str
    low: float
    high: float
    tested: bool


def of(facts: ServerFacts | None, said: Sequence[Said]) -> tuple[Tenth, ...]:
    """Return one for each part of which there is a number; empty: nothing is known to limit the server."""
    if facts is None:
        return ()
    causes = what_if.weighed(said)
    tested = {each.cause for each in said if isinstance(each, Finding) and each.sure == "tested"}
    found: list[Tenth] = []
    for part in what_if.PARTS:
        if not _is_asked(facts, part, causes):
            continue
        predicted = what_if.scaled(facts, said, part, 1.0 - TENTH if part in LESS else 1.0 + TENTH)
        if predicted is None:
            continue
        low, high = (each / facts.beyond.per_s - 1.0 for each in (predicted.low, predicted.high))
        found.append(
            Tenth(part, _what(facts, part, causes), max(0.0, low), max(0.0, high), bool({*OF[part]} & tested))
        )
    return tuple(found)


def _is_asked(facts: ServerFacts, part: Part, causes: Collection[Cause]) -> bool:
    """Whether a part is one that the server is known to have."""
    if part == "workers":
        return facts.workers is not None or bool({*OF[part]} & {*causes})
    return part != "gate" or "gate" in causes


def _what(facts: ServerFacts, part: Part, causes: Collection[Cause]) -> str:
    peer = peer_names.most_asked(facts)
    asked = (peer.listener or peer.address) if peer is not None else "what it asks"
    return {
        "workers": "processes" if "one-loop" in causes else "workers",
        "connections": f"connections to {asked}",
        "cores": "cores",
        "dependency": f"speed of {asked}",
        "cpu": "CPU time saved",
        "gate": "places in the gate",
    }[part]


def lines(found: Sequence[Tenth]) -> list[str]:
    """Return a line for each: its name, its bar, and the gain; the most first."""
    widest = max((len(each.what) for each in found), default=0)
    return [_line(each, widest) for each in sorted(found, key=lambda each: -each.high - each.low)]


def _line(each: Tenth, widest: int) -> str:
    sure, perhaps = (
        min(COLUMNS, round(COLUMNS * share / TENTH)) if share >= LEAST else 0
        for share in (each.low, each.high)
    )
    bar = "█" * sure + "░" * (perhaps - sure)
    word = "tested" if each.tested else "predicted"
    return f"{each.what:<{widest}}  {bar or '▏':<{COLUMNS}}  {percent(each)} {word}"


def percent(each: Tenth) -> str:
    """Return what it gives: "+5 to 10 %"."""
    low, high = (f"{100 * share:.0f}" for share in (each.low, each.high))
    if high == "0":
        return f"0{NARROW}%"
    return f"+{high}{NARROW}%" if low == high else f"+{low} to {high}{NARROW}%"
