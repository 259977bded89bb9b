"""Draws charts as SVG: elements of a page that fit every width, or a file of a given one. Pure.

Where x is a share of the width it is written in per cent; lines, which cannot be, lie in an inner drawing
that is stretched. Colours are attributes, which the style sheet of a page replaces: also where a policy
forbids styles, a chart is whole.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import assert_never

from crumple.drawing import theme
from crumple.drawing.plot import (
    BAR_PX,
    Area,
    Band,
    ChartKey,
    ChartRow,
    Dot,
    Graph,
    Guide,
    Label,
    Line,
    Picture,
    PlotMark,
    RowChart,
    RowMark,
    RowPoint,
    Segment,
    SignShape,
    Steps,
    Strip,
    Whisker,
)
from crumple.drawing.scale import NARROW_TICKS, AxisScale, AxisTick, ChartAxis
from crumple.drawing.terminal import shown_text

# The size of letters in px, and how wide one of them is on average.
LETTERS_PX, LETTER_PX = 11, 6.1
# Room above a plot for its highest label, below it for the labels of x, and for the title of an axis.
ABOVE_PX, BELOW_PX, TITLE_PX = 8, 20, 16
# Room to the right of a plot, for half of its last label.
RIGHT_PX = 14
# Room to the right of rows, for half of a line.
EDGE_PX = 1
# A line of a row's name, the words above a bar, the points below it, a remark, and the space to the next row.
NAME_PX, SAID_PX, POINTS_PX, REMARK_PX, GAP_PX = 16, 13, 9, 14, 10
# The height of a drawing in a cell of a table.
STRIP_PX = 22
# A name is broken at this many letters, as a telephone has room for no more, and cut after that many lines.
NAME_LETTERS, NAME_LINES = 44, 3
# The width that a drawing has where styles are forbidden, as it cannot be computed there.
UNSTYLED = "84%"
# An inner drawing with lines has this width before it is stretched.
STRETCHED = 1000
# The room of a telephone and of a wide page in px, by which words on a bar are left out.
NARROW_PX, WIDE_PX = 330, 860


def inline(drawn: Graph | RowChart, says: str) -> str:
    """Return a chart as an element of a page. `says`: what it shows, for readers who listen."""
    body, height, left, right = _body(drawn)
    # The box is narrower than the page by the room for labels, which stand outside of it.
    rest = f";--r:{_px(right)}px" if right != RIGHT_PX else ""
    # The script of a page moves a ruler over charts of time.
    named = "in time" if isinstance(drawn, Graph) and drawn.is_time else "in"
    box = f'width="{UNSTYLED}" class="{named}" style="--l:{_px(left)}px{rest}" overflow="visible"'
    attributes = f'height="{_px(height)}" role="img" aria-label="{escaped(says)}"'
    axes = f'data-x="{_span(drawn.x)}"' + (f' data-y="{_span(drawn.y)}"' if isinstance(drawn, Graph) else "")
    return f"<svg {box} {attributes} {axes} {_FONT}>{body}</svg>"


def _span(axis: ChartAxis) -> str:
    """Return what the script of a page needs to tell the value of a place on an axis."""
    scale = axis.scale
    return f"{scale.low:.7g} {scale.high:.7g} {'log' if scale.log else 'even'} {axis.unit}".rstrip()


def strip(given: Strip, says: str) -> str:
    """Return a drawing that a cell of a table holds. `says`: what it shows, for readers who listen."""
    ticks = (
        f'<line x1="{x}" x2="{x}" y2="{STRIP_PX}" stroke="{theme.GRID}"/>'
        for tick in given.x.ticks
        for x in [_share(given.x.scale.share(tick.at))]
    )
    rules = (line for rule in given.rules for line in _rule(rule, given.x.scale, STRIP_PX, None))
    bars, signs = (
        [
            _row_mark(mark, given.x.scale, STRIP_PX / 2)
            for mark in given.marks
            if isinstance(mark, Segment) is are_bars
        ]
        for are_bars in (True, False)
    )
    named = _x_labels(given.x, STRIP_PX - 5)
    body = "".join(named if given.has_ticks else [*bars, *ticks, *rules, *signs])
    heard = f'role="img" aria-label="{escaped(says)}"' if says else 'aria-hidden="true"'
    box = f'width="100%" height="{STRIP_PX}" class="strip" overflow="visible"'
    return f"<svg {box} {heard} {_FONT}>{body}</svg>"


def file(picture: Picture, title: str, width_px: int) -> str:
    """Return a picture as an SVG document of a width, with its title and keys, on white."""
    columns = picture.columns
    cell_px = (width_px - GAP_PX * (columns + 1)) / columns
    y, parts = 14.0, [_text(GAP_PX, 14, title, "start", bold=True)]
    for line in _lines_of_keys(picture.keys, width_px):
        y += NAME_PX
        parts.append(f'<g transform="translate(0,{_px(y)})">{line}</g>')
    y += GAP_PX
    for at in range(0, len(picture.panels), columns):
        heights = []
        for column, panel in enumerate(picture.panels[at : at + columns]):
            x, top = GAP_PX + column * (cell_px + GAP_PX), y
            for said in filter(None, (panel.title, *panel.remarks)):
                top += NAME_PX
                parts.append(_text(x, top - 4, said, "start", bold=said is panel.title))
            body, height, left, right = _body(panel.drawn)
            place = f'x="{_px(x)}" y="{_px(top)}" width="{_px(cell_px - left - right)}"'
            parts.append(f'<svg {place} height="{_px(height)}" overflow="visible">{body}</svg>')
            heights.append(top + height)
        y = max(heights) + GAP_PX
    size = f'width="{width_px}" height="{_px(y)}" viewBox="0 0 {width_px} {_px(y)}"'
    paper = f'<rect width="100%" height="100%" fill="{theme.PAPER}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT}>{paper}{"".join(parts)}</svg>\n'


def key(each: ChartKey) -> str:
    """Return the sign of a key as an element of a page."""
    return f'<svg width="18" height="12" aria-hidden="true">{_sign(each)}</svg>'


def escaped(text: str) -> str:
    """Return text that is neither markup nor a control character."""
    shown = shown_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace('"', "&quot;")


_FONT = f'font-family="{theme.FONT}" font-size="{LETTERS_PX}" fill="{theme.INK}"'
_HALO = f'paint-order="stroke" stroke="{theme.PAPER}" stroke-width="3" stroke-linejoin="round"'


# What is in a drawing, its height, and its room to the left and to the right in px.
_Body = tuple[str, float, float, float]


def _body(drawn: Graph | RowChart) -> _Body:
    return _graph(drawn) if isinstance(drawn, Graph) else _rows(drawn)


def _frame(left: float, top: float, height: float, body: str) -> str:
    """Return the part of a drawing in which shares of the width count from its left axis on."""
    place = f'x="{_px(left)}" y="{_px(top)}" width="100%" height="{_px(height)}"'
    return f'<svg {place} overflow="visible">{body}</svg>'


def _graph(graph: Graph) -> _Body:
    height = graph.height_px
    left = max(graph.left_px, left_room(graph.y))
    top = ABOVE_PX + (TITLE_PX if graph.y.title else 0)
    below = BELOW_PX + (TITLE_PX if graph.x.title else 0)
    body = "".join(
        [
            *_backs(graph, height),
            *_grid(graph, height),
            _stretched(graph, height),
            *_fronts(graph, height),
            *_x_labels(graph.x, height + 14),
        ]
    )
    titles = [_text(0, 11, graph.y.title, "start", theme.MUTED)] if graph.y.title else []
    if graph.x.title:
        titles.append(_text(left, top + height + below - 4, graph.x.title, "start", theme.MUTED))
    right = graph.right_px + RIGHT_PX
    return "".join(titles) + _frame(left, top, height, body), top + height + below, left, right


def left_room(y: ChartAxis) -> float:
    """Return the room in px that the labels of a vertical axis take."""
    return 6 + LETTER_PX * max((len(tick.label) for tick in y.ticks), default=0)


def _backs(graph: Graph, height: float) -> Iterator[str]:
    for mark in graph.marks:
        if isinstance(mark, Area):
            x = graph.x.scale.share(mark.left) if mark.left is not None else 0.0
            to = graph.x.scale.share(mark.right) if mark.right is not None else 1.0
            low = height * (1 - graph.y.scale.share(mark.low)) if mark.low is not None else height
            high = height * (1 - graph.y.scale.share(mark.high)) if mark.high is not None else 0.0
            yield _rectangle(x, to, high, low - high, mark.colour, mark.title)


def _grid(graph: Graph, height: float) -> Iterator[str]:
    lines, labels = [], []
    for tick in graph.y.ticks:
        y = height * (1 - graph.y.scale.share(tick.at))
        lines.append(f'<line x2="100%" y1="{_px(y)}" y2="{_px(y)}"/>')
        labels.append(f'<text x="-6" y="{_px(y + 4)}">{escaped(tick.label)}</text>')
    if lines:
        yield f'<g stroke="{theme.GRID}">{"".join(lines)}</g>'
        yield f'<g fill="{theme.MUTED}" text-anchor="end">{"".join(labels)}</g>'


def _x_labels(axis: ChartAxis, y: float) -> Iterator[str]:
    labels = []
    for tick, narrow in _seen(axis.ticks):
        share = axis.scale.share(tick.at)
        # A label at an end of the axis stands within it.
        anchor = ' text-anchor="end"' if share > 0.97 else ' text-anchor="start"' if share < 0.03 else ""
        seen = "" if narrow else ' class="w"'
        labels.append(f'<text x="{_share(share)}" y="{_px(y)}"{anchor}{seen}>{escaped(tick.label)}</text>')
    if labels:
        yield f'<g fill="{theme.MUTED}" text-anchor="middle">{"".join(labels)}</g>'


def _seen(ticks: Sequence[AxisTick]) -> Iterator[tuple[AxisTick, bool]]:
    """Yield ticks, and whether a narrow screen has room for each."""
    every = -(-len(ticks) // NARROW_TICKS)
    return ((tick, at % every == 0 and not tick.is_wide) for at, tick in enumerate(ticks))


def _stretched(graph: Graph, height: float) -> str:
    """Return lines and bands, which cannot have shares of the width, in a drawing that is stretched."""

    def point(x: float, y: float) -> str:
        across = round(STRETCHED * graph.x.scale.share(x), 1)
        # Finer than what is seen, as the ruler tells the value from it.
        return f"{across:g} {round(height * (1 - graph.y.scale.share(y)), 2):g}"

    def path(points: Sequence[tuple[float, float] | None]) -> str:
        pieces = [list(some) for is_gap, some in groupby(points, lambda each: each is None) if not is_gap]
        return "".join("M" + "L".join(point(*each) for each in piece if each) for piece in pieces)

    drawn = []
    for mark in graph.marks:
        if isinstance(mark, Band) and mark.points:
            upper = [(x, high) for x, _, high in mark.points]
            lower = [(x, low) for x, low, _ in reversed(mark.points)]
            shape = f'<path d="{path([*upper, *lower])}Z" stroke="none" fill-opacity="{mark.opacity:g}"'
            drawn.append(f'{shape} fill="{mark.colour}">{_title(mark.title)}</path>')
        elif isinstance(mark, Line) and any(mark.points):
            faint = f' opacity="{mark.opacity:g}"' if mark.opacity != 1 else ""
            drawn.append(
                f'<path d="{path(mark.points)}" {_stroke(mark.colour, mark.width, mark.dash)}{faint}'
                f' vector-effect="non-scaling-stroke">{_title(mark.name)}</path>'
            )
    if not drawn:
        return ""
    box = f'viewBox="0 0 {STRETCHED} {_px(height)}" preserveAspectRatio="none"'
    return (
        f'<svg width="100%" height="{_px(height)}" {box} overflow="visible" fill="none" '
        f'stroke-linejoin="round">{"".join(drawn)}</svg>'
    )


def _fronts(graph: Graph, height: float) -> Iterator[str]:
    for mark in graph.marks:
        yield from _front(mark, graph, height)


def _front(mark: PlotMark, graph: Graph, height: float) -> Iterator[str]:
    def y_of(value: float) -> float:
        return height * (1 - graph.y.scale.share(value))

    match mark:
        case Steps(steps=steps):
            lines = (
                f'<line x1="{_share(graph.x.scale.share(step.begin))}" '
                f'x2="{_share(graph.x.scale.share(step.end))}" y1="{_px(y_of(step.y))}" '
                f'y2="{_px(y_of(step.y))}">{_title(step.title)}</line>'
                for step in steps
            )
            yield f"<g {_stroke(mark.colour, mark.width, mark.dash)}>{''.join(lines)}</g>"
        case Guide():
            yield from _rule(mark, graph.x.scale, height, y_of(mark.y) if mark.y is not None else None)
        case Dot():
            yield _sign_at(
                graph.x.scale.share(mark.x), y_of(mark.y), mark.shape, mark.colour, mark.radius, mark.title
            )
        case Label():
            y = y_of(mark.y)
            leader = f'<path d="M3 {_px(y)}L12 {_px(y + mark.shift_px)}" stroke="{mark.colour}" fill="none"/>'
            place = f'x="16" y="{_px(y + mark.shift_px + 4)}"'
            words = f"<text {place}>{escaped(mark.text)}</text>"
            yield f'<svg x="100%" class="w" overflow="visible">{leader}{words}</svg>'
        case Line() | Band() | Area():
            return
        case _:
            assert_never(mark)


def _rule(rule: Guide, across: AxisScale, height: float, y: float | None) -> Iterator[str]:
    stroke = _stroke(rule.colour, rule.width, rule.dash)
    if y is not None:
        yield f'<line x2="100%" y1="{_px(y)}" y2="{_px(y)}" {stroke}/>'
        if rule.label:
            words = f'x="100%" y="{_px(y - 4)}" text-anchor="end" {_HALO}'
            yield f"<text {words}>{escaped(rule.label)}</text>"
    if rule.x is not None:
        share = across.share(rule.x)
        x = _share(share)
        yield f'<line x1="{x}" x2="{x}" y2="{_px(height)}" {stroke}/>'
        if rule.label:
            side = 'text-anchor="end" dx="-4"' if share > 0.6 else 'dx="4"'
            yield f'<text x="{x}" y="10" {side} {_HALO}>{escaped(rule.label)}</text>'


def _rows(given: RowChart) -> _Body:
    top = BELOW_PX + (TITLE_PX if given.x.title else 0)
    y, bodies = float(top), []
    for row in given.rows:
        height, body = _row(row, given.x.scale, y)
        bodies.append(body)
        y += height
    grid = [
        f'<line x1="{x}" x2="{x}" y1="{top - 2}" y2="{_px(y)}"/>'
        for tick in given.x.ticks
        for x in [_share(given.x.scale.share(tick.at))]
    ]
    blocks = (
        _rectangle(
            given.x.scale.share(block.left) if block.left is not None else 0.0,
            given.x.scale.share(block.right) if block.right is not None else 1.0,
            top, y - top, block.colour, block.title,
        )
        for block in given.blocks
    )  # fmt: skip
    rules = (line for rule in given.rules for line in _rule(rule, given.x.scale, y, None))
    title = _text(0, 11, given.x.title, "start", theme.MUTED) if given.x.title else ""
    body = "".join(
        [
            *blocks,
            f'<g stroke="{theme.GRID}">{"".join(grid)}</g>',
            *rules,
            *_x_labels(given.x, top - 6),
            *bodies,
        ]
    )
    return title + body, y, 0, EDGE_PX


def _row(row: ChartRow, scale: AxisScale, y: float) -> tuple[float, str]:
    """Return the height of a row that begins at y, and what is in it."""
    names = _broken(row.name)
    parts = [
        f'<text y="{_px(y + 12 + NAME_PX * at)}" {_HALO}>{escaped(line)}</text>'
        for at, line in enumerate(names)
    ]
    if row.figure:
        words = f'x="100%" y="{_px(y + 12)}" text-anchor="end" font-weight="bold" {_HALO}'
        parts.append(f"<text {words}>{escaped(row.figure)}</text>")
    height = NAME_PX * len(names)
    if any(isinstance(mark, Segment) and mark.label for mark in row.marks):
        parts += [_said(mark, scale, y + height) for mark in row.marks if isinstance(mark, Segment)]
        height += SAID_PX
    middle = y + height + BAR_PX / 2 + 1
    parts += [_row_mark(mark, scale, middle) for mark in row.marks]
    height += BAR_PX + 2
    height += POINTS_PX if any(isinstance(mark, RowPoint) and mark.below for mark in row.marks) else 0
    if row.remark:
        for line in _broken(row.remark):
            parts.append(_text(0, y + height + 10, line, "start", theme.MUTED))
            height += REMARK_PX
    return height + GAP_PX, f"<g>{''.join(parts)}</g>"


def _row_mark(mark: RowMark, scale: AxisScale, middle: float) -> str:
    """Return a mark of a row whose bar has its middle at that height."""
    match mark:
        case Segment():
            tall = BAR_PX + (8 if mark.is_tall else 0)
            left, right = scale.share(mark.low), scale.share(mark.high)
            return _rectangle(left, right, middle - tall / 2, tall, mark.colour, mark.title, mark.opacity)
        case Whisker():
            x1, x2 = _share(scale.share(mark.low)), _share(scale.share(mark.high))
            ends = f'x1="{x1}" x2="{x2}" y1="{_px(middle)}" y2="{_px(middle)}"'
            return f"<line {ends} {_stroke(mark.colour, mark.width)}>{_title(mark.title)}</line>"
        case RowPoint():
            return _sign_of(mark, scale, middle + (BAR_PX / 2 + 5 if mark.below else 0))
        case _:
            assert_never(mark)


def _sign_of(point: RowPoint, scale: AxisScale, y: float) -> str:
    """Return the sign of a value, or an arrow at the end of the axis that it lies beyond."""
    share = scale.share(point.at)
    if scale.has(point.at):
        return _sign_at(share, y, point.shape, point.colour, point.radius, point.title)
    arrow, anchor = ("‹", "start") if point.at < scale.low else ("›", "end")
    words = f'x="{_share(share)}" y="{_px(y + 4)}" text-anchor="{anchor}" fill="{point.colour}"'
    return f'<text {words} font-weight="bold">{_title(point.title)}{arrow}</text>'


def _said(segment: Segment, scale: AxisScale, y: float) -> str:
    """Return the words above a segment, where a wide page or also a narrow one has room for them."""
    left, right = scale.share(segment.low), scale.share(segment.high)
    width_px = LETTER_PX * len(segment.label)
    if not segment.label or width_px > WIDE_PX * (right - left):
        return ""
    seen = ' class="w"' if width_px > NARROW_PX * (right - left) else ""
    place = f'x="{_share(left)}" y="{_px(y + 10)}" fill="{theme.MUTED}"'
    return f"<text {place}{seen}>{escaped(segment.label)}</text>"


def _broken(name: str) -> list[str]:
    lines = textwrap.wrap(name, NAME_LETTERS, max_lines=NAME_LINES, placeholder=" …")
    return lines or [""]


def _rectangle(
    left: float, right: float, y: float, height: float, colour: str, title: str, opacity: float = 1.0
) -> str:
    faint = f' fill-opacity="{opacity:g}"' if opacity != 1 else ""
    size = f'width="{_share(right - left)}" height="{_px(height)}"'
    return f'<rect x="{_share(left)}" y="{_px(y)}" {size} fill="{colour}"{faint}>{_title(title)}</rect>'


def _sign_at(share: float, y: float, shape: SignShape, colour: str, radius: float, title: str) -> str:
    """Return a sign at a share of the width."""
    x = _share(share)
    if shape in ("dot", "ring", "dashed"):
        fill, stroke = (colour, "") if shape == "dot" else (theme.PAPER, _stroke(colour, 1.6))
        if shape == "dashed":
            stroke += ' stroke-dasharray="2 1.6"'
        circle = f'<circle cx="{x}" cy="{_px(y)}" r="{radius:g}" fill="{fill}" {stroke}'
        return f"{circle.rstrip()}>{_title(title)}</circle>"
    return f'<svg x="{x}" y="{_px(y)}" overflow="visible">{_path(shape, colour, radius, title)}</svg>'


def _path(shape: SignShape, colour: str, r: float, title: str) -> str:
    path = {
        "cross": f"M{-r:g} {-r:g}L{r:g} {r:g}M{-r:g} {r:g}L{r:g} {-r:g}",
        "diamond": f"M0 {-r - 1:g}L{r + 1:g} 0L0 {r + 1:g}L{-r - 1:g} 0Z",
        "tick": f"M0 {-r:g}L0 {r:g}",
    }[shape]
    fill = theme.PAPER if shape == "diamond" else "none"
    return f'<path d="{path}" fill="{fill}" {_stroke(colour, 2)}>{_title(title)}</path>'


def _sign(each: ChartKey) -> str:
    """Return a key's sign, 18 px wide."""
    match each.form:
        case "bar":
            return f'<rect y="1" width="14" height="10" fill="{each.colour}"/>'
        case "line":
            return f'<line x2="16" y1="6" y2="6" {_stroke(each.colour, 2, each.dash)}/>'
        case "dot" | "ring" | "dashed":
            return f'<svg width="14">{_sign_at(0.5, 6, each.form, each.colour, 4, "")}</svg>'
        case "cross" | "diamond" | "tick":
            return f'<svg x="7" y="6" overflow="visible">{_path(each.form, each.colour, 4, "")}</svg>'
        case _:
            assert_never(each.form)


def _lines_of_keys(keys: Iterable[ChartKey], width_px: int) -> Iterator[str]:
    """Yield lines of keys for a file, none longer than its width."""
    x, line = float(GAP_PX), ""
    for each in keys:
        room = 24 + LETTER_PX * len(each.label)
        if line and x + room > width_px:
            yield line
            x, line = float(GAP_PX), ""
        signed = f"{_sign(each)}{_text(20, 10, each.label, 'start')}"
        line += f'<g transform="translate({_px(x)},0)">{signed}</g>'
        x += room
    if line:
        yield line


def _text(x: float, y: float, text: str, anchor: str, colour: str = "", *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    fill = f' fill="{colour}"' if colour else ""
    return f'<text x="{_px(x)}" y="{_px(y)}" text-anchor="{anchor}"{fill}{weight}>{escaped(text)}</text>'


def _stroke(colour: str, width: float, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{colour}" stroke-width="{width:g}"{dashes}'


def _title(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


def _share(share: float) -> str:
    """Return a share of the width, to a tenth of a pixel of a wide page."""
    return f"{round(100 * share, 2):g}%"


def _px(px: float) -> str:
    return f"{round(px, 1):g}"
