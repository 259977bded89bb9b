"""The report in a terminal: one screen of verdicts, figures, noise and what is not valid.

Pure: RunView → str with ANSI styles, or without them.
"""

from collections.abc import Iterable, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from crumple.drawing import numerals, terminal
from crumple.report import answers, circumstances, sentences, server_names, tables
from crumple.report.view import ExperimentView, RunView, ServerView, Start

WIDTH_MIN, WIDTH_MAX = 80, 110
WIDE = 100
# Between columns; and what a claim's own text has at least, where figures stand behind it.
PADDING = 2
CLAIM_MIN = 36
UNSOUND_SHOWN, WARNED_SHOWN = 4, 1
GLYPHS = {
    "supported": ("✓", "green"),
    "contradicted": ("✗", "red"),
    "contradicted in size only": ("↗", "yellow"),
    "undecided": ("?", "cyan"),
    "undecided in size only": ("?", "cyan"),
    "not testable here": ("–", "dim"),
}


def text(view: RunView, width: int | None = None, styled: bool | None = None) -> str:
    """The summary. Without `width` and `styled`: as the terminal has it, plain where there is none."""
    chosen = width or terminal.width(WIDTH_MIN, WIDTH_MAX)
    return terminal.printed(_page(view, chosen), chosen, styled)


def _page(view: RunView, columns: int) -> Group:
    parts: list[Text | Table] = [
        Text(view.run.study.title, style="bold"),
        Text(f"{view.run.id}: {', '.join(sentences.circumstances(view))}", style="dim"),
    ]
    if view.verdicts:
        parts += [_answer(view), _claims(view, columns)]
        parts.append(Text(circumstances.of_all([view]), style="dim"))
    for shown in view.experiments:
        parts += [Text(), _heading(shown), _servers(shown, columns), *_marks(shown), _noise(shown)]
    parts += [Text(), *_validity(view)]
    if said := sentences.twins(view):
        parts.append(Text(said, style="dim"))
    parts.append(Text(sentences.LOOPBACK, style="dim"))
    parts.append(Text(f"In full, with charts: crumple report {view.run.id} --open"))
    return Group(*parts)


def _answer(view: RunView) -> Text:
    """What the study came to, and how all of its claims did."""
    given = answers.answer(view)
    if not given.badge:
        return Text(given.sentence)
    return Text.assemble((given.word, GLYPHS[given.badge][1]), given.sentence, " ", sentences.summary(view))


def _claims(view: RunView, columns: int) -> Table:
    """A row for each claim. What was measured stands behind it if that leaves all claims room, else below."""
    claims = tables.asked(view)
    heads = (
        _longest(claim.verdict.claim_id for claim in claims),
        _longest(claim.answer for claim in claims),
    )
    room = columns - 1 - sum(heads) - CLAIM_MIN - 4 * PADDING
    behind = all(_longest(_measured(claim)) <= room for claim in claims)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, PADDING, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(no_wrap=True)
    if behind:
        table.add_column(no_wrap=True, justify="right")
    for claim in claims:
        glyph, style = GLYPHS[claim.answer]
        text = Text(claim.verdict.text)
        for line in [] if behind else _measured(claim, told_apart=True):
            text.append(f"\n{line}", style="dim")
        row = [Text(glyph, style=style), Text(claim.verdict.claim_id), text, Text(claim.answer, style=style)]
        table.add_row(*row, *([Text("\n".join(_measured(claim)))] if behind else []))
    return table


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _measured(claim: tables.ClaimRow, told_apart: bool = False) -> list[str]:
    """A line for each effect shown that has a figure; `told_apart`: of several servers each with its name."""
    if claim.closest:
        return [f"closest {effect.measured}" for effect in claim.shown]
    # Why there is no figure is the sentence's to say.
    seen = [effect for effect in claim.shown if effect.measured.estimate != numerals.ABSENT]
    several = told_apart and len({effect.label for effect in claim.shown}) > 1
    return [
        f"{effect.label}: {_held_against(effect)}" if several else _held_against(effect) for effect in seen
    ]


def _held_against(effect: tables.EffectRow) -> str:
    if effect.published == numerals.ABSENT:
        return str(effect.measured)
    if effect.published.startswith(tables.EXPECTED):
        return f"{effect.measured} {effect.published}"
    return f"{effect.measured} {'claimed' if effect.claimed else 'published'} {effect.published}"


def _heading(shown: ExperimentView) -> Text:
    return Text.assemble((shown.name, "bold"), f"  {shown.experiment.title}")


def _servers(shown: ExperimentView, columns: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    heads = ("throughput /s [95 %]", "p50", "p99", "CPU/request", "memory", "failed")
    left_out = () if columns >= WIDE else ("p50", "memory")
    for head in heads:
        if head not in left_out:
            table.add_column(head, justify="right", no_wrap=True)
    names = server_names.short([row.name for row in shown.servers])
    for row in tables.servers(shown):
        cells = [str(row.throughput), *(cell.estimate for cell in (row.p50, row.p99, row.cpu, row.memory))]
        kept = [Text(cell) for head, cell in zip(heads, cells, strict=False) if head not in left_out]
        failed = Text(numerals.share(row.server.failed_share), style="bold red" if row.server.lossy else "")
        table.add_row(Text(names[row.server.name]), *kept, failed)
    return table


def _marks(shown: ExperimentView) -> list[Text]:
    marked = [(row, sentences.marks(row)) for row in shown.servers]
    return [Text(f"{row.name}: {said}{_others(row)}", style="yellow") for row, said in marked if said]


def _others(row: ServerView) -> str:
    return f"; {sentences.OF_THE_OTHERS}" if sentences.unanswered(row) else ""


def _noise(shown: ExperimentView) -> Text:
    of = shown.noise["throughput"]
    if of.visible is None:
        return Text(f"what differences it could see: not known, {of.why}", style="dim")
    return Text(f"sees differences of {sentences.difference(of.visible)} in throughput", style="dim")


def _validity(view: RunView) -> list[Text]:
    unsound = [*view.failed, *view.not_valid]
    lines = [Text(sentences.trials(view), style="yellow" if unsound else "")]
    return [*lines, *_remarks(unsound, UNSOUND_SHOWN, ""), *_remarks(view.warned, WARNED_SHOWN, "dim")]


def _remarks(starts: Sequence[Start], at_most: int, style: str) -> list[Text]:
    shown = [f"{start.trial.trial.id}: {sentences.remark(start)}" for start in starts[:at_most]]
    more = [f"and {len(starts) - at_most} more"] if len(starts) > at_most else []
    return [Text(f"  {line}", style=style) for line in (*shown, *more)]
