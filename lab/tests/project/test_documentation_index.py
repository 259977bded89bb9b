"""The indexes of the documentation: one for the site, one for language models."""

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
BEGIN = "## First steps"


def listed(file: str) -> str:
    """The lists of pages, without what stands before them."""
    return (DOCS / file).read_text().partition(BEGIN)[2]


def test_every_page_is_in_the_index() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}
    assert pages - set(re.findall(r"\]\(([^)]+\.md)\)", listed("index.md"))) == set()


def test_language_models_are_shown_the_same_pages() -> None:
    assert listed("llms.txt") == listed("index.md")
    assert re.match(r"# crumple\n\n> \w", (DOCS / "llms.txt").read_text())


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    pages = {f"docs/{page.relative_to(DOCS).with_suffix('')}" for page in DOCS.rglob("*.md")}
    site = runpy.run_path(str(DOCS / "conf.py"))["NAVIGATION"]
    assert pages - {each for part in site.values() for each in part} == {"docs/index"}
