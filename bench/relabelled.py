"""A comparison of a server with itself, judged again with its turns under other labels.

Every turn of such a block is a fresh start of the same server, and their order is random. So which of them is
A, its twin or B is a matter of names, and a comparison with other names is one that could have been measured
instead. The share of these that calls B different varies less from comparison to comparison than the yes or
no of a single one. It does not see what happens to one letter alone; for that there is the share under the
labels that the turns had.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from crumple.stats.sequential import Looks
from crumple.versus import standing
from crumple.versus.standing import FIRST, TWIN, Rule, Seen

LABELLINGS = 100
LETTERS = (FIRST, TWIN, "B")


def share_different(said: Mapping[str, Any], labellings: int = LABELLINGS) -> float | None:
    """The share of labellings (0..1) under which some figure differs. `said`: the JSON of `crumple versus`.

    None: it ended before the first look.
    """
    rule = Rule(
        figures=tuple(said["figures"]),
        letters=("B",),
        looks=Looks(said["looks"]["least"], said["looks"]["most"]),
        tolerance=said["loads"]["tolerance"],
        confidence=said["confidence"],
    )
    blocks = [_figures(turns) for turns in said["blocks"]]
    if len(blocks) < rule.looks.least:
        return None
    drawn = random.Random(said["seed"])
    different = 0
    for _ in range(labellings):
        orders = [drawn.sample(LETTERS, len(LETTERS)) for _ in blocks]
        different += _is_different(rule, blocks, orders, time_is_over=said["ending"] == "budget")
    return different / labellings


def _figures(turns: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """What counts of each turn of a block: figure → value, by the letter that the turn had."""
    # Of several attempts the last one stands.
    last = {turn["letter"]: turn for turn in turns}
    return [
        {
            figure: value
            for load in (last[letter]["closed"], last[letter]["at_rate"])
            if load["counts"]
            for figure, value in load["figures"].items()
        }
        for letter in LETTERS
    ]


def _is_different(
    rule: Rule,
    blocks: Sequence[list[dict[str, float]]],
    orders: Sequence[Sequence[str]],
    *,
    time_is_over: bool,
) -> bool:
    rows: dict[Any, dict[str, dict[int, float]]] = {}
    for number, (turns, letters) in enumerate(zip(blocks, orders, strict=True), 1):
        for letter, figures in zip(letters, turns, strict=True):
            for figure, value in figures.items():
                rows.setdefault(figure, {}).setdefault(letter, {})[number] = value
    seen: list[Seen] = []
    for done in range(rule.looks.least, len(blocks) + 1):
        is_over = time_is_over and done == len(blocks)
        seen.append(standing.look(rule, rows, done, time_is_over=is_over))
    return any(each.answer == "different" for each in standing.standing(seen))
