"""Pairs of a server and itself: kept in a file, and judged with their turns under other labels."""

import argparse
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from crumple import project
from crumple.versus.standing import FIRST, TWIN

LETTERS = (FIRST, TWIN, "B")


@pytest.fixture
def relabelled(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(project.root() / "bench"))
    import relabelled

    return relabelled


def said(blocks: list[list[dict[str, Any]]], least: int = 4) -> dict[str, Any]:
    """As `crumple versus --json` says it."""
    return {
        "figures": ["p50"],
        "looks": {"least": least, "most": 4},
        "loads": {"tolerance": 0.05},
        "confidence": 0.98,
        "seed": 1,
        "ending": "budget",
        "blocks": blocks,
    }


def turn(letter: str, value: float, *, attempt: int = 1, counts: bool = True) -> dict[str, Any]:
    return {
        "letter": letter,
        "attempt": attempt,
        "closed": {"counts": True, "figures": {}},
        "at_rate": {"counts": counts, "figures": {"p50": value}},
    }


def test_the_share_is_that_of_the_labellings_that_call_b_different(relabelled: ModuleType) -> None:
    """One turn of each of four blocks takes twice as long.

    Of 81 labellings B is that turn in all blocks in one, and in none in 16. Two of these call it A, or the
    twin, in all blocks: then A differs from its twin, and nothing is said.
    """
    drawn = random.Random(1)
    blocks = [
        [
            turn(letter, times * drawn.uniform(0.99, 1.01))
            for letter, times in ((FIRST, 1), (TWIN, 1), ("B", 2))
        ]
        for _ in range(4)
    ]
    assert relabelled.share_different(said(blocks), 4_000) == pytest.approx(15 / 81, abs=0.02)


def test_turns_that_are_alike_differ_under_few_labels(relabelled: ModuleType) -> None:
    drawn = random.Random(2)
    shares = []
    for _ in range(20):
        blocks = [[turn(each, drawn.lognormvariate(0, 0.05)) for each in LETTERS] for _ in range(4)]
        shares.append(relabelled.share_different(said(blocks), 50))
    assert 0 < sum(shares) / len(shares) < 0.06


def test_the_last_attempt_stands_and_what_does_not_count_is_left_out(relabelled: ModuleType) -> None:
    blocks = [
        [turn(FIRST, 1.0), turn(TWIN, 1.0 + at / 100), turn("B", 9.0), turn("B", 1.0, attempt=2)]
        for at in range(4)
    ]
    assert relabelled.share_different(said(blocks)) == 0
    mute = [[turn(each, 1.0, counts=False) for each in LETTERS] for _ in range(4)]
    assert relabelled.share_different(said(mute)) == 0


def test_before_the_first_look_nothing_is_judged(relabelled: ModuleType) -> None:
    assert relabelled.share_different(said([[turn(each, 1.0) for each in LETTERS]])) is None


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
