"""The pages of the documentation: no list has become a paragraph, and wrapping changes no page."""

import runpy
from pathlib import Path

import pytest

PROSE = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "prose.py"))
PAGES = PROSE["pages"]()
COLLAPSED = """\
1. **One request** alone, which is
   left out. 2. **Idle connections**, each
   after one request.
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_list_of_a_page_is_a_paragraph(page: Path) -> None:
    assert [*PROSE["collapsed"](page.read_text(encoding="utf-8"))] == []


def test_a_list_that_has_become_a_paragraph_is_found() -> None:
    (found,) = PROSE["collapsed"](COLLAPSED)
    assert "left out. 2. **Idle connections**" in found
    assert [*PROSE["collapsed"](COLLAPSED.replace(" 2.", "\n2."))] == []
    assert [*PROSE["collapsed"]("What came: - **one** - **two**\n")] != []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_wrapping_changes_no_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrapped = PROSE["wrapped"](text)
    assert PROSE["_rendered"](wrapped) == PROSE["_rendered"](text)
    assert PROSE["wrapped"](wrapped) == wrapped
