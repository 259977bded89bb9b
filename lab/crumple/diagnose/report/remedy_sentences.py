"""A change that was tried, in words: what was predicted, what it gave, and what limits then. Pure."""

from crumple.drawing import numerals
from crumple.drawing.numerals import NARROW
from crumple.limit.remedy import BeforeAndAfter, Expected, Remedy
from crumple.words import cause_sentences

TIMES = f"×{NARROW}"


def rows(remedy: Remedy | None) -> list[tuple[str, str]]:
    """Return what is said, each row with its name; without advice for the changed server."""
    if remedy is None:
        return []
    limits = [said for name, said in cause_sentences.in_short(remedy.then) if name == "first limit"]
    return [("changed", _gave(remedy)), *(("limit then", said) for said in limits[:1])]


def _gave(remedy: Remedy) -> str:
    predicted = _predicted(remedy.predicted) if remedy.predicted else f"no prediction: {remedy.why_none}"
    if remedy.compared is None:
        problem = remedy.problem or "hardly anything was answered"
        return f"with {remedy.change}: not compared, as {problem} ({predicted})"
    outcome = f": {remedy.outcome}" if remedy.outcome else ""
    return f"{gave(remedy.change, remedy.compared)}; {predicted}{outcome}"


def gave(change: str, compared: BeforeAndAfter) -> str:
    """Return "as it is 38 /s, with WORKERS=8 74 /s, × 1.95 [1.88 – 2.02]"."""
    before, per_s = numerals.rate(compared.before_per_s), numerals.rate(compared.per_s)
    return f"as it is {before}, with {change} {per_s}, {TIMES}{numerals.with_interval(compared.gain)}"


def _predicted(found: Expected) -> str:
    low, high = (numerals.fixed(each, 2) for each in (found.low, found.high))
    until = f", where {found.limit} is the limit" if found.limit else ""
    return f"predicted {TIMES}{low}{NARROW}–{NARROW}{high}{until}"
