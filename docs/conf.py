"""The documentation as a site. Sphinx reads the Markdown files in place, so links also work on the code host.

`make docs` treats every warning as an error: a link without a target, for instance, or a page that is not in
the navigation. The site loads nothing from the network.
"""

from pathlib import Path
from typing import Any

# Pages in the order in which people need them.
NAVIGATION = {
    "First steps": ["docs/first-steps"],
    "How to": [
        "docs/load",
        "docs/load-host",
        "docs/find",
        "docs/importing",
        "docs/coming-from",
        "docs/diagnose",
        "docs/causes",
        "docs/calibration",
        "docs/experiments",
        "docs/asking",
        "docs/containers",
        "docs/versus",
        "docs/ci",
        "docs/kept-results",
        "docs/adding-a-server",
        "docs/writing-a-study",
        "docs/several-hosts",
        "docs/cluster",
        "docs/map",
        "docs/reports",
        "docs/database",
        "docs/wheels",
    ],
    "Reference": [
        "docs/reference/command-line",
        "docs/reference/json",
        "docs/reference/validity",
        "docs/reference/thresholds",
        "docs/reference/modules",
        "docs/claims",
        "docs/glossary",
    ],
    "Background": [
        "docs/method",
        "docs/bias",
        "docs/architecture",
        "docs/results",
        "docs/reference/full-run",
        "docs/beside-others",
        "bench/README",
        "bench/experiments",
        "bench/simulations",
        "corpus/README",
    ],
    "The project": ["CONTRIBUTING", "CHANGELOG"],
}
FRONT_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=docs/index.html">
<title>crumple</title>
<a href="docs/index.html">crumple</a>
"""

project = "crumple"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "bench/*.md", "corpus/README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
# Folders that are not searched for pages.
exclude_patterns = [".*", "contract", "dist", "engine", "lab", "runs", "servers", "site", "studies"]
# Headings get the same anchors as on the code host.
myst_heading_anchors = 4
highlight_language = "none"
# It would make dashes of the hyphens of flags.
smartquotes = False

html_theme = "furo"
html_title = "crumple"
html_static_path = ["site"]
html_css_files = ["site.css"]
# What https://llmstxt.org says: an index in Markdown at the root of the site.
html_extra_path = ["llms.txt"]
html_copy_source = False
html_show_copyright = False


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _add_navigation)
    app.connect("build-finished", _write_front_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_navigation(app: Any, page: str, source: list[str]) -> None:
    """Sphinx takes the order of pages from a directive, which the code host would show as text."""
    if page == root_doc:
        for caption, pages in NAVIGATION.items():
            listed = "\n".join(f"/{each}" for each in pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n{listed}\n```\n"


def _write_front_page(app: Any, error: Exception | None) -> None:
    if error is None:
        (Path(app.outdir) / "index.html").write_text(FRONT_PAGE, encoding="utf-8")
