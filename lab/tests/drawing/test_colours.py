"""The colours of charts: each stands out from the paper, and every eye tells apart what may touch."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from crumple.drawing import page, theme
from crumple.record.flow import WORDS

coloraide: Any = pytest.importorskip("coloraide")

STYLE = (Path(page.__file__).parent / "style.css").read_text(encoding="utf-8")
LIGHT, DARK = STYLE.split("@media screen and (prefers-color-scheme: dark)", 1)
# The least contrast of what is no text (WCAG 2.2, 1.4.11), and the least difference of two that may touch.
CONTRAST_MIN, DIFFERENCE_MIN = 3.0, 20.0
# Before the server reads; and what it does beside computing, with what comes after.
BEFORE = ("due", "not_accepted", "unsent", "unread")
BEHIND = ("kernel", "ready", "disk", "dependency", "otherwise", "returning", "unknown")
TOUCHING = [pair for group in (BEFORE, BEHIND) for pair in combinations((*group, "inside"), 2)]


def variable(sheet: str, name: str) -> Any:
    """The colour of a variable in a part of the style sheet."""
    (found,) = re.findall(rf"--{name}: (#[0-9a-f]{{6}});", sheet.split("\n}", 1)[0])
    return coloraide.Color(found)


def colours(sheet: str) -> dict[str, Any]:
    return {name: variable(sheet, f"part-{name.replace('_', '-')}") for name in (*BEFORE, "inside", *BEHIND)}


def test_every_part_has_a_colour_which_is_that_of_the_style_sheet() -> None:
    assert set(theme.PARTS) == set(WORDS) == {*BEFORE, "inside", "user", "cpu", *BEHIND, "network"}
    assert theme.PARTS["network"] == theme.PARTS["unknown"]
    for name, colour in colours(LIGHT).items():
        assert colour.to_string(hex=True) == theme.PARTS[name]


@pytest.mark.parametrize("sheet", [LIGHT, DARK], ids=["light", "dark"])
def test_every_part_stands_out_from_the_paper(sheet: str) -> None:
    paper = variable(sheet, "paper")
    found = {name: colour.contrast(paper) for name, colour in colours(sheet).items()}
    assert min(found.values()) >= CONTRAST_MIN, found


@pytest.mark.parametrize("eye", ["normal", "protan", "deutan", "tritan"])
@pytest.mark.parametrize("sheet", [LIGHT, DARK], ids=["light", "dark"])
def test_two_parts_that_may_touch_differ_for_every_eye(sheet: str, eye: str) -> None:
    seen = {name: each if eye == "normal" else each.filter(eye) for name, each in colours(sheet).items()}
    found = {(a, b): seen[a].delta_e(seen[b], method="2000") for a, b in TOUCHING}
    assert min(found.values()) >= DIFFERENCE_MIN, min(found, key=lambda pair: found[pair])


# The nearest two of eight colours that stand out from the paper cannot differ much more for every eye: with
# any hues, a search finds 18 in the light and 19 in the dark.
FAMILIES_DIFFER = 16.0


def families(sheet: str) -> dict[str, Any]:
    return {name: variable(sheet, name) for name in theme.FAMILIES}


def test_the_colours_of_languages_are_those_of_the_style_sheet() -> None:
    for name, colour in families(LIGHT).items():
        assert colour.to_string(hex=True) == theme.FAMILIES[name]


@pytest.mark.parametrize("sheet", [LIGHT, DARK], ids=["light", "dark"])
def test_every_language_stands_out_from_the_paper(sheet: str) -> None:
    paper = variable(sheet, "paper")
    found = {name: colour.contrast(paper) for name, colour in families(sheet).items()}
    assert min(found.values()) >= CONTRAST_MIN, found


@pytest.mark.parametrize("eye", ["normal", "protan", "deutan", "tritan"])
@pytest.mark.parametrize("sheet", [LIGHT, DARK], ids=["light", "dark"])
def test_two_languages_differ_for_every_eye(sheet: str, eye: str) -> None:
    seen = {name: each if eye == "normal" else each.filter(eye) for name, each in families(sheet).items()}
    found = {(a, b): seen[a].delta_e(seen[b], method="2000") for a, b in combinations(seen, 2)}
    assert min(found.values()) >= FAMILIES_DIFFER, min(found, key=lambda pair: found[pair])


def test_no_two_colours_of_charts_have_one_value() -> None:
    # The style sheet replaces a colour by its value.
    values = [rule.split("{")[0] for rule in theme.style_rules().splitlines()]
    assert len(values) == len(set(values))
