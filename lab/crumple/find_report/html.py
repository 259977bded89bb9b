"""One search as one HTML file that needs no network: where it breaks, why, its chart, every level.

Pure: Finding → str. Figures come from `figures`, words from `sentences`, layout from the template.
"""

from crumple.drawing import page
from crumple.drawing.chart import drawings
from crumple.find_report import level_sentences
from crumple.find_report import sentences as say
from crumple.find_report.charts import CHARTS
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
            drawings=drawings(CHARTS, finding),
            heads=level_sentences.heads(finding),
            levels=[
                (level_sentences.cells(finding, level), level_sentences.verdict(level))
                for level in finding.rows
            ],
        )
    )
