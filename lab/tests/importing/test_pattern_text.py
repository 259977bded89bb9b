"""Texts for regular expressions match them, and no search takes longer than anybody waits."""

import re

import pytest
from crumple.importing import pattern_text
from hypothesis import given, settings
from hypothesis import strategies as st

PATTERNS = [
    "^[0-9a-f]{8}-[0-9a-f]{4}$", "^[^@]+@[^@]+\\.[a-z]{2,}$", "^\\w+$", "^\\S+$", "^[\\s\\S]{3}$", "^\\W$",
    "^.{5,9}$",
    "^(?:a|b)+$", "^(?<year>\\d{4})-\\d\\d$", "^https?://", "^\\$\\.[a-z]+$", "^[^a-z0-9]$",
    "^#[0-9A-Fa-f]{6}$", "^$",
    "[A-Z]", "^(\\d)(?!x)[a-z]*$", "^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)[a-zA-Z\\d]{8,}$",
    "^-?\\d+(\\.\\d{1,2})?$", "x*?y",
    "^[\\u00e9\\x41-\\x43]$", "^\\/[\\w-]+\\/$", "^(\\d+|\\*)$",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_text_for_a_pattern_matches_it(pattern: str) -> None:
    texts = list(pattern_text.matching(pattern, 0, 100))
    written = re.compile(pattern.replace("(?<year>", "(?P<year>"))
    assert any(written.search(text) and pattern_text.is_match(pattern, text) for text in texts)


@settings(derandomize=True, max_examples=60, database=None)
@given(
    st.from_regex(r"(\[a-d\]|x|\.|\\d)(\{[0-3],[4-6]\}|\*|\+|\?)?((y|\(z\|w\))\+?)?", fullmatch=True),
    st.integers(0, 9),
)
def test_a_text_is_as_long_as_it_must_be(pattern: str, least: int) -> None:
    found = [
        text
        for text in pattern_text.matching(f"^{pattern}$", least, 50)
        if pattern_text.is_match(pattern, text)
    ]
    assert found
    is_endless = "*" in pattern or "+" in pattern
    assert not is_endless or any(len(text) >= least for text in found)


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(ab?|ac?)*$", "^(a*)*b", "^([a-z]+)*$", "(x+x+)+y", "(a{1,9}){1,9}b"]
)
def test_a_search_takes_no_time_that_grows_with_more_than_the_text(pattern: str) -> None:
    assert pattern_text.is_match(pattern, {"b": "aab", "y": "xxxy"}.get(pattern[-1], "aaaa"))
    assert not pattern_text.is_match(pattern, "a" * 5_000 + "!")
    with pytest.raises(pattern_text.Unchecked):
        pattern_text.is_match(f"(?!z){pattern}", "a" * 5_000 + "!")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(" * 500 + ")" * 500, "x" * 3_000])
def test_a_pattern_that_cannot_be_read_is_named(pattern: str) -> None:
    with pytest.raises(pattern_text.Unchecked):
        list(pattern_text.matching(pattern, 0, 10))
    if "((" not in pattern:
        with pytest.raises(pattern_text.Unchecked):
            pattern_text.is_match(pattern, "text")


def test_classes_that_python_has_not_are_matched_and_not_written() -> None:
    assert pattern_text.is_match("^\\p{L}+$", "été") and not pattern_text.is_match("^\\p{L}+$", "1")
    with pytest.raises(pattern_text.Unchecked):
        list(pattern_text.matching("^\\p{L}+$", 0, 10))
