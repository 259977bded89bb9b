"""The mean response time by stages, in words, lines and JSON."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import synthetic_load
from crumple import contract
from crumple.drawing import numerals
from crumple.load.report import load_sentences as say
from crumple.load.report import server_sentences
from made_stages import FOUND, with_readings


def said(read: Sequence[Mapping[str, int]]) -> str:
    """The line of stages, with plain spaces."""
    return server_sentences.time(synthetic_load.load(with_readings(read))).replace("\u202f", " ")


@pytest.mark.parametrize(
    ("mean_us", "low_us", "high_us", "shown"),
    [
        (71.4, 59, 84, "70 µs"),
        (71.4, 71.3, 71.5, "71.4 µs"),
        (71.4, 70, 73, "71 µs"),
        (71.4, 0, 145, "< 150 µs"),
        (0.4, 0, 1.2, "< 1.2 µs"),
        (20_345, 19_100, 21_600, "20 ms"),
        (20_345, 20_340, 20_350, "20.3 ms"),
        (158_000, 120_000, 196_000, "160 ms"),
        (1_234, 200, 2_268, "1 ms"),
        (71.4, 71.4, 71.4, "71.4 µs"),
        (0, 0, 0, "0 ns"),
    ],
)
def test_a_time_is_shown_as_far_as_its_interval_decides_it(
    mean_us: float, low_us: float, high_us: float, shown: str
) -> None:
    assert numerals.decided(mean_us * 1e3, low_us * 1e3, high_us * 1e3).replace("\u202f", " ") == shown


UNITS_NS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


@pytest.mark.parametrize("seed", range(200))
def test_no_part_is_longer_than_the_whole_beside_it(seed: int) -> None:
    chance = random.Random(seed)
    whole_ns = 10 ** chance.uniform(2, 10)
    part_ns = whole_ns * chance.choice((1.0, chance.uniform(0.5, 1.0)))
    half_ns = part_ns * 10 ** chance.uniform(-4, 0.5)

    def ns(shown: str) -> float:
        number, unit = shown.removeprefix("<\u202f").replace(",", "").split("\u202f")
        return float(number) * UNITS_NS[unit]

    part = numerals.decided(part_ns, max(0, part_ns - half_ns), part_ns + half_ns, whole_ns)
    assert ns(part) <= ns(numerals.duration(whole_ns)) * (1 + 1e-12)


def test_the_line_says_no_more_than_is_known() -> None:
    rows = [{"not_accepted": 1, "inside": 31}, *[{"inside": 32}] * 29] * 3
    line = said([*rows, *[{"unread": 16, "inside": 16}, {"inside": 32}] * 50])
    assert re.match(r"not accepted < [\d.]+ [mµ]s · unread ", line), line
    assert "returning" not in line and "being sent" not in line


def test_the_summary_has_a_line_of_stages() -> None:
    line = said([{"not_accepted": 8, "unread": 4, "inside": 20}] * 60)
    span = r"\d[\d.]* [mµ]s"
    whole = rf"not accepted {span} · unread {span} · inside {span}, of {span}"
    assert re.fullmatch(whole, line), line
    load = synthetic_load.load(with_readings([{"inside": 20}] * 60))
    assert ("time", server_sentences.time(load)) in say.facts(load)
    assert server_sentences.time(load).startswith("inside ")
    assert "not told apart" not in said([{"inside": 32, "thrown_away": 1}] + [{"inside": 32}] * 99)
    assert "not told apart" in said([{"inside": 32, "thrown_away": 1}] * 100)
    few = "by stages not known: 1 of the 50 readings that are needed; load it for 600 s or longer"
    assert said([{"inside": 1}]) == few
    # 50 readings and a fifth more take ten times as long as six do that came in 10 s.
    late = synthetic_load.load(with_readings([{"inside": 1}] * 6).model_copy(update={"measured_ns": 10**10}))
    assert server_sentences.time(late).endswith(
        "6 of the 50 readings that are needed; load it for 100 s or longer"
    )
    none = synthetic_load.load(with_readings([]).model_copy(update={"measured_ns": 10**10}))
    assert server_sentences.time(none).endswith("0 of the 50 readings that are needed")
    assert server_sentences.time(synthetic_load.closed()) == ""


def test_the_json_has_the_stages_with_their_intervals() -> None:
    def written(of: contract.TrialRecord) -> Any:
        return json.loads(json.dumps(synthetic_load.printed(synthetic_load.load(of))))["stages"]

    found = written(with_readings([{"inside": 32}] * 60))
    assert (found["why"], found["readings"]) == (None, 60)
    assert set(found["parts"]) == {"due", *FOUND[:-1], "unknown"}
    inside = found["parts"]["inside"]
    assert inside["low_ns"] <= inside["mean_ns"] <= inside["high_ns"]
    assert inside["mean_ns"] == pytest.approx(found["measured_ns"], rel=0.05)
    assert set(written(with_readings([]))) == {"why", "remedy"}
    assert written(synthetic_load.closed().record) is None
