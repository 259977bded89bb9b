"""Seeded simulations of `versus --fail-if` as a gate: commits that change nothing, and some that do.

Comparisons are those of test_versus_simulation.py; each commit is compared with the one before it.
"""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from crumple.gate import condition
from crumple.gate.condition import Condition, State
from crumple.stats.sequential import Looks
from crumple.versus import standing, versus_conditions
from crumple.versus.report.versus_document import VersusDocument
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.report.versus_report import document_of
from crumple.versus.standing import LookResult, Rule
from crumple.versus.versus_course import VersionComparison
from crumple.versus.versus_plan import ALIKE
from simulated_versions import NOISE, QUICK, SLOW_START, WATCHED, Rows, drawn, planned
from synthetic_versions import LOADS

pytestmark = pytest.mark.long

COMMITS = 100
# A share of false alarms of 1 % is told from one of 2 % by so many commits.
SERIES = 10
# The gates of docs/ci.md: any figure worse by whatever; the median by more than a margin; several at once.
GATES = ("slower>0", "p50>+5%", "p50>+10%, p99>+10%, throughput<-10%")
# How often a change of a tenth is put on the other, so that a gate with a margin finds it in nine of ten.
FOUND = dict(zip(GATES, (1, 3, 3), strict=True))


def asked(gate: str) -> tuple[Condition, ...]:
    """The conditions of a gate."""
    return condition.read([gate], versus_conditions.KINDS)


def before_any_block(gate: str, looks: Looks) -> tuple[VersusDocument, Rule]:
    """A comparison of two versions with this gate, before any block, and how it is decided."""
    bounds = versus_conditions.bounds(asked(gate))
    rule = Rule(WATCHED, ("B",), looks, ALIKE, bounds=bounds)
    nothing = VersionComparison("budget", {}, 500.0, rule, None, (), (), 0.0)
    of_both = document_of(
        LOADS,
        nothing,
        labels={"A": "a", "B": "b"},
        same=(),
        command="",
        afresh={},
        server_cores={},
        engine_version="",
        began_unix_s=0.0,
    )
    return of_both, rule


def looked(rule: Rule, rows: Rows) -> tuple[LookResult, ...]:
    """What a comparison sees that looks after every block, and ends as `versus_course` ends it."""
    seen: list[LookResult] = []
    for blocks in range(rule.looks.least, rule.looks.most + 1):
        seen.append(standing.look(rule, rows, blocks))
        ratios, bounds = standing.standing(seen), standing.open_bounds(seen)
        if not standing.goes_on(ratios, bounds):
            break
    return tuple(seen)


def states(gate: str, kind: str, looks: Looks, commits: int, *, slower: int = 0) -> Counter[State]:
    """What comes of a gate at so many commits: the worst of its conditions."""
    plain, rule = before_any_block(gate, looks)
    random = np.random.default_rng([looks.most, commits, slower, *gate.encode(), *kind.encode()])
    found: Counter[State] = Counter()
    for _ in range(commits):
        rows = drawn(random, kind, rule, {}, 1.0)
        changed = _slower(rows, slower)
        seen = VersusFigures(plain, looked(rule, changed))
        outcomes = {each.state for each in versus_conditions.outcomes(asked(gate), seen)}
        found[next(state for state in (*condition.STATES.values(), "not known") if state in outcomes)] += 1
    return found


def _slower(rows: Rows, times: int) -> Rows:
    def of(figure: str, letter: str, value: float) -> float:
        power = (times if letter == "B" else 0) * (-1 if figure == "throughput" else 1)
        return float(value * 1.1**power)

    return {
        figure: {
            letter: {block: of(figure, letter, value) for block, value in row.items()}
            for letter, row in of_each.items()
        }
        for figure, of_each in rows.items()
    }


# A margin on the median alone is part of the last gate, which is tried with every kind of noise.
@pytest.mark.parametrize(("gate", "kind"), [*product((GATES[0], GATES[2]), NOISE), (GATES[1], "normal")])
def test_of_commits_that_change_nothing_one_in_a_hundred_fails_at_most(gate: str, kind: str) -> None:
    found = states(gate, kind, planned(QUICK), SERIES * COMMITS)
    assert found["holds"] <= SERIES
    assert found["not known"] == 0


@pytest.mark.parametrize("gate", GATES)
def test_nor_where_few_blocks_fit(gate: str) -> None:
    assert states(gate, "normal", planned(SLOW_START), SERIES * COMMITS)["holds"] <= SERIES


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("gate", GATES)
def test_a_commit_that_is_slower_fails_in_nine_of_ten_cases(gate: str, kind: str) -> None:
    assert states(gate, kind, planned(QUICK), COMMITS, slower=FOUND[gate])["holds"] >= 90
