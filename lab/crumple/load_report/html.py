"""One load as one HTML file that needs no network: whether to trust it, its figures, its charts, its command.

Pure: Load → str. Figures come from `figures`, words from `sentences`, layout from the template.
"""

from dataclasses import dataclass

from crumple.drawing import numerals, page
from crumple.drawing.chart import drawings
from crumple.drawing.shown import shown
from crumple.load_report import answer_sentences as answers
from crumple.load_report import sentences as say
from crumple.load_report.charts import CHARTS
from crumple.load_report.figures import QUANTILES, Kind, Load, Spread


@dataclass(frozen=True)
class Row:
    """A worded line of a table of times."""

    name: str
    about: str
    cells: tuple[str, ...]


def html(load: Load) -> str:
    """The whole page. Raises NotStored where a histogram is damaged."""
    record = load.record
    template = page.templates().get_template("load.html.j2")
    return template.render(
        load=load,
        record=record,
        say=say,
        answers=answers,
        style=page.style(),
        drawings=drawings(CHARTS, load),
        heads=["mean", *(say.quantile(q) for q in QUANTILES), "max"],
        times=[
            _times(load, name) for name in say.SPREADS if name in load.spreads and load.spreads[name].count
        ],
        kinds=[_kind(kind) for kind in load.kinds if len(load.kinds) > 1],
        steps=[_step(load, n) for n in range(len(load.steps))],
        outcomes=[
            (name, f"{number:,}", numerals.share(number / record.scheduled))
            for name, number in record.outcomes.as_dict().items()
            if number and name != "ok"
        ],
        facts=[(name, said) for name, said in say.facts(load) if said],
    )


def _times(load: Load, name: str) -> Row:
    title, about = say.SPREADS[name]
    spread = load.spreads[name]
    return Row(title, about, (f"{spread.count:,}", *_cells(spread)))


def _step(load: Load, number: int) -> Row:
    step = load.steps[number]
    spread = step.spread
    counts = (numerals.rate(step.due_per_s), numerals.rate(step.throughput_per_s), f"{step.failed:,}")
    return Row(say.rate(step), f"from {say.seconds(step.from_s)}", (*counts, *_cells(spread)))


def _kind(kind: Kind) -> Row:
    name, asked = shown(kind.record.name), f"{kind.asked.method} {kind.asked.path}"
    counts = (numerals.share(kind.share), f"{kind.record.outcomes.ok:,}", say.failed(kind))
    return Row(name, "" if name == shown(asked) else shown(asked), (*counts, *_cells(kind.spread)))


def _cells(spread: Spread) -> tuple[str, ...]:
    return (
        numerals.duration(spread.mean_ns),
        *say.quantiles(spread, QUANTILES),
        numerals.duration(spread.max_ns),
    )
