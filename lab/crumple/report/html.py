"""The report as one HTML file that needs no network: styles, charts and prose inside.

Pure: RunView → str. What is said comes from `sentences` and `tables`; how it is laid out is in the templates.
"""

from crumple.drawing import page, theme
from crumple.drawing.page import HALF_PX, NARROW_PX, WIDE_PX, Drawing
from crumple.report import bars, charts, scalability, sentences, tables
from crumple.report.charts import KINDS
from crumple.report.view import ExperimentView, RunView


def html(view: RunView) -> str:
    """The whole page."""
    template = page.templates().get_template("report.html.j2")
    return template.render(
        view=view,
        run=view.run,
        study=view.run.study,
        say=sentences,
        scalability=scalability,
        style=page.style(),
        claims=tables.claims(view),
        effects=_effects(view),
        experiments=[(shown, tables.servers(shown), _drawings(shown)) for shown in view.experiments],
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


def _drawings(shown: ExperimentView) -> list[Drawing]:
    drawings = []
    for kind in KINDS:
        wide = kind.drawn(shown, HALF_PX if kind.half else WIDE_PX)
        narrow = None if kind.half else kind.drawn(shown, NARROW_PX)
        if wide is not None:
            drawings.append(
                page.drawing(kind.file_stem(shown), kind.title, kind.caption, wide, narrow, half=kind.half)
            )
    return drawings
