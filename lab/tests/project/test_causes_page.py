"""docs/causes.md is what its script writes."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_of_causes_is_up_to_date() -> None:
    written = runpy.run_path(str(DOCS / "causes_page.py"))["page"]()
    assert (DOCS / "causes.md").read_text(encoding="utf-8") == written, (
        "run .venv/bin/python docs/causes_page.py"
    )
