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
from dataclasses import dataclass, replace
from typing import Any, Literal

from crumple.contract import HistogramRecord
from crumple.stats.sequential import Looks
from crumple.versus import standing, turn, versus_course
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import LookResult, Ratio, Rule
from crumple.versus.turn import PutOn, Turn, VersusBlock

LABELLINGS = 100
LETTERS = (FIRST, TWIN, "B")
# Times are not compared here; the quantiles are figures.
NO_TIMES = HistogramRecord(count=0, min_ns=None, mean_ns=None, max_ns=None, encoded="")
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


def _turns(turns: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The turns of a block, by the letter that each had."""
    of = {each["letter"]: each for each in turns}
    return [Turn(each, *(_load(of[each][name]) for name in ("closed", "at_rate"))) for each in LETTERS]


def _load(load: Mapping[str, Any]) -> PutOn:
    """What is compared of a load."""
    return PutOn(
        figures=load["figures"],
        word="valid",
        against=() if load["counts"] else ("it does not count",),
        warnings=(),
        failed_share=0.0,
        answered_share=1.0,
        times=NO_TIMES,
        at_least=tuple(load["at_least"]),
        speed_per_s=load.get("speed_per_s"),
        busy_share=load.get("busy_share"),
    )


def _end(
    rule: Rule, blocks: Sequence[list[Turn]], orders: Sequence[Sequence[str]], *, time_is_over: bool
) -> End:
    """Look after each block until the labels' own looks end it, as `versus_course` does."""
    named: list[VersusBlock] = []
    seen: list[LookResult] = []
    for turns, letters in zip(blocks, orders, strict=True):
        named.append(
            VersusBlock(
                tuple(replace(each, letter=letter) for each, letter in zip(turns, letters, strict=True))
            )
        )
        if len(named) < rule.looks.least:
            continue
        seen.append(_look(rule, named))
        ratios = standing.standing(seen)
        if _is_over(ratios, named, rule.looks.most):
            return _answer(ratios)
    if not time_is_over:
        return "cut off"
    seen[-1] = _look(rule, named, time_is_over=True)
    return _answer(standing.standing(seen))


def _look(rule: Rule, blocks: Sequence[VersusBlock], *, time_is_over: bool = False) -> LookResult:
    return standing.look(
        rule,
        turn.rows(blocks),
        len(blocks),
        bounded=turn.bounded(blocks),
        speeds=turn.speeds(blocks),
        time_is_over=time_is_over,
    )


def _is_over(ratios: Sequence[Ratio], blocks: Sequence[VersusBlock], most: int) -> bool:
    """Whether there would be no further block, however much time were left."""
    is_decided = all(each.is_decided for each in ratios)
    return len(blocks) >= most or is_decided or not versus_course.is_of_use(blocks, ratios)


def _answer(ratios: Sequence[Ratio]) -> End:
    return "different" if any(each.answer == "different" for each in ratios) else "not different"
