"""One comparison as a report, and as JSON, which rounds nothing. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    Charts,
    Circumstances,
    Column,
    Facts,
    Paragraph,
    Report,
    Section,
    Table,
    Title,
    Tone,
    again,
    on_page,
    on_terminal,
    phrase,
)
from crumple.gate.condition import Outcome, for_page
from crumple.stats.interval import Interval
from crumple.versus.letters import FIRST
from crumple.versus.report import versus_sentences as say
from crumple.versus.report.versus_result import Result
from crumple.versus.standing import LikenessWord, Ratio
from crumple.versus.turn import PutOn, Turn

if TYPE_CHECKING:
    from crumple.drawing.page import BoundChart

VERSION = 1
TONES: Mapping[LikenessWord, Tone] = {"different": "plain", "alike": "good", "undecided": "doubtful"}


def report(result: Result, outcomes: Sequence[Outcome] = ()) -> Report:
    """Return the comparison as a report. `outcomes`: of the conditions of --fail-if."""
    notes = say.notes(result)
    return Report(
        verb="versus",
        title=" versus ".join(result.labels.values()),
        head=[
            on_terminal(Facts([*result.labels.items()])),
            on_page(
                Title([f"{letter}: {label}" for letter, label in result.labels.items()]),
                *(Paragraph(say.headline(result, letter), "headline") for letter in result.others),
                Circumstances(say.circumstances(result)),
            ),
        ],
        sections=[
            *_terminal_tables(result),
            Section(
                [Facts(say.facts(result)), for_page(outcomes), on_page(*_cautions(notes))],
                heading="What was done",
                name="facts",
                is_spoken=True,
            ),
            Section([on_terminal(Facts([("note", said) for said in notes]))]),
            Section([Charts(partial(_charts, result))], heading="Charts", name="charts", is_spoken=True),
            *(
                Section(
                    [on_page(_table(result, letter), Paragraph(say.READING, "note"))],
                    heading=f"{letter} beside {FIRST}",
                    name=f"figures-{letter}",
                )
                for letter in result.others
                if result.ratios(letter)
            ),
            again(result.command),
        ],
        engine_version=result.engine_version,
    )


def _terminal_tables(result: Result) -> Iterator[Section]:
    if result.compared.gone:
        yield Section(
            [on_terminal(Paragraph(phrase(result.compared.gone, "bad", strong=True), breaks_words=True))]
        )
    for letter in result.others:
        yield Section([on_terminal(Paragraph(phrase(say.headline(result, letter), strong=True)))])
        yield Section([on_terminal(_table(result, letter))])


def _cautions(notes: Sequence[str]) -> list[Paragraph]:
    return [Paragraph(said, "caution") for said in notes]


def _charts(result: Result) -> list["BoundChart"]:
    # Imported here because charts take a second to import, and only the page has them.
    from crumple.versus.report.versus_charts import CHARTS

    return [chart.of(result) for chart in CHARTS]


def _table(result: Result, letter: str) -> Table:
    ratios = result.ratios(letter)
    rows = [_cells(result, ratio) for ratio in ratios]
    heads = ("", FIRST, letter, f"{letter}{numerals.NARROW}÷{numerals.NARROW}{FIRST}")
    verdicts = [
        phrase(say.verdict(each), TONES[each.answer], strong=each.answer == "different") for each in ratios
    ]
    columns = [Column(head, [row[at] for row in rows], right=at > 0) for at, head in enumerate(heads)]
    return Table([*columns, Column("", verdicts)])


def _cells(result: Result, ratio: Ratio) -> tuple[str, ...]:
    """Return the cells of a row: the figure's name, its value of both, and their ratio."""
    one, other = (result.value(letter, ratio.figure) for letter in (FIRST, ratio.letter))
    return (
        say.NAMES[ratio.figure],
        say.value(ratio.figure, one),
        say.value(ratio.figure, other),
        numerals.with_interval(ratio.interval, of="block"),
    )


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
