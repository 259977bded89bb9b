"""The document of a comparison of versions, made of what it came to, and its report. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from crumple.documents.result import head, located
from crumple.drawing import numerals
from crumple.drawing.report_parts import (
    FILES,
    TERMINAL,
    Charts,
    Column,
    Facts,
    Fold,
    Only,
    Paragraph,
    Phrase,
    Report,
    Role,
    Section,
    Span,
    Table,
    Tone,
    again,
    join,
    on_page,
    on_terminal,
    phrase,
    plain,
)
from crumple.gate.condition import for_page
from crumple.versus.lengths import Loads
from crumple.versus.letters import FIRST
from crumple.versus.report import versus_answer, versus_charts, versus_notes
from crumple.versus.report import versus_sentences as say
from crumple.versus.report.versus_document import LooksData, RatioData, TurnData, VersionData, VersusDocument
from crumple.versus.report.versus_figures import VersusFigures
from crumple.versus.standing import LikenessWord
from crumple.versus.versus_course import VersionComparison

# The version of this kind of document.
VERSION: Literal[1] = 1
TONES: Mapping[LikenessWord, Tone] = {"different": "plain", "alike": "good", "undecided": "doubtful"}


def document_of(
    loads: Loads,
    compared: VersionComparison,
    *,
    labels: Mapping[str, str],
    same: Sequence[str],
    command: str,
    afresh: Mapping[str, bool],
    server_cores: Mapping[str, int],
    engine_version: str,
    began_unix_s: float,
) -> VersusDocument:
    """Return the document of a comparison that is over, which has no name yet.

    `labels`: letter → label; `same`: the letters of versions that are the same thing as A. `afresh`: letter →
    whether each turn was a new process; `server_cores`: letter → how many cores its server may use, where
    that is known.
    """
    rule = compared.rule
    bare = VersusDocument(
        **head(
            "versus",
            VERSION,
            command=command,
            began_unix_s=began_unix_s,
            ended_early=compared.ending == "interrupted",
            asked="",
            headline="",
            engine_version=engine_version,
        ),
        versions=tuple(
            VersionData(
                letter=letter,
                label=label,
                same_as_first=letter in same,
                fresh_starts=afresh.get(letter),
                server_cores=server_cores.get(letter),
                calibrated=compared.known.get(letter),
                figures={},
            )
            for letter, label in labels.items()
        ),
        rate_per_s=compared.rate_per_s,
        loads=loads,
        lengths=compared.lengths,
        figures=rule.figures if rule else (),
        confidence=rule.confidence if rule else None,
        looks=LooksData(least=rule.looks.least, most=rule.looks.most) if rule else None,
        ratios=tuple(map(RatioData.of_ratio, compared.ratios)),
        headlines={},
        blocks=tuple(tuple(map(TurnData.of, block.turns)) for block in compared.blocks),
        ending=compared.ending,
        gone=compared.gone or None,
        notes=(),
        took_s=compared.took_s,
        seed=loads.seed,
    )
    return _with_figures(bare)


def _with_figures(document: VersusDocument) -> VersusDocument:
    """Return the document with what is computed of the rest of it."""
    figures = VersusFigures(document)
    values = [
        {figure: figures.value(each.letter, figure) for figure in document.figures}
        for each in document.versions
    ]
    versions = zip(document.versions, values, strict=True)
    return document.model_copy(
        update={
            "asked": say.question(figures),
            "headline": say.headlines(figures),
            "versions": tuple(each.model_copy(update={"figures": own}) for each, own in versions),
            "ratios": tuple(
                each.model_copy(update={"as_measured": figures.as_measured(each.as_ratio)})
                for each in document.ratios
            ),
            "headlines": {letter: _plain(say.headline(figures, letter)) for letter in figures.others},
            "notes": tuple(map(_plain, versus_notes.notes(figures))),
        }
    )


def report(document: VersusDocument) -> Report:
    """Return what a comparison came to as a report."""
    result = VersusFigures(document)
    return Report(
        verb="versus",
        title=versus_answer.title(result),
        head=[for_page(document.fail_if), on_page(*_said("caution", versus_notes.cautions(result)))],
        sections=[*_tables(result), *_done(result), again(document.command)],
        engine_version=document.engine_version,
        answer=located(versus_answer.of(result, Charts([versus_charts.RATIOS.of(result)])), document),
        circumstances=[*document.circumstances, *say.circumstances(result)],
        has_contents=True,
    )


def _tables(result: VersusFigures) -> Iterator[Section]:
    for letter in result.others:
        if result.ratios(letter):
            yield Section(
                [_table(result, letter)], heading=f"{letter} beside {FIRST}", name=f"figures-{letter}"
            )


def _done(result: VersusFigures) -> list[Section]:
    """Return what was done, and what a reader has to know of it."""
    facts, further, remarks = say.facts(result), versus_notes.further(result), versus_notes.remarks(result)
    folds = [
        Fold("How it was compared", [Facts(facts), Paragraph(say.READING, "note"), *_said("note", remarks)]),
        Fold("Quantiles of the response times", [Charts([versus_charts.QUANTILES.of(result)])]),
    ]
    if further:
        folds.append(
            Fold(f"{numerals.count(len(further), 'further warning')} of loads", _said("note", further))
        )
    notes = [("note", said) for said in (*versus_notes.cautions(result), *remarks)]
    more = [("note", f"{numerals.count(len(further), 'further warning')} of loads: --html, --json")]
    return [
        Section([on_terminal(Facts(facts))]),
        Section([on_terminal(Facts([*notes, *(more if further else [])]))]),
        Section([Only(FILES, folds)], heading="More", name="more"),
    ]


def _said(role: Role, sentences: Sequence[str]) -> list[Paragraph]:
    return [Paragraph(said, role) for said in sentences]


def _table(result: VersusFigures, letter: str) -> Table:
    ratios = result.ratios(letter)
    values = {
        each: [say.value(ratio.figure, result.value(each, ratio.figure)) for ratio in ratios]
        for each in (FIRST, letter)
    }
    names = [say.NAMES[each.figure] for each in ratios]
    verdicts = [
        phrase(say.verdict(each), TONES[each.answer], strong=each.answer == "different") for each in ratios
    ]
    heading = f"{letter}{numerals.NARROW}÷{numerals.NARROW}{FIRST}"
    told = [numerals.with_interval(each.interval, of="block") for each in ratios]
    # A telephone has no room for five columns, so a row of a page has two lines.
    both = zip(names, verdicts, strict=True)
    below = [join(name, Span(plain(verdict), form="below")) for name, verdict in both]
    return Table(
        [
            Column("", names, media=TERMINAL),
            Column("", below, media=FILES),
            *(Column(each, shown, right=True) for each, shown in values.items()),
            Column(heading, told, right=True, media=TERMINAL),
            Column(heading, [*map(_in_two_lines, told)], right=True, media=FILES),
            Column("", verdicts, media=TERMINAL),
        ],
        style="plain",
    )


def _in_two_lines(told: str) -> Phrase:
    """Return a ratio with its interval below it."""
    estimate, bracket, interval = told.partition(" [")
    return join(estimate, Span(f"{bracket.strip()}{interval}", form="below")) if bracket else phrase(told)


def _plain(said: str) -> str:
    return said.replace(numerals.NARROW, " ")
