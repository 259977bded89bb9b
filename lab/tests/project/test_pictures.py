"""The pictures of the documentation are what their script draws, and their words are the product's."""

import ast
import re
import runpy
import tomllib
from functools import cache
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "docs" / "images"
DRAWINGS = runpy.run_path(str(IMAGES / "drawings.py"))["ALL"]
WORDS = tomllib.loads((IMAGES / "words.toml").read_text(encoding="utf-8"))
# Their words are none of crumple's: of shapes, servers and rooms.
WITHOUT_WORDS = {"shapes.svg", "blocks.svg", "rooms.svg", "calibration.svg"}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted({*DRAWINGS} - {"rooms"}))
def test_a_drawing_is_up_to_date(name: str) -> None:
    drawn = DRAWINGS[name]().svg()
    assert (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == drawn, "run docs/images/drawings.py"


def test_every_picture_has_its_words_beside_it() -> None:
    pictures = {file.name for file in IMAGES.iterdir() if file.suffix in (".svg", ".png")}
    assert {Path(name).name for name in WORDS} - {"README.md"} == pictures - WITHOUT_WORDS


@pytest.mark.parametrize("name", [name for name in WORDS if not name.endswith(".png")])
def test_a_picture_shows_the_words_beside_it(name: str) -> None:
    shown = re.sub(r"\s+", " ", text_of(ROOT / name).lower())
    assert [words for words in WORDS[name] if words.strip().lower() not in shown] == []


@pytest.mark.long
@pytest.mark.parametrize("name", WORDS)
def test_the_words_of_a_picture_are_those_of_the_lab(name: str) -> None:
    assert [words for words in WORDS[name] if words.strip().lower() not in words_of_the_lab()] == []


def text_of(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".svg":
        return text
    return unescape(" ".join(re.findall(r"<text[^>]*>(.*?)</text>", text, re.DOTALL))).replace("\xa0", " ")


@cache
def words_of_the_lab() -> str:
    """All strings of the lab that are not documentation."""
    strings = []
    for file in (ROOT / "lab" / "crumple").rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        strings += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ]
    return "\n".join(strings).lower()
