"""Several runs as a report: the answer to each study, surprises first, and every claim.

A terminal has a line for each claim; a page and Markdown have what each claim rests on. Pure.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from crumple.drawing import numerals, report_text, terminal
from crumple.drawing.report_parts import (
    FILES,
    MARKDOWN,
    Circumstances,
    Column,
    Items,
    Only,
    Paragraph,
    Plot,
    Report,
    Section,
    Span,
    Table,
    Title,
    Words,
    join,
    on_page,
    on_terminal,
)
from crumple.run.report import (
    claim_lines,
    claims_table,
    findings,
    left_sentences,
    run_sentences,
    server_names,
)
from crumple.run.report.findings import StudyAnswer
from crumple.run.report.run_report import WIDTH_MAX, answer_in_words, answer_with_badge
from crumple.run.report.view import RunView
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import Verdict
from crumple.verdict.verdict_sentences import IN_SIZE_ONLY

# The fewest columns of the screen, on which a claim takes one line.
SCREEN_MIN = 80
NOT_ASKED = "not asked"
TITLE = "What the articles said, and what is so here"


def text(views: Sequence[RunView], width: int | None = None, styled: bool | None = None) -> str:
    """Return one screen. `width`, `styled`: those of the terminal if None."""
    chosen = width or terminal.width(WIDTH_MAX, SCREEN_MIN)
    return report_text.text(report(views), chosen, styled)


def html(views: Sequence[RunView], links: Mapping[str, str]) -> str:
    """Return the page. `links`: run id → its report, relative to the page."""
    # Imported here because charts take a second to import, and only pages have them.
    from crumple.drawing import report_page

    return report_page.html(report(views, links))


def markdown(views: Sequence[RunView]) -> str:
    """Return the answers and claims in Markdown."""
    from crumple.drawing import report_markdown

    return report_markdown.markdown(report(views))


def picture(views: Sequence[RunView], width: int, title: str) -> str:
    """Return the screen of `text` as an SVG."""
    return terminal.picture(report_text.screen(report(views), width), width, title)


def report(views: Sequence[RunView], links: Mapping[str, str] | None = None) -> Report:
    """Return the runs as a report. `links`: run id → its own report."""
    found = server_names.of_all(views)
    answers = findings.answers(views)
    return Report(
        verb="run",
        title=_titles(views),
        head=[
            Only(FILES, [Title([TITLE])]),
            on_terminal(
                Plot(lambda columns: [*claim_lines.of_runs(views, columns), Text(), *_closing(views)])
            ),
        ],
        sections=[
            Section(
                [
                    Only(
                        FILES,
                        [
                            on_page(Items([_answer(each, answer_with_badge(each)) for each in answers])),
                            Only(
                                MARKDOWN, [Items([_answer(each, answer_in_words(each)) for each in answers])]
                            ),
                            Paragraph(f"{summary(views)} {found}".strip(), "caution"),
                            Paragraph(run_sentences.LOOPBACK, "caution"),
                        ],
                    )
                ],
                "Answers",
                "answers",
                is_spoken=True,
            ),
            Section([on_page(_counts(views))], "Studies", "studies", is_spoken=True),
            *(_study(view, (links or {}).get(view.run.id, "")) for view in views),
        ],
    )


def _answer(given: StudyAnswer, words: Words) -> Words:
    run = given.view.run
    return join(Span(run.study.title, strong=True, link=f"#{run.id}"), ". ", words)


def _study(view: RunView, link: str) -> Section:
    run = view.run
    facts = [run.id, *run_sentences.circumstances(view), run_sentences.trials(view).rstrip(".")]
    to_report = Paragraph(join(Span("Its report, with charts", link=link)), "source")
    return Section(
        [
            Only(
                FILES,
                [
                    Circumstances(facts),
                    *([on_page(to_report)] if link else []),
                    claims_table.table(view, {}, f"{run.id}-", circumstances=False),
                    *claims_table.claims_not_asked(view),
                ],
            )
        ],
        run.study.title,
        run.id,
    )


def _counts(views: Sequence[RunView]) -> Table:
    """Return how often each study has each answer, and how many claims its scale does not ask."""
    counts = [Counter(verdict.answer for verdict in view.asked) for view in views]
    titles = [join(Span(view.run.study.title, link=f"#{view.run.id}")) for view in views]

    def column(heading: str, numbers: Sequence[int]) -> Column:
        cells: list[Words] = [str(number or "") for number in numbers]
        return Column(heading.capitalize(), cells, right=True)

    return Table(
        [
            Column("Study", titles),
            *(column(word.value, [each[word] for each in counts]) for word in VerdictWord),
            column(NOT_ASKED, [len(view.not_asked) for view in views]),
        ],
        style="plain studies",
    )


def _closing(views: Sequence[RunView]) -> list[RenderableType]:
    """Return why blocks were not run, how to ask the other claims, and how to open the greatest surprise."""
    first = next((each.view.run.id for each in findings.answers(views)), "")
    said = [
        server_names.of_all(views),
        left_sentences.blocks_not_run_of(views),
        _unasked(views).strip(),
        f"Why, with charts: crumple report {first} --open" if first else "",
    ]
    return [Text(claim_lines.on_one_line(line), style="dim") for line in said if line]


def _unasked(views: Sequence[RunView]) -> str:
    """Return how many claims were not asked and how to ask them; empty if all were asked."""
    said = left_sentences.claims_not_asked(views)
    return f" {said}: crumple run --all --scale full asks all." if said else ""


def summary(views: Sequence[RunView]) -> str:
    """Return how many claims have each answer: "52 claims of 5 studies: 20 supported, …"."""
    verdicts = [verdict for view in views for verdict in view.asked]
    parts = [_count(verdicts, word) for word in VerdictWord if any(v.answer is word for v in verdicts)]
    return (
        f"{len(verdicts)} claims of {_studies(views)}: {', '.join(parts) or 'none judged'}.{_unasked(views)}"
    )


def _count(verdicts: Sequence[Verdict], word: VerdictWord) -> str:
    """Return the number of one answer, as in "5 contradicted (2 in size only)"."""
    alike = [verdict for verdict in verdicts if verdict.answer is word]
    partly = sum(verdict.in_size_only for verdict in alike)
    return f"{len(alike)} {word.value}{f' ({partly} {IN_SIZE_ONLY})' if partly else ''}"


def _titles(views: Sequence[RunView]) -> str:
    scales = sorted({view.run.scale for view in views})
    return f"{_studies(views)} at scale {', '.join(scales)}"


def _studies(views: Sequence[RunView]) -> str:
    return numerals.count(len(views), "study", "studies")
