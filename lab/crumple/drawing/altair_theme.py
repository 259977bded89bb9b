"""How Altair's charts look: ticks of axes; renders charts as SVG and PNG, offline."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from crumple.drawing import terminal

# The values of `theme`, which imports from here.
_INK, _MUTED, _GRID = "#1f2329", "#646b75", "#e4e6ea"
_FONT, _FONT_SIZE = "Arial, 'Liberation Sans', Arimo, Helvetica, sans-serif", 12

TIME_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : format(datum.value / 1e3, '~g') + ' µs'"
)
# The form that tables use.
COUNT_LABEL = "format(datum.value, ',~r')"
PLAIN_LABEL = "datum.value >= 1e3 ? format(datum.value, '~s') : format(datum.value, '~r')"

# A tick within a factor of 1.05 of what is drawn would touch it.
BESIDE = 1.05
# No axis of times has a label below a microsecond: no answer is faster.
_LEAST_NS = 1e3
_FINER = [10.0**power * step for power in range(3, 12) for step in (1, 2, 5)]


def time_ticks(domain: Sequence[float]) -> list[float]:
    """Round times in ns between two ends, none below a microsecond."""
    return terminal.round_between(max(domain[0], _LEAST_NS), domain[1])


def round_times(low: float, high: float) -> tuple[float, float]:
    """The nearest tick below `low` and above `high`, in ns, at least BESIDE away from them as a factor."""
    below = [tick for tick in _FINER if tick * BESIDE < low]
    above = [tick for tick in _FINER if tick > high * BESIDE]
    return below[-1] if below else low, above[0] if above else high


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two ends, at most `most` of them."""
    if not high > low:
        return [high]
    decade = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (decade * factor for factor in (1, 2, 2.5, 5, 10, 20))
    step = next(step for step in steps if math.floor(high / step) - math.ceil(low / step) < most)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


Channel = TypeVar("Channel", alt.X, alt.Y)


def time_axis(channel: type[Channel], field: str, domain: Sequence[float], **axis: Any) -> Channel:
    """A logarithmic axis of times in ns; `axis`: other options of it."""
    return channel(
        field,
        title=None,
        scale=alt.Scale(type="log", domain=list(domain), nice=False),
        axis=alt.Axis(values=time_ticks(domain), labelExpr=TIME_LABEL, **axis),
    )


def seconds_axis(until_s: float, ticks: int) -> alt.X:
    """An axis of the seconds since the first request, in the field `s`."""
    return alt.X(
        "s:Q",
        title=None,
        scale=alt.Scale(domain=[0, until_s], nice=False),
        axis=alt.Axis(
            tickCount=ticks, grid=False, format="~g", labelExpr="datum.label + ' s'", labelFlush=True
        ),
    )


def quantile_axis(depth: int) -> alt.X:
    """An axis on which a quantile q is placed at 1/(1−q), in the field `x`; its end is at 10**depth."""
    return alt.X(
        "x:Q",
        title=None,
        scale=alt.Scale(type="log", domain=[1, 10**depth], nice=False),
        axis=alt.Axis(
            values=[2, *(10**power for power in range(1, depth + 1))],
            labelExpr="format(1 - 1 / datum.value, '.6~%')",
            labelFlush=True,
        ),
    )


Chart = TypeVar("Chart")

# PNG files have two pixels for each of the page, so that they are sharp on dense screens.
PNG_SCALE = 2.0

_IDS = re.compile(r'(id="|url\(#|href="#)')
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"([^>]*)>', re.S)


class _Rows(alt.Data):
    """Data that charts share instead of copying: altair copies a chart for every layer and every option."""

    def __deepcopy__(self, memo: object = None) -> "_Rows":
        return self


def rows(values: Iterable[dict[str, Any]]) -> alt.Data:
    """The data of a chart."""
    # altair annotates the parameters of this class, but not that it returns None.
    return _Rows(values=list(values))  # type: ignore[no-untyped-call]


def layered(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """The charts over one another; none of them may be in facets, or else altair returns facets of layers."""
    drawn = alt.layer(*charts)
    assert isinstance(drawn, alt.LayerChart)
    return drawn


def fitted(chart: alt.TopLevelMixin, width_px: int, height_px: int) -> alt.TopLevelMixin:
    """The chart in that width, axes and labels included."""
    return chart.properties(
        width=width_px, height=height_px, autosize=alt.AutoSizeParams(type="fit-x", contains="padding")
    )


def unchecked(draw: Callable[[], Chart]) -> Chart:
    """The result of `draw`, without checks of each part against the schema, which take most of the time."""
    with debug_mode(False):
        return draw()


def themed(chart: alt.TopLevelMixin, background: str | None = None) -> dict[str, Any]:
    """The chart's Vega-Lite specification in this theme. `background` None: transparent."""
    axis = {
        "domain": False,
        "ticks": False,
        "gridColor": _GRID,
        "labelColor": _MUTED,
        "titleColor": _MUTED,
        "labelFontSize": _FONT_SIZE - 1,
        "titleFontSize": _FONT_SIZE - 1,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "titlePadding": 8,
    }
    specification = chart.to_dict(validate=False)
    specification["config"] = {
        **specification.get("config", {}),
        "background": background,
        "font": _FONT,
        "padding": {"left": 2, "right": 6, "top": 4, "bottom": 2},
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"labelLimit": 260},
        "text": {"color": _INK, "fontSize": _FONT_SIZE - 1, "font": _FONT},
        "title": {
            "color": _INK,
            "fontSize": _FONT_SIZE,
            "fontWeight": "bold",
            "subtitleColor": _MUTED,
            "subtitleFontSize": _FONT_SIZE - 1,
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
    """The chart as PNG on white, at PNG_SCALE times its size."""
    return vl_convert.vegalite_to_png(themed(chart, "white"), scale=PNG_SCALE)


def inline_svg(chart: alt.TopLevelMixin, name: str, description: str) -> str:
    """The chart as an element of an HTML page: scalable, with a description, its ids prefixed by `name`."""
    drawn = svg(chart)
    # A page holds several charts, and Vega numbers clip paths from zero in each.
    drawn = _IDS.sub(lambda match: match.group(1) + name + "-", drawn)
    described = _escaped(description)
    return _SIZE.sub(
        lambda m: f'<svg {m[1]}role="img" aria-label="{described}" style="width:{float(m[2]):g}px"{m[4]}>',
        drawn,
        count=1,
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
