"""The five studies and the articles' own figures: arithmetic, the source of each figure, and its place."""

import tomllib
from typing import Any

import pytest
from crumple import project
from crumple.commands.project_files import Project
from crumple.stats.interval import SEVERAL
from crumple.verdict.case import servers_of

STUDIES = ("io-models", "random-file", "options-ramp", "node-vs-python", "todo-json")
CLAIMS: dict[str, dict[str, Any]] = {
    claim["id"]: claim
    for name in STUDIES
    for claim in tomllib.loads((project.root() / "studies" / f"{name}.toml").read_text("utf-8"))["claims"]
}

PHP = "php-apache[start_workers=150]"

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


@pytest.mark.parametrize("name", STUDIES)
def test_a_claim_answers_the_studys_question_at_each_scale(name: str) -> None:
    study = Project.here().study(name)
    scales = {scale for each in study.experiments.values() for scale in each.scales}
    for scale in scales:
        here = {
            each.id
            for each in study.claims
            if scale in each.scales and all(scale in study.experiments[of].scales for of in servers_of(each))
        }
        assert here & {*study.answers}, scale


def test_most_of_four_means_three() -> None:
    assert (len(CLAIMS["IO-5"]["servers"]), CLAIMS["IO-5"]["at_least"]) == (4, 3)


@pytest.mark.parametrize(
    ("claim", "wanted"),
    [
        # "1000 nanoseconds or longer" has no upper end.
        ("IO-12", {"published": "100.. ns"}),
        ("IO-12b", {"published": "100.. ns"}),
        # The closing table says threads of Node.js, where it says processes of PHP.
        ("IO-14", {"kind": "growth", "metric": "processes", "grows": False}),
        ("IO-14b", {"kind": "growth", "metric": "threads", "grows": False}),
        # Whether a process uses a second core shows in its own CPU time, and not in a ratio of throughputs.
        ("OR-7b", {"kind": "share", "metric": "cores_busy", "servers": ["node-http"]}),
        # "Second place" is said of the first chart, which has no clusters and no Grizzly on one thread.
        ("TJ-2", {"tiers": [["go-nethttp"], ["java-grizzly-worker"], ["node-http", "node-express"]]}),
        # "Much more efficient" is more than a direction.
        ("OR-5", {"kind": "ratio", "metric": "memory"}),
        ("IO-7", {"kind": "ratio", "metric": "memory_per_connection"}),
        ("IO-13b", {"servers": ["node-http", "go-nethttp"], "below": "1 %"}),
        ("RF-2b", {"published": "40 s"}),
        ("IO-2c", {"against": "hash-light", "tiers": [[PHP], ["node-http", "java-servlet", "go-nethttp"]]}),
        ("IO-15b", {"metric": "switches"}),
        ("IO-16", {"servers": ["java-servlet-async"], "grows": False}),
        ("RF-3c", {"tiers": [[PHP, "node-http"], ["csharp-aspnet"]]}),
        ("OR-2d", {"users": [340, 380], "below": "320 ms"}),
        ("NP-4c", {"published": "5.5 %"}),
        ("NP-7", {"published": 77_000, "metric": "cpu_per_request"}),
    ],
)
def test_what_the_articles_say_is_what_is_asked(claim: str, wanted: dict[str, Any]) -> None:
    assert {key: CLAIMS[claim].get(key) for key in wanted} == wanted


@pytest.mark.parametrize("claim", ["OR-5", "IO-7"])
def test_much_more_is_at_least_twice_as_much(claim: str) -> None:
    assert [pair["at_least"] for pair in CLAIMS[claim]["pairs"]] == [2]


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        ("RF-2", "the article itself doubts its program"),
        ("RF-2", "half as many characters"),
        ("TJ-5", "four logical processors"),
        ("NP-5", "1.54"),
        ("OR-3", "1.43"),
        ("IO-13", "follows from the setting"),
        ("OR-5", "memory is the pool's"),
    ],
)
def test_a_claim_says_what_its_article_leaves_open_or_has_otherwise(claim: str, part: str) -> None:
    assert any(part in condition for condition in CLAIMS[claim]["conditions"])


@pytest.mark.parametrize("claim", ["IO-1", "IO-2", "IO-2b", "IO-2c", "IO-3", "IO-4"])
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
        if (load := meant.experiments[experiment].scales.get(scale)) and load.blocks_for(server) < SEVERAL
    ]
    assert few == []
