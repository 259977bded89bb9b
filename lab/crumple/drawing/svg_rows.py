"""Draws rows as SVG: bars, intervals and points over one axis, each below its name. Pure."""

import textwrap
from typing import assert_never

from crumple.drawing import theme
from crumple.drawing.plot import BAR_PX, ChartRow, RowChart, RowMark, RowPoint, Segment, Whisker
from crumple.drawing.scale import AxisScale
from crumple.drawing.svg_elements import (
    BELOW_PX,
    HALO,
    LETTER_PX,
    TITLE_PX,
    Body,
    escaped,
    guide,
    px,
    rectangle,
    share_of,
    sign_at,
    stroke_of,
    text_at,
    title_of,
    x_labels,
)

# Room to the right of rows, for half of a line.
EDGE_PX = 1
# A line of a row's name, the words above a bar, the points below it, a remark, and the space to the next row.
NAME_PX, SAID_PX, POINTS_PX, REMARK_PX, GAP_PX = 16, 13, 9, 14, 10
# A name is broken at this many letters, as a telephone has room for no more, and cut after that many lines.
NAME_LETTERS, NAME_LINES = 44, 3
# The narrowest page, 284 px between its margins, has room for this many letters of the widest font.
LINE_LETTERS = 38
# The room of a telephone and of a wide page in px, by which words on a bar are left out.
NARROW_PX, WIDE_PX = 330, 860


def rows_body(given: RowChart) -> Body:
    """Return what is in rows."""
    top = BELOW_PX + (TITLE_PX if given.x.title else 0)
    y, bodies = float(top), []
    for row in given.rows:
        height, body = _row(row, given.x.scale, y)
        bodies.append(body)
        y += height
    grid = [
        f'<line x1="{x}" x2="{x}" y1="{top - 2}" y2="{px(y)}"/>'
        for tick in given.x.ticks
        for x in [share_of(given.x.scale.share(tick.at))]
    ]
    blocks = (
        rectangle(
            given.x.scale.share(block.left) if block.left is not None else 0.0,
            given.x.scale.share(block.right) if block.right is not None else 1.0,
            top, y - top, block.colour, block.title,
        )
        for block in given.blocks
    )  # fmt: skip
    rules = (line for rule in given.rules for line in guide(rule, given.x.scale, y, None))
    title = text_at(0, 11, given.x.title, "start", theme.MUTED) if given.x.title else ""
    body = "".join(
        [
            *blocks,
            f'<g stroke="{theme.GRID}">{"".join(grid)}</g>',
            *rules,
            *x_labels(given.x, top - 6),
            *bodies,
        ]
    )
    return title + body, y, 0, EDGE_PX


def _row(row: ChartRow, scale: AxisScale, y: float) -> tuple[float, str]:
    """Return the height of a row that begins at y, and what is in it."""
    names = _broken(row.name)
    if row.figure and len(names[-1]) + 2 + len(row.figure) > LINE_LETTERS:
        names.append("")  # The figure gets a line of its own.
    parts = [
        f'<text y="{px(y + 12 + NAME_PX * at)}" {HALO}>{escaped(line)}</text>'
        for at, line in enumerate(names)
        if line
    ]
    if row.figure:
        at = y + 12 + NAME_PX * (len(names) - 1)
        words = f'x="100%" y="{px(at)}" text-anchor="end" font-weight="bold" {HALO}'
        parts.append(f"<text {words}>{escaped(row.figure)}</text>")
    height = NAME_PX * len(names)
    if any(isinstance(mark, Segment) and mark.label for mark in row.marks):
        parts += [_said(mark, scale, y + height) for mark in row.marks if isinstance(mark, Segment)]
        height += SAID_PX
    middle = y + height + BAR_PX / 2 + 1
    parts += [row_mark(mark, scale, middle) for mark in row.marks]
    height += BAR_PX + 2
    height += POINTS_PX if any(isinstance(mark, RowPoint) and mark.below for mark in row.marks) else 0
    if row.remark:
        for line in _broken(row.remark):
            parts.append(text_at(0, y + height + 10, line, "start", theme.MUTED))
            height += REMARK_PX
    return height + GAP_PX, f"<g>{''.join(parts)}</g>"


def row_mark(mark: RowMark, scale: AxisScale, middle: float) -> str:
    """Return a mark of a row whose bar has its middle at that height."""
    match mark:
        case Segment():
            tall = BAR_PX + (8 if mark.is_tall else 0)
            left, right = scale.share(mark.low), scale.share(mark.high)
            return rectangle(left, right, middle - tall / 2, tall, mark.colour, mark.title, mark.opacity)
        case Whisker():
            x1, x2 = share_of(scale.share(mark.low)), share_of(scale.share(mark.high))
            ends = f'x1="{x1}" x2="{x2}" y1="{px(middle)}" y2="{px(middle)}"'
            line = f"<line {ends} {stroke_of(mark.colour, mark.width)}>{title_of(mark.title)}</line>"
            cut = [end for end in (mark.low, mark.high) if not scale.has(end)]
            return line + "".join(_arrow(end, scale, middle, mark.colour, mark.title) for end in cut)
        case RowPoint():
            return _sign_of(mark, scale, middle + (BAR_PX / 2 + 5 if mark.below else 0))
        case _:
            assert_never(mark)


def _sign_of(point: RowPoint, scale: AxisScale, y: float) -> str:
    """Return the sign of a value, or an arrow at the end of the axis that it lies beyond."""
    if scale.has(point.at):
        return sign_at(scale.share(point.at), y, point.shape, point.colour, point.radius, point.title)
    return _arrow(point.at, scale, y, point.colour, point.title)


def _arrow(value: float, scale: AxisScale, y: float, colour: str, title: str) -> str:
    """Return an arrow at the end of the axis that a value lies beyond."""
    sign, anchor = ("‹", "start") if value < scale.low else ("›", "end")
    words = f'x="{share_of(scale.share(value))}" y="{px(y + 4)}" text-anchor="{anchor}" fill="{colour}"'
    return f'<text {words} font-weight="bold">{title_of(title)}{sign}</text>'


def _said(segment: Segment, scale: AxisScale, y: float) -> str:
    """Return the words above a segment, where a wide page or also a narrow one has room for them."""
    left, right = scale.share(segment.low), scale.share(segment.high)
    width_px = LETTER_PX * len(segment.label)
    if not segment.label or width_px > WIDE_PX * (right - left):
        return ""
    seen = ' class="w"' if width_px > NARROW_PX * (right - left) else ""
    place = f'x="{share_of(left)}" y="{px(y + 10)}" fill="{theme.MUTED}"'
    return f"<text {place}{seen}>{escaped(segment.label)}</text>"


def _broken(name: str) -> list[str]:
    lines = textwrap.wrap(name, NAME_LETTERS, max_lines=NAME_LINES, placeholder=" …")
    return lines or [""]
