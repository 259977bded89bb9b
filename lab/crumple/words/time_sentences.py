"""A time budget in words: plain text, no markup."""

from typing import TYPE_CHECKING

from crumple.drawing import numerals

if TYPE_CHECKING:
    from crumple.record.flow import StageTime
    from crumple.record.inside import Divided
    from crumple.record.stages import Budget, NoBudget

# Parts that are named however little time they take, if they were found.
_OFTEN = ("not_accepted", "unread", "inside", "returning", "network")
# The share of all the time above which any other part is named.
_NAMED_SHARE = 0.01


def by_stages(budget: "Budget | NoBudget", *, with_remedy: bool = False) -> str:
    """The mean response time by stages, which add up to it; *inside* by its pieces, if known.

    Each time has the digits that its interval decides. A part that was never found is left out.
    `with_remedy`: where they are not known, with what to change about the load.
    """
    # Imported here because it takes time before a load.
    from crumple.record.inside import Divided
    from crumple.record.stages import NoBudget

    if isinstance(budget, NoBudget):
        return f"by stages not known: {budget.said if with_remedy else budget.why}"
    said = [
        f"{part.words} {part_of(budget, part)}"
        for part in budget.shown
        if part.mean_ns > (0 if part.name in _OFTEN else _NAMED_SHARE * budget.measured_ns)
    ]
    line = f"{' · '.join(said)}, of {numerals.duration(budget.measured_ns)}"
    if budget.from_server_end:
        line += ", read from the server's end of its connections"
    if budget.not_divided:
        line += f"; inside is not divided: {budget.not_divided}"
    if isinstance(budget.inside, Divided) and budget.inside.untold:
        line += f"; otherwise inside may include {untold(budget.inside)}"
    return line


def part_of(budget: "Budget", part: "StageTime") -> str:
    """How long a part takes: never longer than the mean response time, as both are shown."""
    return numerals.decided(part.mean_ns, part.low_ns, part.high_ns, budget.measured_ns)


def untold(divided: "Divided") -> str:
    """The pieces that are not known, and why; each reason once."""
    from crumple.record.flow import WORDS

    reasons: dict[str, list[str]] = {}
    for each in divided.untold:
        words = "dependencies" if each.name == "dependency" else WORDS[each.name]
        reasons.setdefault(each.why, []).append(words)
    return "; ".join(f"{' and '.join(dict.fromkeys(words))} ({why})" for why, words in reasons.items())
