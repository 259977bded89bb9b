"""What limits a server, in words: plain text, no markup. `load`, `find`, `run` and `diagnose` share them."""

from collections.abc import Sequence

from crumple.drawing import numerals
from crumple.limit.finding import CAUSES, Cause, Finding, Said, Unclear

# What the word for a cause means, where a reader of one sentence may not know it.
MEANT: dict[Cause, str] = {
    "gate": "a lock, a semaphore or a queue",
    "connection-pool": "those that it opened to what it asks",
    "accept-queue": "connections that wait to be accepted",
}


def limits(said: Sequence[Said]) -> list[tuple[str, str]]:
    """What limits it, the surest first, each with its evidence, its share of the time and its remedy."""
    rows: list[tuple[str, str]] = []
    for each in said:
        if isinstance(each, Finding):
            rows.append(("also" if rows else "first limit", finding(each)))
            if each.remedy:
                rows.append(("try", each.remedy))
    return rows


def first_limit(found: Finding, mean_s: float | None = None, *, in_full: bool = False) -> str:
    """What limits a server first, with its evidence. `mean_s`: the mean response time, if that is known.

    `in_full`: also what that time is, where no figure beside it says so.
    """
    if found.cause == "none":
        return f"nothing limits it: {found.evidence}"
    meant = f" ({MEANT[found.cause]})" if found.cause in MEANT else ""
    return f"its first limit is {CAUSES[found.cause]}{meant}: {evidence(found, mean_s, in_full=in_full)}"


def finding(found: Finding) -> str:
    """A cause, how probable it is, its evidence, and its share of the time."""
    return f"{CAUSES[found.cause]} ({sure(found)}): {evidence(found)}"


def evidence(found: Finding, mean_s: float | None = None, *, in_full: bool = False) -> str:
    """The evidence of a cause, and its share of the mean response time, `mean_s` if that is known."""
    if not found.share_s or found.cause == "none":
        return found.evidence
    if mean_s is None:
        return f"{found.evidence}; {numerals.duration(1e9 * found.share_s)} of the mean response time"
    share, mean = (numerals.duration(1e9 * each) for each in (min(found.share_s, mean_s), mean_s))
    number, _, unit = share.partition(numerals.NARROW)
    part = number if mean.endswith(numerals.NARROW + unit) else share
    if in_full:
        return f"{found.evidence}; {part} of the {mean} that a request takes on average"
    return f"{found.evidence}; it takes {part} of {mean}"


def sure(found: Finding) -> str:
    """How probable a cause is, whether an experiment tried it, and its rival."""
    if found.cause == "none" or found.probability >= 1.0:
        return found.sure
    said = f"{numerals.probability(found.probability)} {found.sure}"
    if found.rival is None:
        return said
    return f"{said}; {CAUSES[found.rival]} {numerals.probability(found.rival_probability)}"


def in_short(said: Sequence[Said]) -> list[tuple[str, str]]:
    """What limits it, and what makes that doubtful; if nothing was found, why that is not known."""
    whole = [each.why for each in said if isinstance(each, Unclear) and each.cause in ("none", "engine")]
    if found := limits(said):
        return [*found, *(("cannot tell", why) for why in whole)]
    return [("first limit", f"cannot tell: {why}") for why in whole]


def in_parts(kept_back_ns: float, *, is_shown: bool) -> str:
    """That the rest of an answer is kept back on its way. `is_shown`: not only the time says so."""
    late = numerals.duration(kept_back_ns)
    why = (
        "the server writes it in parts and the last waits in its kernel"
        if is_shown
        else "as where a server writes it in parts and the last waits"
    )
    return (
        f"ends {late} after its first byte{':' if is_shown else ','} {why} until the first is "
        f"acknowledged{';' if is_shown else ':'} write it at once, or set TCP_NODELAY"
    )


def unclear(said: Sequence[Said]) -> str:
    """What is not known, and why; each reason once."""
    causes: dict[str, list[Cause]] = {}
    for each in said:
        if isinstance(each, Unclear):
            causes.setdefault(each.why, []).append(each.cause)
    return "; ".join(
        why if {*of} & {"none", "engine"} else f"{', '.join(CAUSES[cause] for cause in of)}: {why}"
        for why, of in causes.items()
    )
