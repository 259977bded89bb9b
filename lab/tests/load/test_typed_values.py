"""Numbers as typed, with letters for thousands and millions."""

import pytest
from crumple.errors import UsageError
from crumple.load import typed_values
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "number"),
    [("500", 500), ("10k", 10_000), ("10K", 10_000), ("1m", 1_000_000), ("1.5M", 1_500_000), (" 7 ", 7),
     ("0.5k", 500), ("-3", -3), ("0", 0)],
)  # fmt: skip
def test_a_count_may_end_in_a_letter(text: str, number: int) -> None:
    assert typed_values.read_count("-n", text) == number


@pytest.mark.parametrize("text", ["", "k", "ten", "1e3", "10kk", "10 k", "1,000", "١", "1g", "0x10", "."])
def test_what_is_no_number_is_refused_by_its_flag(text: str) -> None:
    with pytest.raises(UsageError, match=r"^-n .*: that is no number; write 500 or 10k, for instance$"):
        typed_values.read_count("-n", text)


@pytest.mark.parametrize("text", ["1.5", "0.0005k", "1.0000001m"])
def test_a_count_is_whole(text: str) -> None:
    with pytest.raises(UsageError, match="that is no whole number"):
        typed_values.read_count("-c", text)


@pytest.mark.long
@given(st.integers(0, 10**30), st.sampled_from([("", 1), ("k", 1_000), ("m", 1_000_000)]))
def test_no_digit_is_lost(number: int, letter: tuple[str, int]) -> None:
    assert typed_values.read_count("-n", f"{number}{letter[0]}") == number * letter[1]
