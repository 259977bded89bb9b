"""The pages of docs/reference that are made from modules are what their scripts write."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE = DOCS / "reference"


@pytest.mark.long
@pytest.mark.parametrize("name", ["modules", "thresholds", "validity"])
def test_a_generated_page_is_up_to_date(name: str) -> None:
    written = runpy.run_path(str(DOCS / f"{name}_page.py"))["page"]()
    page = (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    assert page == written, f"run .venv/bin/python docs/{name}_page.py"


def test_every_module_says_what_it_is_for() -> None:
    page = (REFERENCE / "modules.md").read_text(encoding="utf-8")
    assert re.findall(r"^- `\S+`:\s*$", page, re.MULTILINE) == []


def test_every_check_of_a_trial_is_in_the_page_of_validity() -> None:
    """A check that does not document itself would be missing there."""
    script = runpy.run_path(str(DOCS / "validity_page.py"))
    documented = {*script["_documented"](script["PROBLEM"])}
    checks = [names for _, names in script["_rows"]() if "each" not in names]
    assert len(checks) > 10 and [names for names in checks if not documented & {*names}] == []
