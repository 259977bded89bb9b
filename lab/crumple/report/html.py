"""The report as one HTML file that needs no network: styles, charts and prose inside.

Pure: RunView → str. What is said comes from `sentences` and `tables`; how it is laid out is in the templates.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import altair as alt
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from crumple.report import bars, charts, numerals, sentences, tables, theme
from crumple.report.charts import HALF_PX, KINDS, NARROW_PX, WIDE_PX
from crumple.report.view import ExperimentView, RunView

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Drawing:
    """A chart on the page. `narrow`: redrawn for small screens, empty where `wide` fits them too."""

    title: str
    caption: str
    wide: Markup
    narrow: Markup
    half: bool


def html(view: RunView) -> str:
    """The whole page."""
    page = _templates().get_template("report.html.j2")
    return page.render(
        view=view,
        run=view.run,
        study=view.run.study,
        style=Markup((_HERE / "style.css").read_text(encoding="utf-8") + theme.style_rules()),
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
    return _drawing(charts.EFFECTS, charts.EFFECTS_TITLE, charts.EFFECTS_CAPTION, wide, narrow)


def _drawings(shown: ExperimentView) -> list[Drawing]:
    drawings = []
    for kind in KINDS:
        wide = kind.drawn(shown, HALF_PX if kind.half else WIDE_PX)
        narrow = None if kind.half else kind.drawn(shown, NARROW_PX)
        if wide is not None:
            drawings.append(
                _drawing(kind.file_stem(shown), kind.title, kind.caption, wide, narrow, half=kind.half)
            )
    return drawings


def _drawing(
    name: str,
    title: str,
    caption: str,
    wide: alt.TopLevelMixin | None,
    narrow: alt.TopLevelMixin | None,
    *,
    half: bool = False,
) -> Drawing:
    def inline(chart: alt.TopLevelMixin | None, suffix: str) -> Markup:
        return Markup(theme.inline_svg(chart, f"{name}-{suffix}", f"{title}. {caption}") if chart else "")

    return Drawing(title, caption, inline(wide, "wide"), inline(narrow, "narrow"), half)


def _prose(markdown: str) -> Markup:
    # Raw HTML in a study stays text: a report may come from someone else's study.
    return Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower()).strip("-")


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(say=sentences, numerals=numerals, family_of=theme.family_of)
    environment.filters.update(prose=_prose, slug=_slug, capitalize_first=_capitalised)
    return environment
