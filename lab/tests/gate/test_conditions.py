"""The language of --fail-if: what a text means, whether a figure meets it, and which exit code follows."""

from collections.abc import Sequence

import pytest
from crumple.errors import UsageError
from crumple.gate import condition
from crumple.gate.condition import FigureKind, FigureSeen, NoFigure, Outcome, State

KINDS = {
    "p99": FigureKind({"": 1.0}, "p99>+10%", is_ratio=True),
    "breaking-point": FigureKind({"": 1.0, "/s": 1.0}, "breaking-point<1000"),
    "memory": FigureKind({"kib": 1024.0}, "memory>64KiB"),
}


def read(*texts: str) -> list[tuple[str, str, float]]:
    return [(each.quantity, each.operator, each.limit) for each in condition.read(texts, KINDS)]


def test_conditions_are_separated_by_commas_or_repeated() -> None:
    assert read("p99>1.1, breaking-point <= 1_000 /s", "Memory>64KiB") == [
        ("p99", ">", 1.1),
        ("breaking-point", "<=", 1_000.0),
        ("memory", ">", 65_536.0),
    ]


def test_a_change_is_a_ratio() -> None:
    assert read("p99>+10%, p99<-25%") == [("p99", ">", pytest.approx(1.1)), ("p99", "<", 0.75)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("p98>1.1", "there is no figure p98 here; did you mean p99?"),
        (
            "p99",
            '--fail-if "p99" is not a comparison with a limit; '
            "write a figure, < or >, and a limit, such as p99>+10%",
        ),
        ("p99>10%", '"%" is not a unit of p99; write p99>+10%'),
        ("p99>-200%", "nothing falls by 100 % or more; write p99>+10%"),
        ("p99>250ms", '"ms" is not a unit of p99; write p99>+10%'),
        ("breaking-point<+5%", '"+5%" is not a value of breaking-point; write breaking-point<1000'),
        ("memory>64", "memory needs a unit; write memory>64KiB"),
        (" , ", "--fail-if is empty; write p99>+10%, for instance"),
    ],
)
def test_a_mistake_is_one_line_with_its_remedy(text: str, line: str) -> None:
    with pytest.raises(UsageError) as mistake:
        condition.read([text], KINDS)
    assert line in str(mistake.value) and "\n" not in str(mistake.value)


def test_every_mistake_is_reported() -> None:
    with pytest.raises(UsageError) as mistake:
        condition.read(["p98>1.1, p99>1ms", "nonsense"], KINDS)
    assert len(str(mistake.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (1.11, 1.3, "holds"),
        (1.1, 1.3, "not shown"),
        (1.0, 1.2, "not shown"),
        (0.9, 1.1, "does not hold"),
    ],
)
def test_it_holds_if_the_whole_interval_meets_it(low: float, high: float, state: State) -> None:
    (asked,) = condition.read(["p99>1.1"], KINDS)
    assert condition.outcome(asked, [FigureSeen(low, high)]).state == state


def test_what_could_be_read_otherwise_shows_nothing() -> None:
    (asked,) = condition.read(["p99>1.1"], KINDS)
    assert condition.outcome(asked, [FigureSeen(2.0, 3.0, is_sure=False)]).state == "not shown"
    assert condition.outcome(asked, [FigureSeen(0.5, 0.6, is_sure=False)]).state == "does not hold"


def test_it_holds_if_it_holds_of_one_of_several_figures() -> None:
    (asked,) = condition.read(["p99>1.1"], KINDS)
    found = condition.outcome(
        asked, [FigureSeen(1.0, 1.05, "B"), FigureSeen(1.2, 1.3, "C"), FigureSeen(1.2, 1.4, "D")]
    )
    assert found.sentence == "fail if p99>1.1: holds, so it fails: C; D"


def test_a_figure_that_is_missing_is_not_known_and_says_why() -> None:
    (asked,) = condition.read(["p99>1.1"], KINDS)
    assert condition.outcome(asked, NoFigure("no block counts")).sentence == (
        "fail if p99>1.1: is not known: no block counts"
    )
    assert condition.outcome(asked, []).state == "not known"


@pytest.mark.parametrize(
    ("states", "otherwise", "code"),
    [
        ((), 0, 0),
        (("does not hold", "not shown"), 0, 0),
        (("not known",), 0, 3),
        (("not known", "holds"), 0, 1),
        (("holds",), 3, 3),
        (("does not hold",), 130, 130),
    ],
)
def test_exit_codes(states: Sequence[State], otherwise: int, code: int) -> None:
    assert condition.code_of([Outcome("x", state, "") for state in states], otherwise) == code
