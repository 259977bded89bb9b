"""Draws graphs as SVG: lines, bands, steps, dots and guides over two axes. Pure.

Lines, which cannot have shares of the width, lie in an inner drawing that is stretched.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import assert_never

from crumple.drawing import theme
from crumple.drawing.plot import Area, Band, Dot, Graph, Guide, Label, Line, PlotMark, Steps
from crumple.drawing.scale import ChartAxis
from crumple.drawing.svg_elements import (
    ABOVE_PX,
    BELOW_PX,
    LETTER_PX,
    RIGHT_PX,
    TITLE_PX,
    Body,
    escaped,
    frame,
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

# An inner drawing with lines has this width before it is stretched.
STRETCHED = 1000
# The radius of a point of a line that has no neighbour, in px: it is seen, and smaller than a dot.
LONE_PX = 2.2


def graph_body(graph: Graph) -> Body:
    """Return what is in a graph."""
    height = graph.height_px
    left = max(graph.left_px, left_room(graph.y))
    top = ABOVE_PX + (TITLE_PX if graph.y.title else 0)
    below = BELOW_PX + (TITLE_PX if graph.x.title else 0)
    body = "".join(
        [
            *_backs(graph),
            *_grid(graph),
            _stretched(graph),
            *_fronts(graph),
            *x_labels(graph.x, height + 14),
        ]
    )
    titles = [text_at(0, 11, graph.y.title, "start", theme.MUTED)] if graph.y.title else []
    if graph.x.title:
        titles.append(text_at(left, top + height + below - 4, graph.x.title, "start", theme.MUTED))
    right = graph.right_px + RIGHT_PX
    return "".join(titles) + frame(left, top, height, body), top + height + below, left, right


def left_room(y: ChartAxis) -> float:
    """Return the room in px that the labels of a vertical axis take."""
    return 6 + LETTER_PX * max((len(tick.label) for tick in y.ticks), default=0)


def _y(graph: Graph, value: float) -> float:
    """Return how far below the upper edge a value lies, in px."""
    return graph.height_px * (1 - graph.y.scale.share(value))


def _backs(graph: Graph) -> Iterator[str]:
    for mark in graph.marks:
        if isinstance(mark, Area):
            x = graph.x.scale.share(mark.left) if mark.left is not None else 0.0
            to = graph.x.scale.share(mark.right) if mark.right is not None else 1.0
            low = _y(graph, mark.low) if mark.low is not None else graph.height_px
            high = _y(graph, mark.high) if mark.high is not None else 0.0
            yield rectangle(x, to, high, low - high, mark.colour, mark.title, mark.opacity)


def _grid(graph: Graph) -> Iterator[str]:
    lines, labels = [], []
    for tick in graph.y.ticks:
        y = _y(graph, tick.at)
        lines.append(f'<line x2="100%" y1="{px(y)}" y2="{px(y)}"/>')
        labels.append(f'<text x="-6" y="{px(y + 4)}">{escaped(tick.label)}</text>')
    if lines and graph.has_grid:
        yield f'<g stroke="{theme.GRID}">{"".join(lines)}</g>'
    if labels:
        yield f'<g fill="{theme.MUTED}" text-anchor="end">{"".join(labels)}</g>'


def _stretched(graph: Graph) -> str:
    """Return lines and bands, which cannot have shares of the width, in a drawing that is stretched."""

    def point(x: float, y: float) -> str:
        across = round(STRETCHED * graph.x.scale.share(x), 1)
        # Finer than what is seen, as the ruler tells the value from it.
        return f"{across:g} {round(_y(graph, y), 2):g}"

    def path(pieces: Iterable[Sequence[tuple[float, float]]]) -> str:
        return "".join("M" + "L".join(point(*each) for each in piece) for piece in pieces)

    drawn = []
    for mark in graph.marks:
        within = (
            [each for each in mark.points if graph.x.scale.has(each[0])] if isinstance(mark, Band) else []
        )
        if isinstance(mark, Band) and within:
            upper = [(x, high) for x, _, high in within]
            lower = [(x, low) for x, low, _ in reversed(within)]
            shape = f'<path d="{path([[*upper, *lower]])}Z" stroke="none" fill-opacity="{mark.opacity:g}"'
            drawn.append(f'{shape} fill="{mark.colour}">{title_of(mark.title)}</path>')
        elif isinstance(mark, Line) and (pieces := _pieces(mark, graph)):
            faint = f' opacity="{mark.opacity:g}"' if mark.opacity != 1 else ""
            drawn.append(
                f'<path d="{path(pieces)}" {stroke_of(mark.colour, mark.width, mark.dash)}{faint}'
                f' vector-effect="non-scaling-stroke">{title_of(mark.name)}</path>'
            )
    if not drawn:
        return ""
    box = f'viewBox="0 0 {STRETCHED} {px(graph.height_px)}" preserveAspectRatio="none"'
    return (
        f'<svg width="100%" height="{px(graph.height_px)}" {box} overflow="visible" fill="none" '
        f'stroke-linejoin="round">{"".join(drawn)}</svg>'
    )


def _pieces(line: Line, graph: Graph) -> list[list[tuple[float, float]]]:
    """Return the points of a line between its interruptions, without those beyond the ends of the x axis."""
    seen = (each if each and graph.x.scale.has(each[0]) else None for each in line.points)
    found = ([each for each in some if each] for _, some in groupby(seen, lambda each: each is None))
    return [piece for piece in found if piece]


def _fronts(graph: Graph) -> Iterator[str]:
    for mark in graph.marks:
        yield from _front(mark, graph)


def _front(mark: PlotMark, graph: Graph) -> Iterator[str]:
    match mark:
        case Steps(steps=steps):
            lines = (
                f'<line x1="{share_of(graph.x.scale.share(step.begin))}" '
                f'x2="{share_of(graph.x.scale.share(step.end))}" y1="{px(_y(graph, step.y))}" '
                f'y2="{px(_y(graph, step.y))}">{title_of(step.title)}</line>'
                for step in steps
            )
            yield f"<g {stroke_of(mark.colour, mark.width, mark.dash)}>{''.join(lines)}</g>"
        case Guide():
            yield from guide(
                mark, graph.x.scale, graph.height_px, _y(graph, mark.y) if mark.y is not None else None
            )
        case Dot():
            if graph.x.scale.has(mark.x):
                at = graph.x.scale.share(mark.x)
                yield sign_at(at, _y(graph, mark.y), mark.shape, mark.colour, mark.radius, mark.title)
        case Line():
            # A path of one point draws nothing.
            for (x, y), *more in _pieces(mark, graph):
                if not more:
                    at = graph.x.scale.share(x)
                    yield sign_at(at, _y(graph, y), "dot", mark.colour, LONE_PX, mark.name)
        case Label():
            y = _y(graph, mark.y)
            leader = f'<path d="M3 {px(y)}L12 {px(y + mark.shift_px)}" stroke="{mark.colour}" fill="none"/>'
            place = f'x="16" y="{px(y + mark.shift_px + 4)}"'
            words = f"<text {place}>{escaped(mark.text)}</text>"
            yield f'<svg x="100%" class="w" overflow="visible">{leader}{words}</svg>'
        case Band() | Area():
            return
        case _:
            assert_never(mark)
