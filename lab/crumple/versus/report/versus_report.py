"""One comparison as a screen in a terminal, as a page and as JSON. Pure. JSON rounds nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crumple.drawing import fitting, numerals, terminal
from crumple.drawing.fitting import Column
from crumple.gate.condition import Outcome
from crumple.stats.interval import Interval
from crumple.versus.letters import FIRST
from crumple.versus.report import versus_sentences as say
from crumple.versus.report.versus_result import Result
from crumple.versus.standing import Ratio
from crumple.versus.turn import PutOn, Turn

WIDTH_MAX = 100
VERSION = 1
STYLES = {"different": "bold", "alike": "green", "undecided": "yellow"}


def html(result: Result, outcomes: Sequence[Outcome] = ()) -> str:
    """The whole page. `outcomes`: of the conditions of --fail-if."""
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.drawing import page
    from crumple.versus.report.versus_charts import CHARTS

    template = page.templates().get_template("versus.html.j2")
    return template.render(
        result=result,
        say=say,
        style=page.style(),
        drawings=page.drawings(CHARTS, result),
        tables=[
            (letter, [_cells(result, each) for each in result.ratios(letter)]) for letter in result.others
        ],
        first=FIRST,
        outcomes=outcomes,
    )


def text(result: Result, width: int | None = None, styled: bool | None = None) -> str:
    """Return the result as text. `width` and `styled` None: as the terminal has it; plain without one."""
    columns = width or terminal.width(WIDTH_MAX)
    return terminal.printed(Group(*_parts(result, columns)), columns, styled)


def document(result: Result) -> dict[str, Any]:
    """Return the comparison as data; times in ns, CPU per request in ns."""
    compared, loads = result.compared, result.loads
    return {
        "version": VERSION,
        "versions": [_version(result, letter, label) for letter, label in result.labels.items()],
        "rate_per_s": compared.rate_per_s,
        "loads": asdict(loads),
        "lengths": asdict(compared.lengths) if compared.lengths else None,
        "figures": list(compared.rule.figures) if compared.rule else [],
        "confidence": compared.rule.confidence if compared.rule else None,
        "looks": {"least": compared.rule.looks.least, "most": compared.rule.looks.most}
        if compared.rule
        else None,
        "ratios": [_ratio(result, each) for each in compared.ratios],
        "headlines": {letter: _plain(say.headline(result, letter)) for letter in result.others},
        "blocks": [[_turn(each) for each in block.turns] for block in compared.blocks],
        "ending": compared.ending,
        "gone": compared.gone or None,
        "notes": [_plain(each) for each in say.notes(result)],
        "took_s": compared.took_s,
        "seed": loads.seed,
        "command": result.command,
    }


def _parts(result: Result, columns: int) -> Iterator[RenderableType]:
    yield terminal.named(result.labels.items())
    if result.compared.gone:
        yield Text()
        yield Text(result.compared.gone, style="bold red", overflow="fold")
    for letter in result.others:
        yield Text()
        yield Text(say.headline(result, letter), style="bold")
        if result.ratios(letter):
            yield Text()
            yield _table(result, letter, columns)
    yield Text()
    yield terminal.named(say.facts(result))
    if notes := say.notes(result):
        yield Text()
        yield terminal.named(("note", said) for said in notes)


def _table(result: Result, letter: str, columns: int) -> Table:
    ratios = result.ratios(letter)
    rows = [_cells(result, ratio) for ratio in ratios]
    verdicts = [Text(row[-1], style=STYLES[ratio.answer]) for row, ratio in zip(rows, ratios, strict=True)]
    heads = (FIRST, letter, f"{letter}{numerals.NARROW}÷{numerals.NARROW}{FIRST}")
    table = [
        Column("", [Text(row[0]) for row in rows]),
        *(Column(head, [Text(row[at]) for row in rows], right=True) for at, head in enumerate(heads, 1)),
        Column("", verdicts),
    ]
    return fitting.table(table, columns)


def _cells(result: Result, ratio: Ratio) -> tuple[str, ...]:
    """The cells of a row: the figure's name, its value of both, their ratio, and what it says."""
    one, other = (result.value(letter, ratio.figure) for letter in (FIRST, ratio.letter))
    shown = numerals.with_interval(ratio.interval, of="block")
    return (
        say.NAMES[ratio.figure],
        say.value(ratio.figure, one),
        say.value(ratio.figure, other),
        shown,
        say.verdict(ratio),
    )


def _version(result: Result, letter: str, label: str) -> dict[str, Any]:
    known = result.compared.known.get(letter)
    return {
        "letter": letter,
        "label": label,
        "same_as_first": letter in result.same,
        "fresh_starts": result.afresh.get(letter),
        "server_cores": result.server_cores.get(letter),
        "calibrated": asdict(known) if known else None,
        "figures": {
            figure: result.value(letter, figure)
            for figure in (result.compared.rule.figures if result.compared.rule else ())
        },
    }


def _ratio(result: Result, ratio: Ratio) -> dict[str, Any]:
    return {
        "of": ratio.letter,
        "to": FIRST,
        "figure": ratio.figure,
        "answer": ratio.answer,
        "why": ratio.why,
        "ratio": _interval(ratio.interval),
        "twin": _interval(ratio.twin),
        "as_measured": result.as_measured(ratio),
        "blocks": ratio.blocks,
        "blocks_needed": ratio.needed,
    }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    bounded = numerals.bounded(interval)
    return {
        "estimate": interval.estimate,
        "low": interval.low if bounded else None,
        "high": interval.high if bounded else None,
        "confidence": interval.confidence,
        "blocks": interval.n,
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "letter": turn.letter,
        "closed": _load(turn.closed),
        "at_rate": _load(turn.at_rate),
    }


def _load(load: PutOn) -> dict[str, Any]:
    return {
        "figures": dict(load.figures),
        "at_least": list(load.at_least),
        "validity": load.word,
        "counts": load.counts,
        "against": list(load.against),
        "warnings": list(load.warnings),
        "slowdown": load.slowdown,
        "disturbed": list(load.disturbed),
        "failed_share": load.failed_share,
        "answered_share": load.answered_share,
        "speed_per_s": load.speed_per_s,
        "busy_share": load.busy_share,
        "times": load.times.model_dump(mode="json"),
    }


def _plain(said: str) -> str:
    return said.replace(numerals.NARROW, " ")
