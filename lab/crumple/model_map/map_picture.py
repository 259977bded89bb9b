"""Pictures of a map: who serves most, and for each model how much of that it serves and if p99 stays low.

Cells stand side by side at equal sizes, by waiting and computing; each panel is of one number of users, or of
one model. Pure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crumple.drawing import theme
from crumple.drawing.plot import Area, ChartKey, Dot, Graph, Panel, Picture, PlotMark
from crumple.drawing.scale import AxisScale, AxisTick, ChartAxis
from crumple.model_map import map_words
from crumple.model_map.map_data import MapServer
from crumple.model_map.model_map import ModelMap, Spot, Standing
from crumple.stats import averages
from crumple.stats.decision import Answer
from crumple.study.map_points import MapPoint

# The height of a panel in px, and how many stand beside each other.
PANEL_PX, COLUMNS = 132, 4
# The radius of the sign of a measured point, in px.
SIGN_PX = 2.2
# The opacity of a cell in which it is not decided who serves most.
PALE = 0.35


@dataclass(frozen=True)
class Shade:
    """How a cell is filled, and what that means."""

    opacity: float
    label: str


# From which share of the most on a cell has a shade: those of nine tenths are alike.
SHARES: tuple[tuple[float, Shade], ...] = (
    (0.9, Shade(1.0, "90 % of the most, or more")),
    (0.75, Shade(0.62, "75 to 90 %")),
    (0.5, Shade(0.36, "50 to 75 %")),
    (0.25, Shade(0.17, "25 to 50 %")),
    (0.0, Shade(0.05, "less")),
)
KEPT: dict[Answer, Shade] = {
    "yes": Shade(1.0, "p99 below a second"),
    "open": Shade(0.36, "undecided"),
    "no": Shade(0.05, "not, or users get no answer"),
}
# One colour for all panels of shades, whose names say the model: so shades can be compared.
SHADED = theme.FAMILIES["go"]


def share_of(each: Standing) -> Shade:
    """Return the shade of how much of the most a server serves."""
    return next(shade for least, shade in SHARES if each.ratio.estimate >= least)


def kept_of(each: Standing) -> Shade:
    """Return the shade of whether p99 stays below a second."""
    return KEPT[each.is_kept]


def winners(drawn: ModelMap) -> Picture:
    """Draw who serves most: a panel for each number of users."""
    panels = [
        Panel(_graph(drawn, [*_of_winners(drawn, users)]), f"{users:,} users") for users in drawn.data.users
    ]
    named = dict.fromkeys(shown for spot in drawn.spots if (shown := _shown(spot)) is not None)
    keys = [ChartKey(map_words.model(each), _colour(each)) for each in named]
    keys += [ChartKey("several alike", theme.CONTEXT), ChartKey("not decided", theme.MUTED, "ring")]
    return Picture(panels, " ".join(map_words.of_map(drawn)), keys, COLUMNS)


def _colour(server: MapServer) -> str:
    return theme.MODELS.get(server.io_model, theme.INK)


def _shown(spot: Spot) -> MapServer | None:
    """Return the server whose colour a cell has; None: several are alike."""
    return spot.winner if spot.is_decided else spot.servers[0].server


def _of_winners(drawn: ModelMap, users: int) -> Iterator[PlotMark]:
    for spot, (x, y) in cells(drawn, users):
        front, shown = [map_words.model(each.server) for each in spot.front], _shown(spot)
        colour = theme.CONTEXT if shown is None else _colour(shown)
        if spot.is_decided:
            said = front[0] if spot.winner else f"alike: {', '.join(front)}"
            yield _area(x, y, colour, f"{spot.point.said}: {said}")
        else:
            said = f"most likely {front[0]}, undecided between {', '.join(front)}"
            yield _area(x, y, colour, f"{spot.point.said}: {said}", PALE)
            yield Dot(x + 0.5, y + 0.5, theme.MUTED, said, "ring", SIGN_PX + 1)


def shaded(drawn: ModelMap, users: int, shade: Callable[[Standing], Shade]) -> Picture:
    """Draw a panel for each model: for so many users, how much of the most it serves, or if p99 stays low."""
    panels = []
    for belief in drawn.beliefs:
        marks = [*_of_model(drawn, users, belief.server, shade)]
        graph = _graph(drawn, marks)
        panels.append(Panel(graph, map_words.model(belief.server), [belief.server.title]))
    shades = KEPT.values() if shade is kept_of else [each for _, each in SHARES]
    keys = [ChartKey(each.label, SHADED, opacity=each.opacity) for each in shades]
    keys.append(ChartKey("measured", theme.MUTED, "dot"))
    return Picture(panels, " ".join(map_words.of_map(drawn)), keys, COLUMNS)


def _of_model(
    drawn: ModelMap, users: int, server: MapServer, shade: Callable[[Standing], Shade]
) -> Iterator[PlotMark]:
    for spot, (x, y) in cells(drawn, users):
        each = next(each for each in spot.servers if each.server == server)
        said = f"{spot.point.said}: {shade(each).label}; {each.per_s.estimate:,.0f} answers per second"
        yield _area(x, y, SHADED, said, shade(each).opacity)
    for point, (across, up) in measured(drawn, users, server):
        yield Dot(across, up, theme.MUTED, f"measured: {point.said}", radius=SIGN_PX)


def measured(
    drawn: ModelMap, users: int, server: MapServer
) -> Iterator[tuple[MapPoint, tuple[float, float]]]:
    """Yield each point at which a server was measured, and where it lies among the cells of that many users.

    The first cell reaches from 0 to 1 on both axes.
    """
    data = drawn.data
    for point in dict.fromkeys(each.point for each in data.trials if each.server == server.label):
        if nearest_users(point.users, data.users) == users:
            yield point, (_across(point.wait_ms, data.wait_ms), _across(point.compute_us, data.compute_us))


def cells(drawn: ModelMap, users: int) -> Iterator[tuple[Spot, tuple[int, int]]]:
    """Yield each cell of that many users with its column and row."""
    for spot in drawn.spots:
        if spot.point.users == users:
            column = drawn.data.wait_ms.index(spot.point.wait_ms)
            yield spot, (column, drawn.data.compute_us.index(spot.point.compute_us))


def _area(x: int, y: int, colour: str, title: str, opacity: float = 1.0) -> Area:
    return Area(colour, x, x + 1, y, y + 1, title, opacity)


def _graph(drawn: ModelMap, marks: Sequence[PlotMark]) -> Graph:
    waits, computes = drawn.data.wait_ms, drawn.data.compute_us
    return Graph(
        _axis([f"{each}" for each in waits], "ms of waiting"),
        _axis([f"{each / 1e3:g}" for each in computes], "ms of computing"),
        marks,
        PANEL_PX,
        has_grid=False,
    )


def _axis(labels: Sequence[str], title: str) -> ChartAxis:
    # On a narrow page two panels are beside each other, each with room for three labels.
    shown = (0, len(labels) // 2, len(labels) - 1)
    ticks = [AxisTick(at + 0.5, label, at not in shown) for at, label in enumerate(labels)]
    return ChartAxis(AxisScale(0.0, float(len(labels))), ticks, title)


def _across(value: float, middles: Sequence[int]) -> float:
    """Return where on an axis of equal cells a value lies."""
    return 0.5 + averages.interpolate(value, [*map(float, middles)], [*map(float, range(len(middles)))])


def nearest_users(users: int, among: Sequence[int]) -> int:
    """Return the number of users of the cells that are nearest to so many."""
    for fewer, more in pairwise(among):
        if users * users < fewer * more:
            return fewer
    return among[-1]
