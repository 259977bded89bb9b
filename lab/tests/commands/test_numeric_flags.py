"""Numbers that make no sense, for each flag of `load` and `find` that takes a value: a usage error or a plan.

Only plans are made: nothing is sent, and no process starts.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Call, caller
from crumple import cli
from crumple.commands import find, load
from crumple.errors import EXIT_USAGE
from crumple.find import find_plan
from crumple.find.find_plan import UrlPlan
from crumple.load import load_plan
from crumple.load.load_plan import LoadPlan
from crumple.load.typed_values import CONNECTIONS_MAX, THREADS_MAX

URL = "http://127.0.0.1:8080"
NUMBERS = (-1, 0, 10**30)
# What else is typed: nothing, and what makes the load of the other kind.
BESIDE = {"load": ((), ("--rate=5",)), "find": ((), ("--by=connections",))}
TOP: Any = cli.group()


def _with_a_value(command: str) -> list[str]:
    declared = TOP.get_command(TOP.context_class(TOP), command).params
    options = [each for each in declared if each.param_type_name == "option" and not each.is_flag]
    return [max(each.opts, key=len) for each in options]


FLAGS = [(command, flag) for command in BESIDE for flag in _with_a_value(command)]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[LoadPlan | UrlPlan]:
    """The plans that the commands make; no load follows."""
    made: list[LoadPlan | UrlPlan] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(load, "put_on", lambda url, flags: made.append(load_plan.plan(url, flags)))
    monkeypatch.setattr(find, "breaking_point", lambda url, flags: made.append(find_plan.of_url(url, flags)))
    return made


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def test_the_flags_with_a_value_include_the_numeric_ones() -> None:
    assert {("load", "--requests"), ("load", "--threads"), ("load", "--ramp")} < {*FLAGS}
    assert {("find", "--connections"), ("find", "--seed"), ("find", "--budget")} < {*FLAGS}
    assert ("load", "--debug") not in FLAGS


@pytest.mark.parametrize(("command", "flag"), FLAGS)
def test_any_number_is_planned_or_refused_in_lines_that_name_the_remedy(
    plans: list[LoadPlan | UrlPlan], call: Call, command: str, flag: str
) -> None:
    for beside in BESIDE[command]:
        for number in NUMBERS:
            plans.clear()
            code, _, said = call(command, URL, *beside, f"{flag}={number}")
            if plans:
                assert (code, said) == (0, "")
                _check(plans[0])
            else:
                assert code == EXIT_USAGE
                assert said and all("; " in line for line in said.splitlines()), said


def _check(plan: LoadPlan | UrlPlan) -> None:
    """Assert that the engine can read the plan's numbers."""
    if isinstance(plan, LoadPlan):
        numbers = [*_integers(json.loads(plan.spec.model_dump_json()))]
        assert 0 <= min(numbers) <= max(numbers) < 2**63
    else:
        assert 1 <= plan.question.connections_most <= CONNECTIONS_MAX
        assert 1 <= (plan.options.threads or 1) <= THREADS_MAX
        assert 0 <= plan.question.seed < 2**63


def _integers(document: Any) -> Iterator[int]:
    if isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _integers(each)
    elif isinstance(document, int):
        yield document
