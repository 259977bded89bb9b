"""Draws charts as SVG: elements of a page that fit every width, or a file of a given one. Pure.

Where x is a share of the width it is written in per cent; lines, which cannot be, lie in an inner drawing
that is stretched. Colours are attributes, which the style sheet of a page replaces: also where a policy
forbids styles, a chart is whole.
"""

from collections.abc import Iterable, Iterator

from crumple.drawing import theme
from crumple.drawing.plot import ChartKey, Graph, Picture, RowChart, Segment, Strip
from crumple.drawing.scale import ChartAxis
from crumple.drawing.svg_elements import (
    FONT,
    LETTER_PX,
    RIGHT_PX,
    Body,
    escaped,
    guide,
    key_sign,
    px,
    share_of,
    text_at,
    x_labels,
)
from crumple.drawing.svg_graph import graph_body
from crumple.drawing.svg_rows import GAP_PX, NAME_PX, row_mark, rows_body

# The height of a drawing in a cell of a table.
STRIP_PX = 22
# How far below its top the base line of a key lies in a file, in px.
KEY_PX = 10
# The width that a drawing has where styles are forbidden, as it cannot be computed there.
UNSTYLED = "84%"


def inline(drawn: Graph | RowChart, says: str) -> str:
    """Return a chart as an element of a page. `says`: what it shows, for readers who listen."""
    body, height, left, right = _body(drawn)
    # The box is narrower than the page by the room for labels, which stand outside of it.
    rest = f";--r:{px(right)}px" if right != RIGHT_PX else ""
    # The script of a page moves a ruler over charts of time.
    named = "in time" if isinstance(drawn, Graph) and drawn.is_time else "in"
    box = f'width="{UNSTYLED}" class="{named}" style="--l:{px(left)}px{rest}" overflow="visible"'
    attributes = f'height="{px(height)}" role="img" aria-label="{escaped(says)}"'
    axes = f'data-x="{_span(drawn.x)}"' + (f' data-y="{_span(drawn.y)}"' if isinstance(drawn, Graph) else "")
    return f"<svg {box} {attributes} {axes} {FONT}>{body}</svg>"


def _span(axis: ChartAxis) -> str:
    """Return what the script of a page needs to tell the value of a place on an axis."""
    scale = axis.scale
    return f"{scale.low:.7g} {scale.high:.7g} {'log' if scale.log else 'even'} {axis.unit}".rstrip()


def strip(given: Strip, says: str) -> str:
    """Return a drawing that a cell of a table holds. `says`: what it shows, for readers who listen."""
    ticks = (
        f'<line x1="{x}" x2="{x}" y2="{STRIP_PX}" stroke="{theme.GRID}"/>'
        for tick in given.x.ticks
        for x in [share_of(given.x.scale.share(tick.at))]
    )
    rules = (line for rule in given.rules for line in guide(rule, given.x.scale, STRIP_PX, None))
    bars, signs = (
        [
            row_mark(mark, given.x.scale, STRIP_PX / 2)
            for mark in given.marks
            if isinstance(mark, Segment) is are_bars
        ]
        for are_bars in (True, False)
    )
    named = x_labels(given.x, STRIP_PX - 5)
    body = "".join(named if given.has_ticks else [*bars, *ticks, *rules, *signs])
    heard = f'role="img" aria-label="{escaped(says)}"' if says else 'aria-hidden="true"'
    box = f'width="100%" height="{STRIP_PX}" class="strip" overflow="visible"'
    return f"<svg {box} {heard} {FONT}>{body}</svg>"


def file(picture: Picture, title: str, width_px: int) -> str:
    """Return a picture as an SVG document of a width, with its title and keys, on white."""
    columns = picture.columns
    cell_px = (width_px - GAP_PX * (columns + 1)) / columns
    y, parts = 14.0, [text_at(GAP_PX, 14, title, "start", bold=True)]
    for line in _lines_of_keys(picture.keys, width_px):
        y += NAME_PX
        parts.append(f'<g transform="translate(0,{px(y)})">{line}</g>')
    y += GAP_PX + (KEY_PX if picture.keys else 0)
    for at in range(0, len(picture.panels), columns):
        heights = []
        for column, panel in enumerate(picture.panels[at : at + columns]):
            x, top = GAP_PX + column * (cell_px + GAP_PX), y
            for said in filter(None, (panel.title, *panel.remarks)):
                top += NAME_PX
                parts.append(text_at(x, top - 4, said, "start", bold=said is panel.title))
            body, height, left, right = _body(panel.drawn)
            place = f'x="{px(x)}" y="{px(top)}" width="{px(cell_px - left - right)}"'
            parts.append(f'<svg {place} height="{px(height)}" overflow="visible">{body}</svg>')
            heights.append(top + height)
        y = max(heights) + GAP_PX
    size = f'width="{width_px}" height="{px(y)}" viewBox="0 0 {width_px} {px(y)}"'
    paper = f'<rect width="100%" height="100%" fill="{theme.PAPER}"/>'
    # A class says what a narrow page leaves out, and a file has one width.
    body = "".join(parts).replace(' class="w"', "")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {FONT}>{paper}{body}</svg>\n'


def key(each: ChartKey) -> str:
    """Return the sign of a key as an element of a page."""
    return f'<svg width="18" height="12" aria-hidden="true">{key_sign(each)}</svg>'


def _body(drawn: Graph | RowChart) -> Body:
    return graph_body(drawn) if isinstance(drawn, Graph) else rows_body(drawn)


def _lines_of_keys(keys: Iterable[ChartKey], width_px: int) -> Iterator[str]:
    """Yield lines of keys for a file, none longer than its width."""
    x, line = float(GAP_PX), ""
    for each in keys:
        room = 24 + LETTER_PX * len(each.label)
        if line and x + room > width_px:
            yield line
            x, line = float(GAP_PX), ""
        signed = f"{key_sign(each)}{text_at(20, KEY_PX, each.label, 'start')}"
        line += f'<g transform="translate({px(x)},0)">{signed}</g>'
        x += room
    if line:
        yield line
