"""Wraps the prose of hand-written pages at 120 columns, and finds lists that have become paragraphs.

    .venv/bin/python docs/prose.py            wraps all pages
    .venv/bin/python docs/prose.py --check    changes nothing; exit code 1 if a page is not so

Wrapping never changes what a page renders to. `make docs` checks all pages, generated ones for lists only.
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
WIDTH = 120
MARKDOWN = MarkdownIt("commonmark").enable("table")
# A number or a dash that begins an item of a list, within a line of text, where a sentence has ended.
ITEM = re.compile(r"(?:^|[.:;!?)`*]\s+)(?:\d{1,2}\.|[-*•])\s+(?=[*A-Z`“\"\[])")
CODE, BLANK = re.compile(r"`[^`]+`"), "\ue000"
# What stands before the text of a paragraph: indentation, and the marks of list items that it begins.
MARKS = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)*")


def pages() -> list[Path]:
    """All pages: of the documentation, and those beside it that belong to the site."""
    beside = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "corpus/README.md"]
    return sorted(
        [*(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md"), *(ROOT / name for name in beside)]
    )


def is_generated(text: str) -> bool:
    """Whether a script, or crumple itself, writes the page."""
    return "<!-- Generated" in text or "<!-- Printed by crumple" in text


def collapsed(text: str) -> Iterator[str]:
    """Yield the text around each mark of a list item that stands within a paragraph."""
    for token in MARKDOWN.parse(text):
        if token.type == "inline" and token.map and not _is_row(token.content, text, token.map[0]):
            prose = CODE.sub("``", token.content)
            for match in ITEM.finditer(prose):
                if match.start():
                    yield " ".join(prose[max(0, match.start() - 40) : match.end() + 40].split())


def _is_row(content: str, text: str, line: int) -> bool:
    return text.splitlines()[line].lstrip().startswith("|")


def wrapped(text: str) -> str:
    """Return the page with its paragraphs wrapped, each of which renders as before."""
    lines = text.split("\n")
    tokens = MARKDOWN.parse(text)
    paragraphs = [token.map for token in tokens if token.type == "paragraph_open" and token.map]
    for first, after in reversed(paragraphs):
        old = lines[first:after]
        if any(line.lstrip().startswith((">", "|", "<!--")) or line.endswith("  ") for line in old):
            continue
        marks = MARKS.match(old[0])
        begins = marks[0] if marks else ""
        words = " ".join([old[0][len(begins) :], *(line.strip() for line in old[1:])])
        # No line ends within code.
        words = CODE.sub(lambda code: code[0].replace(" ", BLANK), words)
        new = textwrap.wrap(words, WIDTH - len(begins), break_long_words=False, break_on_hyphens=False)
        # A line that begins with what marks an item or a heading would render as one.
        if _rendered("\n".join(new)) == _rendered(words):
            indented = [begins + new[0], *(" " * len(begins) + line for line in new[1:])]
            lines[first:after] = [line.replace(BLANK, " ") for line in indented]
    return "\n".join(lines)


def _rendered(text: str) -> str:
    return " ".join(MARKDOWN.render(text).split())


def main(check: bool) -> int:
    """Wrap or check all pages; return the exit code."""
    faults = []
    for page in pages():
        text, name = page.read_text(encoding="utf-8"), page.relative_to(ROOT)
        faults += [f"{name}: a list within a paragraph: {found}" for found in collapsed(text)]
        if is_generated(text) or (new := wrapped(text)) == text:
            continue
        if check:
            faults.append(f"{name}: not wrapped; to do: .venv/bin/python docs/prose.py")
        else:
            page.write_text(new, encoding="utf-8")
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
