"""Names of pages: safe on every system and in links, and different for different names."""

import re

import pytest
from crumple.site import site_names
from hypothesis import given
from hypothesis import strategies as st

HOSTILE = (
    "../../etc/passwd", "a/b", "a\\b", "<script>alert(1)</script>", "con", "Com1", "nul", ".", "..", "", " ",
    "a b", "ä", "x" * 300, "a.b", "A", "%2e%2e", "#top", "?q", "\n", "~", "\udcff", "a" * 57,
)  # fmt: skip
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text())


@given(NAMES)
def test_a_safe_name_has_safe_letters_only_and_is_no_device(name: str) -> None:
    safe = site_names.safe(name)
    assert re.fullmatch(r"[a-z0-9_~-]{1,56}", safe)
    assert not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)", safe)


@given(NAMES, NAMES)
def test_different_names_have_different_pages_also_where_capitals_are_small_letters(
    one: str, other: str
) -> None:
    pages = {site_names.safe(each).casefold() for each in (one, other)}
    assert len(pages) == len({one, other})


def test_a_usual_name_stays_as_it_is() -> None:
    assert site_names.page_of("load-20261129-145639", "result") == "results/load-20261129-145639.html"
    assert site_names.page_of_two("before", "after") == "compare/before.after.html"


@pytest.mark.parametrize("name", HOSTILE)
def test_the_longest_name_of_a_page_fits_into_every_file_system(name: str) -> None:
    file = site_names.page_of_two(name, "y" * 300).rpartition("/")[2]
    assert len(file.encode()) <= 143 and file.count(".") == 2
