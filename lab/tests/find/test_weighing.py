"""The engine computes where a server breaks: golden answers, and what is said if it cannot."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_engine
from crumple.contract import Weighed, Weighing
from crumple.errors import EngineFailed
from crumple.find import weighing

pytestmark = pytest.mark.weighs

GOLDEN = real_engine.ROOT / "contract" / "golden"
QUESTIONS = [
    Weighing.model_validate_json(line) for line in (GOLDEN / "weighings.jsonl").read_text().splitlines()
]
# Those of another program (numpy), which took the likelihoods of the walk from powers of a matrix.
ANSWERS = [Weighed.model_validate_json(line) for line in (GOLDEN / "weighed.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def asker(monkeypatch: pytest.MonkeyPatch) -> Iterator[weighing._Weigher]:
    """A process of the engine for each test, which is gone at its end."""
    fresh = weighing._Weigher()
    monkeypatch.setattr(weighing, "_weigher", fresh)
    yield fresh
    process = fresh._process
    fresh.close()
    assert process is None or process.poll() is not None


def assert_golden(number: int) -> None:
    """The engine gives the golden answer to that question."""
    found = weighing.weigh(QUESTIONS[number])
    for loads, golden in zip(found.loads, ANSWERS[number].loads, strict=True):
        assert loads == pytest.approx(golden, rel=1e-9)


def test_the_golden_answers_are_given() -> None:
    assert len(QUESTIONS) == len(ANSWERS) > 10
    for number in range(len(QUESTIONS)):
        assert_golden(number)


def test_what_was_asked_before_does_not_change_an_answer() -> None:
    for number, question in enumerate(QUESTIONS):
        # As a search asks: again with each further level.
        for levels in range(1, len(question.levels)):
            weighing.weigh(question.model_copy(update={"levels": question.levels[:levels]}))
        for _ in range(2):
            assert_golden(number)


def test_what_the_engine_refuses_is_an_error_in_one_line() -> None:
    with pytest.raises(EngineFailed, match=r"^the engine ended with code 2: the loads 0 to 1 are no range"):
        weighing.weigh(QUESTIONS[0].model_copy(update={"lowest": 0.0, "highest": 1.0}))
    # The next question starts it again.
    assert_golden(0)


def test_an_engine_that_was_killed_is_an_error_in_one_line(asker: weighing._Weigher) -> None:
    assert_golden(0)
    assert asker._process is not None
    os.kill(asker._process.pid, signal.SIGKILL)
    asker._process.wait()
    with pytest.raises(EngineFailed, match=r"^the engine was killed by signal 9"):
        weighing.weigh(QUESTIONS[0])
    assert asker._process is None


def test_an_answer_of_another_version_is_an_error_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "engine"
    other.write_text('#!/bin/sh\nread -r line; echo "{}"; read -r line\n')
    other.chmod(0o755)
    monkeypatch.setattr(weighing, "program", lambda: other)
    with pytest.raises(EngineFailed, match="is not what the contract says"):
        weighing.weigh(QUESTIONS[0])
