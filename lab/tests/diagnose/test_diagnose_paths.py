"""What the paths of `crumple diagnose` beside the work (--light, --slow, --heavy) are asked by."""

from typing import Any

import pytest
from crumple.diagnose import diagnose_plan
from crumple.diagnose.diagnose_flags import DiagnoseFlags
from crumple.errors import UsageError


def asked(**flags: Any) -> dict[str, tuple[str, str, str | None] | None]:
    found = diagnose_plan._asked(DiagnoseFlags(**flags), "/")
    paths = {"light": found.light, "slow": found.slow, "heavy": found.heavy}
    return {name: each and (each.method, each.path, each.body) for name, each in paths.items()}


def test_a_path_is_asked_by_get_whatever_the_work_is_asked_by() -> None:
    found = asked(method="POST", body="x", light="/light", slow="/wait?ms=100")
    assert found == {"light": ("GET", "/light", None), "slow": ("GET", "/wait?ms=100", None), "heavy": None}
    assert asked(method="POST", body="x")["light"] == ("POST", "/", "x")


def test_a_method_may_stand_before_the_path() -> None:
    found = asked(slow="POST /wait?ms=100", heavy=" put  /compute ", light="/")
    assert found["slow"] == ("POST", "/wait?ms=100", None) and found["heavy"] == ("PUT", "/compute", None)


@pytest.mark.parametrize("typed", ["wait", "POST", "POST wait", "A B /wait", ""])
def test_other_words_are_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="a path begins with /"):
        asked(slow=typed)


def test_a_line_says_that_method_and_body_are_the_works_alone() -> None:
    said = diagnose_plan.of_work_alone
    assert said(DiagnoseFlags(body_lines="bodies", slow="/wait")) == (
        "--slow is asked by GET: method and body are the work's alone; "
        "to ask by another method, without a body, write --slow 'POST /wait'"
    )
    line = said(DiagnoseFlags(method="put", slow="POST /wait", heavy="/heavy", light="/light"))
    assert line.startswith("--light and --heavy are asked by GET") and line.endswith("--light 'PUT /light'")


def test_it_says_nothing_where_nothing_could_be_taken_for_another() -> None:
    said = diagnose_plan.of_work_alone
    assert not said(DiagnoseFlags(slow="/wait", header=["A: b"]))
    assert not said(DiagnoseFlags(method="get", slow="/wait"))
    assert not said(DiagnoseFlags(body="x"))
    assert not said(DiagnoseFlags(body="x", slow="POST /wait"))
