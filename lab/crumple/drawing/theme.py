"""How charts look: one colour per language family, one font, and from a chart to SVG and PNG, offline.

What a chart shows is `charts`; this knows no trial. On dark screens the style sheet has other colours of
these names.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

Chart = TypeVar("Chart")

# Okabe and Ito's palette, distinguishable under the common colour blindnesses.
FAMILIES = {
    "go": "#0072b2",
    "java": "#d55e00",
    "javascript": "#009e73",
    "php": "#cc79a7",
    "python": "#e69f00",
    "csharp": "#56b4e9",
    "rust": "#3b3f46",
    "other": "#8a8f98",
}
_FAMILY_OF = {"node.js": "javascript", "node": "javascript", "typescript": "javascript", "c#": "csharp"}

# Each is a value of its own, so that a style sheet can replace it by selecting the attribute.
INK = "#1f2329"
MUTED = "#646b75"
GRID = "#e4e6ea"
CONTEXT = "#d3d7dd"
SHADE = "#f1f2f4"
PAPER = "#fffffe"
_ROLES = {"ink": INK, "muted": MUTED, "line": GRID, "context": CONTEXT, "shade": SHADE, "paper": PAPER}

FONT = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif"
FONT_SIZE = 12
PNG_SCALE = 2.0

_IDS = re.compile(r'(id="|url\(#|href="#)')
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"([^>]*)>', re.S)


def family_of(language: str) -> str:
    """The language family whose colour a server has, as a key of FAMILIES."""
    name = language.lower()
    family = _FAMILY_OF.get(name, name)
    return family if family in FAMILIES else "other"


def colour_of(language: str) -> str:
    """The colour of a language family."""
    return FAMILIES[family_of(language)]


def style_rules() -> str:
    """CSS that ties charts' colours to the variables of the page: a rule outranks an attribute."""
    return "\n".join(
        f'svg [{attribute}="{colour}"] {{ {attribute}: var(--{name}); }}'
        for name, colour in {**_ROLES, **FAMILIES}.items()
        for attribute in ("fill", "stroke")
    )


class _Rows(alt.Data):
    """Data that charts share: altair copies a chart with all it holds for every layer and every option."""

    def __deepcopy__(self, memo: object = None) -> "_Rows":
        return self


def rows(values: Iterable[dict[str, Any]]) -> alt.Data:
    """The data of a chart."""
    return _Rows(values=list(values))


def unchecked(draw: Callable[[], Chart]) -> Chart:
    """What `draw` draws, without checking each part against the schema, which takes most of the time."""
    with debug_mode(False):
        return draw()


def themed(chart: alt.TopLevelMixin, background: str | None = None) -> dict[str, Any]:
    """The chart's Vega-Lite specification in this theme. `background` None: transparent."""
    axis = {
        "domain": False,
        "ticks": False,
        "gridColor": GRID,
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": FONT_SIZE - 1,
        "titleFontSize": FONT_SIZE - 1,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "titlePadding": 8,
    }
    specification = chart.to_dict(validate=False)
    specification["config"] = {
        **specification.get("config", {}),
        "background": background,
        "font": FONT,
        "padding": {"left": 2, "right": 6, "top": 4, "bottom": 2},
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"labelLimit": 260},
        "text": {"color": INK, "fontSize": FONT_SIZE - 1, "font": FONT},
        "title": {
            "color": INK,
            "fontSize": FONT_SIZE,
            "fontWeight": "bold",
            "subtitleColor": MUTED,
            "subtitleFontSize": FONT_SIZE - 1,
            "subtitlePadding": 3,
            "anchor": "start",
            "frame": "group",
            "offset": 8,
        },
        "concat": {"spacing": 22},
    }
    return specification


def svg(chart: alt.TopLevelMixin, background: str | None = None) -> str:
    """The chart as an SVG document."""
    return vl_convert.vegalite_to_svg(themed(chart, background))


def png(chart: alt.TopLevelMixin) -> bytes:
    """The chart as PNG on white, at twice its size."""
    return vl_convert.vegalite_to_png(themed(chart, "white"), scale=PNG_SCALE)


def inline_svg(chart: alt.TopLevelMixin, name: str, description: str) -> str:
    """The chart as an element of an HTML page: scalable, described, and its ids `name`'s own."""
    drawn = svg(chart)
    # Several charts share the page, and Vega numbers clip paths from zero in each.
    drawn = _IDS.sub(lambda match: match.group(1) + name + "-", drawn)
    described = _escaped(description)
    return _SIZE.sub(
        lambda m: f'<svg {m[1]}role="img" aria-label="{described}" style="width:{float(m[2]):g}px"{m[4]}>',
        drawn,
        count=1,
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
