"""What a trial shows of a point: answers per second, by which law, and by how much they may be off."""

from typing import Any

import made_figures
import made_maps
import pytest
from crumple.model_map import map_data
from crumple.study import map_points

USERS = 60
CROWDED = "wait0-compute10000-users60"
STUDY = map_points.with_first_points(made_maps.study(), "quick")


def served(**changes: Any) -> tuple[float, float]:
    """60 users whose responses took 20 ms on average: 2,900 a second were counted in 1.2 s."""
    known = {"response_mean_ns": 20e6, "measured_ns": 1.2e9}
    return map_data.served_per_s(made_figures.trial("go", 1, 2_900.0, **(known | changes)), USERS)


def test_answers_follow_from_their_mean_response_time() -> None:
    per_s, off = served()
    assert per_s == pytest.approx(60 / 0.020)
    assert off == pytest.approx(0.289 / 58**2, rel=0.01)


def test_the_time_that_users_wait_for_the_engine_is_a_part_of_their_round() -> None:
    per_s, _ = served(unattended_share=0.25)
    assert per_s == pytest.approx(0.75 * 60 / 0.020)


@pytest.mark.parametrize(
    ("changes", "off"),
    [
        # A response takes longer than a third of the window; 58 answers for each user were counted.
        ({"response_mean_ns": 0.41e9}, 0.289 / 58),
        ({"failed_share": 0.01}, 0.289 / 58),
        # Half of the users had no answer, so each of the others had 116.
        ({"unanswered_share": 0.5}, 0.289 / 116),
    ],
)
def test_they_are_counted_where_the_mean_is_not_that_of_all(changes: dict[str, float], off: float) -> None:
    assert served(**changes) == (2_900.0, pytest.approx(off, rel=0.01))


@pytest.mark.parametrize(("answers", "counts"), [(59, 0), (61, 1)])
def test_a_window_in_which_not_each_user_got_an_answer_shows_nothing(answers: int, counts: int) -> None:
    seen = made_figures.trial("go", 1, answers / 2, experiment=CROWDED, measured_ns=2e9, response_mean_ns=1e9)
    assert len(map_data.counting([seen], STUDY)) == counts


def test_users_without_an_answer_leave_no_p99() -> None:
    seen = {"experiment": CROWDED, "response_ns": {0.99: 4e8}, "measured_ns": 2e9}
    for share, p99_ms, leaves in ((0.01, 400.0, False), (0.012, None, True)):
        trial = made_figures.trial("go", 1, 1_000.0, unanswered_share=share, **seen)
        found = map_data.trial(trial, STUDY, 2, 1.0)
        assert (found.p99_ms, found.leaves_users) == (p99_ms, leaves)
