"""The one rule by which tests are tried again."""

import pytest
import tried


def test_a_spoiled_attempt_is_repeated_with_a_warning() -> None:
    attempts = iter(["late", "late again", ""])

    def attempt() -> str:
        if why := next(attempts):
            raise tried.SpoiledError(why)
        return "shown"

    with pytest.warns(UserWarning, match="tried again, as a busy machine may be the reason: late") as warned:
        assert tried.until_shown(attempt) == "shown"
    assert len(warned) == 2


@pytest.mark.filterwarnings("ignore:tried again")
def test_an_attempt_that_is_always_spoiled_fails() -> None:
    played = []

    def attempt() -> None:
        played.append(1)
        raise tried.SpoiledError("always late")

    with pytest.raises(tried.SpoiledError, match="always late"):
        tried.until_shown(attempt)
    assert len(played) == tried.ATTEMPTS


def test_a_wrong_result_is_not_tried_again() -> None:
    played = []

    def attempt() -> None:
        played.append(1)
        pytest.fail("wrong")

    with pytest.raises(pytest.fail.Exception, match="wrong"):
        tried.until_shown(attempt)
    assert played == [1]
