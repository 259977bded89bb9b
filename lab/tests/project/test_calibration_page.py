"""docs/calibration.md and its diagram are what their script writes."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
WRITE = "run: make judged"


def test_the_page_of_calibration_is_up_to_date() -> None:
    written = runpy.run_path(str(DOCS / "calibration_page.py"))["page"]()
    assert (DOCS / "calibration.md").read_text(encoding="utf-8") == written, WRITE


@pytest.mark.long
def test_the_diagram_is_up_to_date() -> None:
    drawn = runpy.run_path(str(DOCS / "calibration_page.py"))["picture"]()
    assert (DOCS / "images" / "calibration.svg").read_text(encoding="utf-8") == drawn, WRITE
