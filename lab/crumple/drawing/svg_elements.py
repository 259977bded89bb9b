"""Elements of charts as SVG that graphs and rows share: text, signs, guides, rectangles. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import assert_never

from crumple.drawing import theme
from crumple.drawing.plot import ChartKey, Guide, SignShape
from crumple.drawing.scale import AxisScale, AxisTick, ChartAxis
from crumple.drawing.terminal import shown_text

# The size of letters in px, and how wide one of them is on average.
LETTERS_PX, LETTER_PX = 11, 6.1
# A digit of DejaVu Sans, the widest font that a browser takes where a page's own are lacking.
WIDE_LETTER_PX = 7.0
# Of a page 320 px wide, margins take 36 px, what is left of a plot some 50 px, what is right of it 14 px.
NARROW_PLOT_PX = 220
# Room above a plot for its highest label, below it for the labels of x, and for the title of an axis.
ABOVE_PX, BELOW_PX, TITLE_PX = 8, 20, 16
# Room to the right of a plot, for half of its last label.
RIGHT_PX = 14

FONT = f'font-family="{theme.FONT}" font-size="{LETTERS_PX}" fill="{theme.INK}"'
HALO = f'paint-order="stroke" stroke="{theme.PAPER}" stroke-width="3" stroke-linejoin="round"'
# What is in a drawing, its height, and its room to the left and to the right in px.
Body = tuple[str, float, float, float]


def escaped(text: str) -> str:
    """Return text that is neither markup nor a control character."""
    shown = shown_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace('"', "&quot;")


def frame(left: float, top: float, height: float, body: str) -> str:
    """Return the part of a drawing in which shares of the width count from its left axis on."""
    place = f'x="{px(left)}" y="{px(top)}" width="100%" height="{px(height)}"'
    return f'<svg {place} overflow="visible">{body}</svg>'


def x_labels(axis: ChartAxis, y: float) -> Iterator[str]:
    """Yield the labels of an axis at a height. Class `w`: a narrow screen has no room for it."""
    narrow = _narrow(axis)
    labels = []
    for tick in axis.ticks:
        share = axis.scale.share(tick.at)
        anchor = f' text-anchor="{_anchor(share)}"' if _anchor(share) != "middle" else ""
        seen = "" if tick in narrow else ' class="w"'
        labels.append(f'<text x="{share_of(share)}" y="{px(y)}"{anchor}{seen}>{escaped(tick.label)}</text>')
    if labels:
        yield f'<g fill="{theme.MUTED}" text-anchor="middle">{"".join(labels)}</g>'


def _anchor(share: float) -> str:
    """Return which part of a label stands at its tick: a label at an end of the axis stands within it."""
    return "end" if share > 0.97 else "start" if share < 0.03 else "middle"


def _narrow(axis: ChartAxis) -> Sequence[AxisTick]:
    """Return the ticks whose labels a narrow screen has room for: every first, second, third …"""
    ticks = [tick for tick in axis.ticks if not tick.is_wide]
    spans = [_span(axis.scale.share(tick.at), tick.label) for tick in ticks]
    for every in range(1, len(ticks)):
        shown = spans[::every]
        if all(left[1] + LETTER_PX / 2 <= right[0] for left, right in pairwise(sorted(shown))):
            return ticks[::every]
    return ticks[:1]


def _span(share: float, label: str) -> tuple[float, float]:
    """Return where a label begins and ends on the narrowest plot in the widest font, in px from its left."""
    at, width = share * NARROW_PLOT_PX, len(label) * WIDE_LETTER_PX
    left = at - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[_anchor(share)]
    return left, left + width


def guide(rule: Guide, across: AxisScale, height: float, y: float | None) -> Iterator[str]:
    """Yield a line across a drawing with its label. `y`: where it lies, if it lies across."""
    stroke = stroke_of(rule.colour, rule.width, rule.dash)
    if y is not None:
        yield f'<line x2="100%" y1="{px(y)}" y2="{px(y)}" {stroke}/>'
        if rule.label:
            words = f'x="100%" y="{px(y - 4)}" text-anchor="end" {HALO}'
            yield f"<text {words}>{escaped(rule.label)}</text>"
    if rule.x is not None:
        share = across.share(rule.x)
        x = share_of(share)
        yield f'<line x1="{x}" x2="{x}" y2="{px(height)}" {stroke}/>'
        if rule.label:
            side = 'text-anchor="end" dx="-4"' if share > 0.6 else 'dx="4"'
            yield f'<text x="{x}" y="10" {side} {HALO}>{escaped(rule.label)}</text>'


def rectangle(
    left: float, right: float, y: float, height: float, colour: str, title: str, opacity: float = 1.0
) -> str:
    """Return a rectangle between two shares of the width."""
    faint = f' fill-opacity="{opacity:g}"' if opacity != 1 else ""
    size = f'width="{share_of(right - left)}" height="{px(height)}"'
    return f'<rect x="{share_of(left)}" y="{px(y)}" {size} fill="{colour}"{faint}>{title_of(title)}</rect>'


def sign_at(share: float, y: float, shape: SignShape, colour: str, radius: float, title: str) -> str:
    """Return a sign at a share of the width."""
    x = share_of(share)
    if shape in ("dot", "ring", "dashed"):
        fill, stroke = (colour, "") if shape == "dot" else (theme.PAPER, stroke_of(colour, 1.6))
        if shape == "dashed":
            stroke += ' stroke-dasharray="2 1.6"'
        circle = f'<circle cx="{x}" cy="{px(y)}" r="{radius:g}" fill="{fill}" {stroke}'
        return f"{circle.rstrip()}>{title_of(title)}</circle>"
    return f'<svg x="{x}" y="{px(y)}" overflow="visible">{shape_of(shape, colour, radius, title)}</svg>'


def shape_of(shape: SignShape, colour: str, r: float, title: str) -> str:
    """Return a sign that is a path, around 0."""
    path = {
        "cross": f"M{-r:g} {-r:g}L{r:g} {r:g}M{-r:g} {r:g}L{r:g} {-r:g}",
        "diamond": f"M0 {-r - 1:g}L{r + 1:g} 0L0 {r + 1:g}L{-r - 1:g} 0Z",
        "tick": f"M0 {-r:g}L0 {r:g}",
    }[shape]
    fill = theme.PAPER if shape == "diamond" else "none"
    return f'<path d="{path}" fill="{fill}" {stroke_of(colour, 2)}>{title_of(title)}</path>'


def key_sign(each: ChartKey) -> str:
    """Return a key's sign, 18 px wide."""
    match each.form:
        case "bar":
            faint = f' fill-opacity="{each.opacity:g}"' if each.opacity != 1 else ""
            return f'<rect y="1" width="14" height="10" fill="{each.colour}"{faint}/>'
        case "line":
            return f'<line x2="16" y1="6" y2="6" {stroke_of(each.colour, 2, each.dash)}/>'
        case "dot" | "ring" | "dashed":
            return f'<svg width="14">{sign_at(0.5, 6, each.form, each.colour, 4, "")}</svg>'
        case "cross" | "diamond" | "tick":
            return f'<svg x="7" y="6" overflow="visible">{shape_of(each.form, each.colour, 4, "")}</svg>'
        case _:
            assert_never(each.form)


def text_at(x: float, y: float, text: str, anchor: str, colour: str = "", *, bold: bool = False) -> str:
    """Return words at a place in px. `anchor`: start, middle or end."""
    weight = ' font-weight="bold"' if bold else ""
    fill = f' fill="{colour}"' if colour else ""
    return f'<text x="{px(x)}" y="{px(y)}" text-anchor="{anchor}"{fill}{weight}>{escaped(text)}</text>'


def stroke_of(colour: str, width: float, dash: str = "") -> str:
    """Return the attributes of a line."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{colour}" stroke-width="{width:g}"{dashes}'


def title_of(text: str) -> str:
    """Return what is shown to who points at a mark; empty: nothing."""
    return f"<title>{escaped(text)}</title>" if text else ""


def share_of(share: float) -> str:
    """Return a share of the width, to a tenth of a pixel of a wide page."""
    return f"{round(100 * share, 2):g}%"


def px(px: float) -> str:
    """Return a number of px, to a tenth."""
    return f"{round(px, 1):g}"
