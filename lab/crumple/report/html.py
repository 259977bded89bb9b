"""The report as one HTML file that needs no network: styles, charts and prose inside.

Pure: RunView → str. What is said comes from `sentences` and `tables`; how it is laid out is in the templates.
"""

from crumple.drawing import page, theme
from crumple.drawing.chart import drawings
from crumple.drawing.page import NARROW_PX, WIDE_PX, Drawing
from crumple.report import answers, bars, charts, sentences, tables
from crumple.report.charts import KINDS
from crumple.report.view import RunView


def html(view: RunView) -> str:
    """The whole page."""
    template = page.templates().get_template("report.html.j2")
    return template.render(
        view=view,
        run=view.run,
        study=view.run.study,
        say=sentences,
        style=page.style(),
        answer=answers.answer(view),
        claims=tables.claims(view),
        effects=_effects(view),
        experiments=[(shown, tables.servers(shown), drawings(KINDS, shown)) for shown in view.experiments],
        machine=tables.machine(view),
        versions=tables.versions(view),
        trials=tables.trials(view),
        unsound=[*view.failed, *view.not_valid],
    )


def _effects(view: RunView) -> Drawing | None:
    wide, narrow = (theme.unchecked(lambda w=width: bars.effects(view, w)) for width in (WIDE_PX, NARROW_PX))
    if wide is None:
        return None
    return page.drawing(charts.EFFECTS, charts.EFFECTS_TITLE, charts.EFFECTS_CAPTION, wide, narrow)
