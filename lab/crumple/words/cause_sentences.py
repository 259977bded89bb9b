"""What limits a server, in words: plain text, no markup. `load`, `find`, `run` and `diagnose` share them."""

from collections.abc import Sequence

from crumple.drawing import numerals
from crumple.limit.finding import CAUSES, Cause, Finding, Said, Unclear


def limits(said: Sequence[Said]) -> list[tuple[str, str]]:
    """What limits it, the surest first, each with its evidence, its share of the time and its remedy."""
    rows: list[tuple[str, str]] = []
    for each in said:
        if isinstance(each, Finding):
            rows.append(("also" if rows else "first limit", finding(each)))
            if each.remedy:
                rows.append(("try", each.remedy))
    return rows


def finding(found: Finding) -> str:
    """A cause, how probable it is, its evidence, and its share of the time."""
    return f"{CAUSES[found.cause]} ({sure(found)}): {evidence(found)}"


def evidence(found: Finding) -> str:
    """The evidence of a cause, and its share of the time."""
    if not found.share_s or found.cause == "none":
        return found.evidence
    return f"{found.evidence}; {numerals.duration(1e9 * found.share_s)} of the mean response time"


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
