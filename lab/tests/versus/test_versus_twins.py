"""Pairs of a server and itself: kept in a file, and judged with their turns under other labels."""

import argparse
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from crumple import project
from crumple.versus.letters import FIRST, TWIN
from crumple.versus.standing import LookResult, Rows, Rule

LETTERS = (FIRST, TWIN, "B")


@pytest.fixture
def relabelled(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(project.root() / "bench"))
    import relabelled

    return relabelled


def said(blocks: list[list[dict[str, Any]]], *, most: int = 4, ending: str = "budget") -> dict[str, Any]:
    """As `crumple versus --json` says it."""
    return {
        "figures": ["p50"],
        "looks": {"least": 4, "most": most},
        "loads": {"tolerance": 0.05},
        "confidence": 0.98,
        "seed": 1,
        "ending": ending,
        "blocks": blocks,
    }


def turn(letter: str, value: float, *, counts: bool = True, at_least: tuple[str, ...] = ()) -> dict[str, Any]:
    at_rate = {"counts": counts, "figures": {"p50": value}, "at_least": [*at_least]}
    return {
        "letter": letter,
        "closed": {"counts": True, "figures": {}, "at_least": []},
        "at_rate": at_rate,
    }


def odd(times: float, blocks: int = 4, at_least: tuple[str, ...] = ()) -> list[list[dict[str, Any]]]:
    """Blocks in which one turn takes so many times as long, of which these figures are only bounds."""
    drawn = random.Random(1)
    return [
        [
            turn(FIRST, drawn.uniform(0.99, 1.01)),
            turn(TWIN, drawn.uniform(0.99, 1.01)),
            turn("B", times * drawn.uniform(0.99, 1.01), at_least=at_least),
        ]
        for _ in range(blocks)
    ]


@pytest.mark.long
def test_the_share_is_that_of_the_labellings_that_call_b_different(relabelled: ModuleType) -> None:
    """One turn of each of four blocks takes twice as long.

    Of 81 labellings B is that turn in all blocks in one, and in none in 16. Two of these call it A, or the
    twin, in all blocks: then A differs from its twin, and nothing is said.
    """
    found = relabelled.relabelled(said(odd(2)), 4_000)
    assert found.share_different == pytest.approx(15 / 81, abs=0.02)
    assert found.cut_off == 0


@pytest.mark.long
def test_a_value_that_is_only_a_bound_calls_nothing_faster(relabelled: ModuleType) -> None:
    """B, or A beside a slower B, would have the fast turn, which may in truth have been slow."""
    assert relabelled.relabelled(said(odd(0.5)), 400).different > 0
    assert relabelled.relabelled(said(odd(0.5, at_least=("p50",))), 400).different == 0


def test_a_labelling_has_no_look_beyond_the_one_that_ends_it(
    relabelled: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, look = [], relabelled.standing.look

    def looked(rule: Rule, rows: Rows, blocks: int, **more: Any) -> LookResult:
        looks.append(blocks)
        return look(rule, rows, blocks, **more)

    monkeypatch.setattr(relabelled.standing, "look", looked)
    blocks = [[turn(each, 1.0) for each in LETTERS] for _ in range(4)]
    found = relabelled.relabelled(said([*blocks, *odd(100, 4)], most=12), 10)
    assert set(looks) == {4}
    assert (found.different, found.not_different, found.cut_off) == (0, 10, 0)


@pytest.mark.long
@pytest.mark.parametrize("ending", ["decided", "no use", "gone"])
def test_a_labelling_that_would_have_gone_on_is_cut_off(relabelled: ModuleType, ending: str) -> None:
    over = relabelled.relabelled(said(odd(2), most=60), 200)
    found = relabelled.relabelled(said(odd(2), most=60, ending=ending), 200)
    assert over.cut_off == 0 and 0 < found.cut_off < 200
    assert found.different + found.not_different + found.cut_off == 200
    ended = found.different + found.not_different
    assert found.share_different == found.different / ended and found.share_cut_off == found.cut_off / 200


def test_where_all_are_cut_off_there_is_no_share(relabelled: ModuleType) -> None:
    assert relabelled.Relabelled(0, 0, 5).share_different is None


@pytest.mark.long
def test_turns_that_are_alike_differ_under_few_labels(relabelled: ModuleType) -> None:
    drawn = random.Random(2)
    shares = []
    for _ in range(20):
        blocks = [[turn(each, drawn.lognormvariate(0, 0.05)) for each in LETTERS] for _ in range(4)]
        shares.append(relabelled.relabelled(said(blocks), 50).share_different)
    assert 0 < sum(shares) / len(shares) < 0.06


def test_what_does_not_count_is_left_out(relabelled: ModuleType) -> None:
    mute = [[turn(each, 1.0, counts=False) for each in LETTERS] for _ in range(4)]
    assert relabelled.relabelled(said(mute)).different == 0


def test_before_the_first_look_nothing_is_judged(relabelled: ModuleType) -> None:
    assert relabelled.relabelled(said([[turn(each, 1.0) for each in LETTERS]])) is None


def test_pairs_that_the_file_has_are_not_measured_again(
    relabelled: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import versus_twins

    asked = []

    def compared(
        times: float, seed: int, budget: str, arguments: argparse.Namespace
    ) -> dict[str, Any] | None:
        asked.append((times, seed, budget, arguments.running))
        return said([[turn("B", 1.0) | {"closed": {"times": "HIST"}}]]) if seed == 1 else None

    monkeypatch.setattr(versus_twins, "compared", compared)
    file, flags = tmp_path / "twins.jsonl", argparse.Namespace(running=False)
    first = versus_twins.Kept(file, flags)
    found = [first.said(1.0, seed, "60s") for seed in (1, 2)]
    again = versus_twins.Kept(file, flags)
    assert [again.said(1.0, seed, "60s") for seed in (1, 2)] == found and len(asked) == 2
    assert "HIST" not in file.read_text()
    again.said(1.0, 1, "2m")
    versus_twins.Kept(file, argparse.Namespace(running=True)).said(1.0, 1, "60s")
    assert len(asked) == 4
