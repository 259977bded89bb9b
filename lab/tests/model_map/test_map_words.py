"""What a map says in sentences."""

import random
from types import SimpleNamespace
from typing import Any

import made_maps
import pytest
from crumple.model_map import map_words
from crumple.model_map.map_data import MapServer
from crumple.model_map.model_map import ModelMap, Rank, Spot, Standing
from crumple.stats.interval import Interval
from made_maps import NATURES, point

SERVERS = {nature.io_model: nature.server for nature in NATURES}


def standing(
    server: MapServer, rank: Rank, ratio: tuple[float, float, float], limit: str = "cores", **more: object
) -> Standing:
    low, estimate, high = ratio
    between = Interval(estimate, low, high, 0.95, 1)
    given = {"is_kept": "yes", "p99_ms": between, "measured": 0, **more}
    return Standing(server, between, between, rank, limit, **given)  # type: ignore[arg-type]


def spot(*servers: Standing) -> Spot:
    return Spot(point(80, 3_000, 500), servers)


BEST = standing(SERVERS["event-loop-per-core"], "best", (1, 1, 1))
GREEN = standing(SERVERS["green-threads"], "behind", (0.9, 0.92, 0.94))
POOL = standing(SERVERS["process-pool"], "behind", (0.37, 0.39, 0.41), "workers")


def said(text: str) -> str:
    return text.replace("\u202f", " ")


def test_a_request_is_answered_in_one_sentence() -> None:
    assert said(map_words.for_request(spot(BEST, GREEN, POOL))) == (
        "For your requests: event loop per core, then green threads (− 8 %), process pool of 150 (− 61 %, "
        "its workers are the limit)."
    )


def test_what_is_known_less_well_is_said_with_its_interval() -> None:
    wide = standing(SERVERS["event-loop"], "behind", (0.44, 0.5, 0.57), "one-core")
    assert said(map_words.for_request(spot(BEST, wide))) == (
        "For your requests: event loop per core, then event loop (−56 to −43 %, it computes on one core)."
    )


def test_those_alike_and_those_undecided_are_no_ranking() -> None:
    alike = standing(SERVERS["hybrid"], "alike", (0.93, 0.97, 1.01))
    doubtful = standing(SERVERS["event-loop"], "open", (0.86, 0.94, 1.02), "one-core")
    assert said(map_words.for_request(spot(BEST, alike, doubtful, POOL))) == (
        "For your requests: event loop per core and hybrid alike (within 10 %), undecided for event loop "
        "(−14 to +2 %), then process pool of 150 (− 61 %, its workers are the limit)."
    )


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (("yes", "yes"), "All of them keep p99 below a second."),
        (("yes", "no"), "Event loop per core keeps p99 below a second."),
        (("no", "open"), "None is known to keep p99 below a second; undecided for process pool of 150."),
    ],
)
def test_who_keeps_p99_below_a_second(kept: tuple[str, str], words: str) -> None:
    servers = [
        standing(SERVERS[name], "best", (1, 1, 1), is_kept=each)
        for name, each in zip(("event-loop-per-core", "process-pool"), kept, strict=True)
    ]
    assert map_words.of_p99(spot(*servers)) == words


def test_measured_and_predicted_are_told_apart() -> None:
    measured = standing(SERVERS["hybrid"], "alike", (0.95, 0.97, 0.99), measured=1)
    assert map_words.basis(spot(BEST, POOL)).startswith("Predicted: by operational laws")
    assert map_words.basis(spot(BEST, measured)).startswith("1 of 2 servers were measured")
    assert map_words.basis(spot(measured)) == "Measured at this very point."


def test_a_map_says_who_serves_most_how_often_and_what_limits_the_others() -> None:
    drawn = ModelMap(made_maps.data(made_maps.first_trials(random.Random(1))))
    best, behind, kept = (said(each) for each in map_words.of_map(drawn))
    assert best.startswith(f"{144 - drawn.decided} of 144 cells are not decided; of the others, ")
    assert " serve most or within 10 % of it" in best
    assert "event loop in " in behind and "cells (one core)" in behind
    assert "process pool of 150 in " in behind and "cells (its workers)" in behind
    assert kept.startswith("p99 is known to stay below a second for ")
    assert f"{drawn.decided} of 144 cells are decided, by 40 trials." in said(map_words.sure(drawn))


def drawn_of(*spots: Spot) -> Any:
    """A map of these cells alone."""
    beliefs = [SimpleNamespace(server=each.server) for each in spots[0].servers]
    decided = sum(spot.is_decided for spot in spots)
    trials = [SimpleNamespace(point=spot.point) for spot in spots]
    data = SimpleNamespace(trials=trials)
    return SimpleNamespace(spots=spots, beliefs=beliefs, decided=decided, data=data)


def test_who_serves_most_is_counted_in_decided_cells_alone() -> None:
    doubtful = standing(SERVERS["green-threads"], "open", (0.7, 0.9, 1.1))
    decided, other = spot(BEST, GREEN), spot(BEST, doubtful)
    assert said(map_words.of_map(drawn_of(decided))[0]) == (
        "Of 1 cells, event loop per core in 1 serves most or within 10 % of it."
    )
    assert said(map_words.of_map(drawn_of(decided, other, other))[0]) == (
        "2 of 3 cells are not decided; of the others, event loop per core in 1 serves most or within "
        "10 % of it."
    )
    assert map_words.of_map(drawn_of(other))[0] == "None of 1 cells is decided."


@pytest.mark.parametrize(
    ("limits", "users_limit_all"), [(("users", "users"), True), (("users", "cores"), False)]
)
def test_all_are_alike_as_the_users_ask_no_more_only_where_nothing_else_limits_any(
    limits: tuple[str, str], users_limit_all: bool
) -> None:
    one, other = limits
    both = spot(
        standing(SERVERS["event-loop-per-core"], "best", (1, 1, 1), one),
        standing(SERVERS["green-threads"], "alike", (0.95, 0.97, 0.99), other),
    )
    found = map_words.of_map(drawn_of(both))[0]
    assert ("; in 1 all of them do, as the users ask no more." in found) is users_limit_all


def test_a_map_is_said_to_be_measured_where_it_was() -> None:
    doubtful = standing(SERVERS["green-threads"], "open", (0.7, 0.9, 1.1))
    decided = spot(BEST, GREEN)
    assert map_words.how_known(drawn_of(decided)) == ("Measured at 1 point, else predicted", "good")
    assert map_words.how_known(drawn_of(decided, spot(BEST, doubtful)))[1] == "doubtful"
