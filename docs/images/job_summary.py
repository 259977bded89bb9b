"""Draws a job summary about as a CI platform shows its Markdown.

    GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=summary.md crumple load localhost:8080 -c 4 --fail-if 'p99>15ms' …
    .venv/bin/python docs/images/job_summary.py summary.md

The picture is of a load of four_workers.py.
"""

import runpy
import sys
from pathlib import Path
from typing import Any

from crumple.drawing.theme import GRID, SHADE
from markdown_it import MarkdownIt

HERE = Path(__file__).parent
WIDTH, LEFT, LINE = 920, 24, 17


def draw(markdown: str) -> Any:
    """Return the picture."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    code = next(token.content for token in tokens if token.type == "fence").rstrip().splitlines()
    drawn = runpy.run_path(str(HERE / "drawings.py"))["Picture"](
        WIDTH, 260 + LINE * len(code), "A job summary"
    )
    y, row, column = 20, 0, 0
    for number, token in enumerate(tokens):
        before = tokens[number - 1].type if number else ""
        if token.type == "tr_open":
            row, column, y = row + 1, 0, y + 30
            drawn.line(LEFT, y + 9, 520, y + 9, GRID)
        elif token.type in ("th_close", "td_close"):
            column += 1
        elif token.type == "inline" and before in ("th_open", "td_open"):
            drawn.words(LEFT + (12, 52, 260)[column], y, _plain(token), bold=before == "th_open")
        elif token.type == "inline":
            for line, bold in _lines(token):
                heading = before == "heading_open"
                y += 24
                drawn.words(LEFT, y, line, bold=bold or heading, size=17 if heading else 14)
            y += 4
        elif token.type == "fence":
            y += 30
            drawn.box(LEFT, y, WIDTH - 2 * LEFT, LINE * len(code) + 24, SHADE)
            for place, text in enumerate(code):
                _code(drawn, LEFT + 12, y + 24 + LINE * place, text)
    return drawn


def _plain(token: Any) -> str:
    return "".join(child.content for child in token.children)


def _lines(token: Any) -> list[tuple[str, bool]]:
    """The lines of a paragraph, and whether each is bold."""
    lines, bold = [""], [False]
    for child in token.children:
        if child.type in ("hardbreak", "softbreak"):
            lines.append("")
            bold.append(False)
        elif child.type == "strong_open":
            bold[-1] = True
        else:
            lines[-1] += child.content
    return list(zip(lines, bold, strict=True))


def _code(drawn: Any, x: float, y: float, text: str) -> None:
    drawn.words(x, y, text, size=12)
    drawn.parts[-1] = drawn.parts[-1].replace("<text ", '<text xml:space="preserve" font-family="monospace" ')


if __name__ == "__main__":
    picture = draw(Path(sys.argv[1]).read_text(encoding="utf-8"))
    (HERE / "job-summary.svg").write_text(picture.svg(), encoding="utf-8")
