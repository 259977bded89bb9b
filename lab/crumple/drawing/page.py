"""What every HTML page of crumple shares: its templates, its style, and charts set into it.

Which charts a page has and what it says is the page's own module to know.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import altair as alt
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from crumple.drawing import prose, theme
from crumple.drawing.shown import shown_text

# Widths of charts: of the page, of half of it, and on a small screen.
WIDE_PX, HALF_PX, NARROW_PX = 892, 432, 344

# A page has all it needs in it: nothing is fetched, and nothing runs, whatever a study or a server put there.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Drawing:
    """A chart on the page. `narrow`: redrawn for small screens, empty where `wide` fits them too."""

    title: str
    caption: str
    wide: Markup
    narrow: Markup
    half: bool


def drawing(
    name: str,
    title: str,
    caption: str,
    wide: alt.TopLevelMixin | None,
    narrow: alt.TopLevelMixin | None,
    *,
    half: bool = False,
) -> Drawing:
    """A chart as an element of the page; `name` keeps its ids apart from those of other charts."""

    def inline(chart: alt.TopLevelMixin | None, suffix: str) -> Markup:
        return Markup(theme.inline_svg(chart, f"{name}-{suffix}", f"{title}. {caption}") if chart else "")

    return Drawing(title, caption, inline(wide, "wide"), inline(narrow, "narrow"), half)


def style() -> Markup:
    """The style sheet, with the colours that charts take from it."""
    return Markup((_HERE / "style.css").read_text(encoding="utf-8") + theme.style_rules())


@cache
def templates() -> Environment:
    """The templates, with the filters they use; a name that is not given is an error."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(family_of=theme.family_of, policy=POLICY)
    environment.filters.update(
        prose=lambda text: Markup(prose.as_html(text)),
        slug=_slug,
        capitalize_first=_capitalised,
        breakable=_breakable,
    )
    return environment


def _harmless(value: object) -> object:
    """Whatever stands between {{ and }}, before it is escaped: no control character is part of a page."""
    if isinstance(value, Markup):
        return Markup(shown_text(value))
    return shown_text(value) if isinstance(value, str) else value


def _breakable(label: str) -> Markup:
    """A server's label, or two of them, that break between settings and at no hyphen."""
    sides = (
        Markup("<wbr>").join(Markup('<span class="piece">{}</span>').format(piece) for piece in pieces)
        for pieces in (re.split(r"(?<=,)(?=[^ ])", side) for side in label.split(" ÷ "))
    )
    return Markup(" ÷ ").join(sides)


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower()).strip("-")


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
