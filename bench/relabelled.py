"""A comparison of a server with itself, judged again with its turns under other labels.

Every turn of such a block is a fresh start of the same server, and their order is random. So which of them is
A, its twin or B is a matter of names, and a comparison with other names is one that could have been measured
instead. The share of these that calls B different varies less from comparison to comparison than the yes or
no of a single one. It does not see what happens to one letter alone; for that there is the share under the
labels that the turns had.

Each labelling ends where its own looks would have ended it. One that would have gone on beyond the blocks
that were measured is cut off: what it would have come to is not known, so it is counted apart.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crumple.stats.sequential import Looks
from crumple.versus import standing
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import Ratio, Rule, Seen

LABELLINGS = 100
LETTERS = (FIRST, TWIN, "B")
End = Literal["different", "not different", "cut off"]


@dataclass(frozen=True)
class Relabelled:
    """How many labellings call B different in some figure, do not, or were cut off."""

    different: int
    not_different: int
    cut_off: int

    @property
    def share_different(self) -> float | None:
        """The share (0..1) that calls B different, of those that ended; None: all were cut off."""
        ended = self.different + self.not_different
        return self.different / ended if ended else None

    @property
    def share_cut_off(self) -> float:
        """The share (0..1) of all labellings that was cut off."""
        return self.cut_off / (self.different + self.not_different + self.cut_off)


@dataclass(frozen=True)
class _Turn:
    """What counts of a turn. `speeds`: by figure, of the server's cores; `at_least`: lower bounds."""

    figures: Mapping[str, float]
    speeds: Mapping[str, float]
    at_least: frozenset[str]
    disturbed: bool


def relabelled(said: Mapping[str, Any], labellings: int = LABELLINGS) -> Relabelled | None:
    """Judge a comparison under other labels. `said`: the JSON of `crumple versus`.

    None: it ended before the first look.
    """
    rule = Rule(
        figures=tuple(said["figures"]),
        letters=("B",),
        looks=Looks(said["looks"]["least"], said["looks"]["most"]),
        tolerance=said["loads"]["tolerance"],
        confidence=said["confidence"],
    )
    blocks = [_turns(turns) for turns in said["blocks"]]
    if len(blocks) < rule.looks.least:
        return None
    drawn = random.Random(said["seed"])
    ends: Counter[End] = Counter()
    for _ in range(labellings):
        orders = [drawn.sample(LETTERS, len(LETTERS)) for _ in blocks]
        ends[_end(rule, blocks, orders, time_is_over=said["ending"] == "budget")] += 1
    return Relabelled(ends["different"], ends["not different"], ends["cut off"])


def _turns(turns: Sequence[Mapping[str, Any]]) -> list[_Turn]:
    """The turns of a block, by the letter that each had."""
    # Of several attempts the last one stands.
    last = {turn["letter"]: turn for turn in turns}
    return [_turn(last[letter]) for letter in LETTERS]


def _turn(turn: Mapping[str, Any]) -> _Turn:
    loads = (turn["closed"], turn["at_rate"])
    counting = [load for load in loads if load["counts"]]
    return _Turn(
        figures={figure: value for load in counting for figure, value in load["figures"].items()},
        speeds={
            figure: load["speed_per_s"]
            for load in counting
            if load.get("speed_per_s")
            for figure in load["figures"]
        },
        at_least=frozenset(figure for load in counting for figure in load["at_least"]),
        disturbed=any(load["disturbed"] for load in loads),
    )


def _end(
    rule: Rule, blocks: Sequence[list[_Turn]], orders: Sequence[Sequence[str]], *, time_is_over: bool
) -> End:
    """Look after each block until the labels' own looks end it, as `versus_course` does."""
    rows: dict[Any, dict[str, dict[int, float]]] = {}
    speeds: dict[Any, dict[str, dict[int, float]]] = {}
    bounded: dict[Any, dict[str, list[int]]] = {}
    seen: list[Seen] = []
    disturbed = False
    for done, (turns, letters) in enumerate(zip(blocks, orders, strict=True), 1):
        for letter, turn in zip(letters, turns, strict=True):
            for figure, value in turn.figures.items():
                rows.setdefault(figure, {}).setdefault(letter, {})[done] = value
            for figure, value in turn.speeds.items():
                speeds.setdefault(figure, {}).setdefault(letter, {})[done] = value
            for figure in turn.at_least:
                bounded.setdefault(figure, {}).setdefault(letter, []).append(done)
            disturbed = disturbed or turn.disturbed
        if done < rule.looks.least:
            continue
        seen.append(standing.look(rule, rows, done, bounded=bounded, speeds=speeds))
        ratios = standing.standing(seen)
        if _is_over(ratios, done, rule.looks.most, disturbed=disturbed):
            return _answer(ratios)
    if not time_is_over:
        return "cut off"
    seen[-1] = standing.look(rule, rows, len(blocks), bounded=bounded, speeds=speeds, time_is_over=True)
    return _answer(standing.standing(seen))


def _is_over(ratios: Sequence[Ratio], done: int, most: int, *, disturbed: bool) -> bool:
    """Whether there would be no further block, however much time were left."""
    if done >= most or all(each.is_decided for each in ratios):
        return True
    # A figure with too few blocks because others disturbed some is waited for.
    is_kept_waiting = disturbed and any(each.interval is None for each in ratios)
    return not standing.goes_on(ratios) and not is_kept_waiting


def _answer(ratios: Sequence[Ratio]) -> End:
    return "different" if any(each.answer == "different" for each in ratios) else "not different"
