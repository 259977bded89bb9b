"""One search as one HTML file that needs no network: where it breaks, why, its chart, every level.

Pure: Finding → str. Figures come from `figures`, words from `sentences`, layout from the template.
"""

from crumple.drawing import page
from crumple.drawing.page import NARROW_PX, WIDE_PX, Drawing
from crumple.find_report import sentences as say
from crumple.find_report.charts import CHARTS, FindChart
from crumple.find_report.figures import Finding


def html(finding: Finding) -> str:
    """The whole page."""
    return (
        page.templates()
        .get_template("find.html.j2")
        .render(
            finding=finding,
            found=finding.found,
            say=say,
            style=page.style(),
            drawings=[drawn for drawn in (_drawing(finding, chart) for chart in CHARTS) if drawn],
            levels=[(level, say.cells(finding, level), say.verdict(level)) for level in finding.rows],
        )
    )


def _drawing(finding: Finding, chart: FindChart) -> Drawing | None:
    wide = chart.drawn(finding, WIDE_PX)
    if wide is None:
        return None
    return page.drawing(chart.name, chart.title, chart.caption, wide, chart.drawn(finding, NARROW_PX))
