"""The pictures of the documentation are what their script draws, and their words are the product's."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
DRAWINGS = runpy.run_path(str(IMAGES / "drawings.py"))["ALL"]


@pytest.mark.parametrize("name", sorted({*DRAWINGS} - {"rooms"}))
def test_a_drawing_is_up_to_date(name: str) -> None:
    drawn = DRAWINGS[name]().svg()
    assert (IMAGES / f"{name}.svg").read_text(encoding="utf-8") == drawn, "run docs/images/drawings.py"
