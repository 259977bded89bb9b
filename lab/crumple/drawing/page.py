"""What all HTML pages of crumple share: templates, style, prose and charts.

Prose is Markdown, whose author may be a stranger. Raw HTML in it is shown as text, and an image from
elsewhere becomes a link, so that a page loads and runs nothing.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from crumple.drawing import svg, theme
from crumple.drawing.chart import BoundChart
from crumple.drawing.plot import ChartKey, Panel, Picture
from crumple.drawing.terminal import shown_text

# The scheme of a URL that contains its data; the parser accepts only pictures of it.
CARRIED = "data:"


def as_html(prose: str) -> str:
    """The Markdown as HTML for a page."""
    return str(_parser(html=False).render(prose))


def as_markdown(prose: str) -> str:
    """The Markdown for a file that other programs show; only what would load or run something is changed."""
    said = prose.strip()
    if any(token.type in ("html_block", "html_inline") for token in _tokens(said)):
        said = said.replace("<", "&lt;")
    while any(token.type == "image" and not _is_carried(token) for token in _tokens(said)):
        said = said.replace("![", "[")
    return said


def _parser(*, html: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": html}).enable("table")
    parser.add_render_rule("image", _image)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return parser


def _table_open(*_: Any) -> str:
    """Return the beginning of a table that keys scroll where it is wider than the page."""
    return '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>\n'


def _tokens(prose: str) -> Iterator[Token]:
    for token in _parser(html=True).parse(prose):
        yield token
        yield from token.children or ()


def _image(renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    image = tokens[at]
    if _is_carried(image):
        return renderer.image(tokens, at, options, env)
    place = str(image.attrGet("src") or "")
    said = escapeHtml(image.content or place)
    opened = sum(token.nesting for token in tokens[:at] if token.type.startswith("link_"))
    # HTML allows no link inside a link.
    return said if opened else f'<a href="{escapeHtml(place)}">{said}</a>'


def _is_carried(image: Token) -> bool:
    return str(image.attrGet("src") or "").startswith(CARRIED)


_HERE = Path(__file__).parent
# The one script of a page, without its comments and indents.
SCRIPT = re.sub(r"^ *(//.*\n)?", "", (_HERE / "page.js").read_text(encoding="utf-8"), flags=re.M)
_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
# A page contains all that it needs: nothing is fetched, and nothing runs but its script, which the browser
# knows by its hash, whatever a study or a server wrote.
POLICY = (
    f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

NO_BREAK = "\u00a0"
_BEFORE_PER_CENT = re.compile(r"(?<=\d) (?=%)")
_NOT_IN_LINKS = re.compile(r"[^0-9A-Za-z_/~+=,:-]")


def style() -> Markup:
    """The style sheet, with the rules that give charts their colours."""
    return Markup((_HERE / "style.css").read_text(encoding="utf-8") + theme.style_rules())


@cache
def templates() -> Environment:
    """The templates with their filters; an undefined name in a template raises an error."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(family_of=theme.family_of, policy=POLICY, script=Markup(SCRIPT))
    environment.filters.update(
        prose=lambda text: Markup(as_html(text)),
        slug=_slug,
        anchor=_anchor,
        capitalize_first=_capitalised,
        breakable=_breakable,
        drawings=_drawings,
        strip=lambda given, says="": Markup(svg.strip(given, says)),
    )
    return environment


@dataclass(frozen=True)
class PageFigure:
    """A chart as elements of a page."""

    chart: BoundChart
    picture: Picture

    @property
    def keys(self) -> list[tuple[ChartKey, Markup]]:
        """What colours and signs stand for, each with its sign."""
        return [(each, Markup(svg.key(each))) for each in self.picture.keys]

    @property
    def panels(self) -> list[tuple[Panel, Markup]]:
        """Each panel with its drawing."""
        says = self.picture.says
        return [
            (each, Markup(svg.inline(each.drawn, f"{each.title}: {says}" if each.title else says)))
            for each in self.picture.panels
        ]


def _drawings(charts: Iterable[BoundChart]) -> list[PageFigure]:
    """Return the charts that have something to show, as elements of the page."""
    return [PageFigure(chart, picture) for chart in charts if (picture := chart.draw())]


def _harmless(value: object) -> object:
    """Escape control characters in a value between {{ and }}, before its markup is escaped."""
    if isinstance(value, Markup):
        return Markup(shown_text(value))
    return unbroken(shown_text(value)) if isinstance(value, str) else value


def unbroken(text: str) -> str:
    """The text with no line break between a number and its per cent sign."""
    return _BEFORE_PER_CENT.sub(NO_BREAK, text)


def _breakable(label: str) -> Markup:
    """A server's label, or two joined by ÷, that may break between settings but not at a hyphen."""
    sides = (
        Markup("<wbr>").join(Markup('<span class="piece">{}</span>').format(piece) for piece in pieces)
        for pieces in (re.split(r"(?<=,)(?=[^ ])", side) for side in label.split(" ÷ "))
    )
    return Markup(" ÷ ").join(sides)


def _anchor(text: str) -> str:
    """An element's id, different for each text: characters not allowed in links become their code points."""
    return _NOT_IN_LINKS.sub(lambda found: f".{ord(found[0]):x}.", text)


def _slug(text: str) -> str:
    """The text as a class name of the style sheet."""
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower()).strip("-")


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
