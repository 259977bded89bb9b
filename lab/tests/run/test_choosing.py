"""The choice of the next block: the one that decides claims fastest and fits into the time left."""

from crumple.run.session import Choice, ExperimentPlace, Next, Open, choose

SHARED, HEAVY, LIGHT = (ExperimentPlace("todo", name) for name in ("shared", "heavy", "light"))


def test_a_claim_that_needs_fewer_rounds_comes_first() -> None:
    claims = [Open("A", (SHARED,), blocks=6), Open("B", (HEAVY,), blocks=3)]
    following = {SHARED: Next(2, 10.0), HEAVY: Next(2, 10.0)}
    assert choose(claims, following, 100.0) == Choice(HEAVY, ("B",), 3)


def test_two_claims_on_one_block_outweigh_one_claim_that_needs_as_many() -> None:
    claims = [Open("A", (SHARED,), 3), Open("B", (HEAVY,), 3), Open("C", (HEAVY,), 4)]
    following = {SHARED: Next(2, 10.0), HEAVY: Next(2, 10.0)}
    assert choose(claims, following, 100.0) == Choice(HEAVY, ("B", "C"), 3)


def test_a_short_block_comes_before_a_long_one() -> None:
    claims = [Open("A", (SHARED,), 3), Open("B", (HEAVY,), 3)]
    following = {SHARED: Next(2, 30.0), HEAVY: Next(2, 10.0)}
    assert choose(claims, following, 100.0) == Choice(HEAVY, ("B",), 3)


def test_the_experiment_with_fewer_blocks_is_next_and_a_round_includes_both() -> None:
    claims = [Open("A", (HEAVY, LIGHT), 4)]
    both = {HEAVY: Next(2, 10.0), LIGHT: Next(2, 15.0)}
    first = choose(claims, both, 25.0)
    assert first is not None and first.place == HEAVY
    assert choose(claims, both, 24.0) is None, "a round of both takes 25 s"
    then = choose(claims, {HEAVY: Next(3, 10.0), LIGHT: Next(2, 15.0)}, 15.0)
    assert then is not None and then.place == LIGHT


def test_a_claim_whose_round_does_not_fit_leaves_the_time_to_others() -> None:
    claims = [Open("A", (SHARED,), 3), Open("B", (HEAVY,), 9)]
    following = {SHARED: Next(2, 50.0), HEAVY: Next(2, 10.0)}
    assert choose(claims, following, 20.0) == Choice(HEAVY, ("B",), 9)
    assert choose(claims, following, 5.0) is None


def test_an_experiment_without_blocks_left_is_not_chosen() -> None:
    ended = {SHARED: Next(2, 1.0), HEAVY: Next(2, None)}
    assert choose([Open("A", (SHARED, HEAVY), 9)], ended, 100.0) is None
    assert choose([], {SHARED: Next(2, 1.0)}, 100.0) is None


def test_an_experiment_with_all_its_blocks_does_not_stop_the_one_with_fewer() -> None:
    following = {SHARED: Next(3, 1.0), HEAVY: Next(10, None)}
    choice = choose([Open("A", (SHARED, HEAVY), 9)], following, 100.0)
    assert choice is not None and choice.place == SHARED


def test_the_reason_names_the_claims() -> None:
    assert str(Choice(SHARED, ("A",), 4)) == "for A, which takes about 4 blocks"
    assert str(Choice(SHARED, ("A", "B", "C"), 4)) == "for A, B and C, which take about 4 blocks"
