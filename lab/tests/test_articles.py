"""The five studies and the articles' own figures: arithmetic, the source of each figure, and its place."""

import tomllib
from typing import Any

import pytest
from crumple import project
from crumple.commands.project_files import Project
from crumple.verdict.case import servers_of
from crumple.verdict.evidence import BLOCKS_MIN

STUDIES = ("io-models", "random-file", "options-ramp", "node-vs-python", "todo-json")
CLAIMS: dict[str, dict[str, Any]] = {
    claim["id"]: claim
    for name in STUDIES
    for claim in tomllib.loads((project.root() / "studies" / f"{name}.toml").read_text("utf-8"))["claims"]
}

# The figures that the articles print, as ratios.
PUBLISHED = {
    "NP-1": [851 / 832],
    "NP-2": [4538 / 1072],
    "NP-3": [4538 / 957],
    "NP-3b": [957 / 1072],
    "NP-5": [945 / 44.138 / 14.707],
    "OR-3": [1.3],
    "OR-3b": [1 / 0.7],
    "RF-1": [574.796 / 41.887],
    "TJ-3": [5617 / 11013],
    "TJ-4": [32626 / 5617],
    "TJ-5": [15994 / 11013, 7544 / 5617],
    "TJ-6": [19294 / 17544],
}


@pytest.mark.parametrize("claim", PUBLISHED)
def test_every_published_ratio_follows_from_the_articles_figures(claim: str) -> None:
    held_against = [pair["published"] for pair in CLAIMS[claim]["pairs"]]
    assert held_against == pytest.approx(PUBLISHED[claim], rel=0.006)


def test_no_other_ratio_is_called_published() -> None:
    called = {
        name for name, claim in CLAIMS.items() for pair in claim.get("pairs", []) if "published" in pair
    }
    assert called == set(PUBLISHED)


@pytest.mark.parametrize("claim", ["OR-7", "OR-7c", "NP-6", "RF-4"])
def test_a_ratio_that_the_study_expects_is_called_expected(claim: str) -> None:
    (pair,) = CLAIMS[claim]["pairs"]
    assert "expected" in pair and "published" not in pair


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_names_its_place(claim: str) -> None:
    assert CLAIMS[claim].get("place")


def test_most_of_four_means_three() -> None:
    assert (len(CLAIMS["IO-5"]["servers"]), CLAIMS["IO-5"]["at_least"]) == (4, 3)


@pytest.mark.parametrize("claim", ["IO-2", "IO-2b", "IO-2c", "IO-3"])
def test_claims_that_depend_on_phps_hash_say_so(claim: str) -> None:
    assert any("8.4" in each and "SHA-256" in each for each in CLAIMS[claim]["conditions"])


@pytest.mark.parametrize("family", [("OR-2", "OR-2b", "OR-2c"), ("OR-4", "OR-4b")])
def test_claims_that_depend_on_the_users_are_tested_at_several_numbers(family: tuple[str, ...]) -> None:
    experiments = {CLAIMS[claim]["experiment"] for claim in family}
    assert len(experiments) == len(family)
    assert all("not in the article" in CLAIMS[claim]["conditions"][0] for claim in family)


@pytest.mark.parametrize("name", STUDIES)
def test_each_server_of_a_claim_has_the_blocks_that_a_verdict_takes(name: str) -> None:
    """What a scale says of a server holds for its variants, too, so it may limit more than it seems to."""
    meant = Project.here().study(name)
    few = [
        (claim.id, scale, server)
        for claim in meant.claims
        for scale in claim.scales
        for experiment, own in servers_of(claim).items()
        for server in own
        if (load := meant.experiments[experiment].scales.get(scale)) and load.blocks_for(server) < BLOCKS_MIN
    ]
    assert few == []
