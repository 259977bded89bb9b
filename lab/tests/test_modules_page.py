"""docs/reference/modules.md is what its script writes, and has a sentence for each module."""

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "modules.md").read_text(encoding="utf-8")


def test_the_page_of_modules_is_up_to_date() -> None:
    written = runpy.run_path(str(DOCS / "modules_page.py"))["page"]()
    assert written == PAGE, "run .venv/bin/python docs/modules_page.py"


def test_every_module_says_what_it_is_for() -> None:
    assert re.findall(r"^- `\S+`:\s*$", PAGE, re.MULTILINE) == []
