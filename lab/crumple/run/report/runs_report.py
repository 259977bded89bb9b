"""Several runs as a report: the answer to each study, surprises first, and all claims in one claims_table.

A terminal has a line for each claim that was judged; a page and Markdown also have what each rests on. Pure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crumple.drawing import numerals, report_text, terminal
from crumple.drawing.report_parts import (
    FILES,
    Answer,
    Circumstances,
    Items,
    Only,
    Paragraph,
    Part,
    Plot,
    Report,
    Section,
    Span,
    Tone,
    Words,
    join,
    on_page,
    on_terminal,
    phrase,
    sure,
    without_links,
)
from crumple.run.report import (
    claim_lines,
    claims_table,
    left_sentences,
    not_judged,
    run_sentences,
    server_names,
    study_answer,
)
from crumple.run.report.claims_table import JudgedClaim
from crumple.run.report.findings import findings
from crumple.run.report.forest import Forest
from crumple.run.report.run_report import WIDTH_MAX
from crumple.run.report.study_answer import MARKS
from crumple.run.report.view import RunView
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import DECIDED

# The fewest columns of the screen, on which a claim takes one line.
SCREEN_MIN = 80
TITLE = "What did the articles say, and what is so here?"


def text(views: Sequence[RunView], width: int | None = None, styled: bool | None = None) -> str:
    """Return one screen. `width`, `styled`: those of the terminal if None."""
    chosen = width or terminal.width(WIDTH_MAX, SCREEN_MIN)
    return report_text.text(report(views), chosen, styled)


def html(views: Sequence[RunView], links: Mapping[str, str]) -> str:
    """Return the page. `links`: run id → its report, relative to the page."""
    # Imported here because its templates take a tenth of a second, which only pages need.
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
    claims = {view.run.id: claims_table.judged(view) for view in views}
    drawn = claims_table.forest_of(each for own in claims.values() for each in own)
    return Report(
        verb="run",
        title=summary(views).rstrip("."),
        head=[
            on_terminal(
                Plot(lambda columns: claim_lines.lines(views, columns, has_legend=False)),
                not_judged.notes(not_judged.not_judged(views), has_command=False),
            ),
            Only(FILES, [Items([*_answers(views)])]),
            Only(FILES, [Paragraph(said, "note") for said in _left(views)]),
        ],
        sections=[
            *(
                Section(
                    [*_study(view, claims[view.run.id], drawn, (links or {}).get(view.run.id, ""))],
                    view.run.study.title,
                    view.run.id,
                )
                for view in views
            ),
            Section([on_terminal(*_closing(views))]),
        ],
        has_contents=True,
        answer=Answer(TITLE, [summary(views), *_greatest(views)], _sure(views)),
        circumstances=[_titles(views), *server_names.circumstances_of(views)],
    )


def _greatest(views: Sequence[RunView]) -> Iterator[Words]:
    """Yield the greatest surprise of all studies."""
    every = [each for view in views for each in findings(view)]
    found = [each for each in every if each.verdict.answer is VerdictWord.CONTRADICTED]
    if found:
        first = min(found, key=lambda each: each.rank)
        yield f"The greatest surprise: {first.sentence} ({first.claim.id})."


def _answers(views: Sequence[RunView]) -> Iterator[Words]:
    """Yield the answer to each study, surprises first."""
    for given in study_answer.answers(views):
        run = given.view.run
        said = [piece for words in given.of_question for piece in (" ", without_links(words))]
        yield join(Span(run.study.title, strong=True, link=f"#{run.id}"), ".", *said)


def _study(view: RunView, claims: Sequence[JudgedClaim], drawn: Forest, link: str) -> Iterator[Part]:
    """Yield the claims of a study: those that were judged, and folded those that were not."""
    run, found = view.run, not_judged.not_judged([view])
    facts = [run.id, *run_sentences.circumstances(view), run_sentences.trials(view).rstrip(".")]
    to_report = [Paragraph(join(Span("The whole report, with charts", link=link)))] if link else []
    table = [claims_table.table(claims, f"{run.id}-", drawn)] if claims else []
    waiting = [*not_judged.rows(found, f"{run.id}-"), *claims_table.claims_not_asked(view)]
    yield Only(FILES, [Circumstances(facts), on_page(*to_report), *table, *waiting])


def _closing(views: Sequence[RunView]) -> Iterator[Part]:
    """Yield the answers, why blocks were not run, how to ask other claims, and how to open a report."""
    yield Plot(lambda columns: claim_lines.answers(views))
    first = next((each.view.run.id for each in study_answer.answers(views)), "")
    why = [f"Why, with charts: crumple report {first} --open"] if first else []
    for said in (server_names.of_all(views), *_left(views), *why):
        yield Paragraph(phrase(claim_lines.on_one_line(said), "dim"))


def _left(views: Sequence[RunView]) -> Iterator[str]:
    yield from filter(None, (left_sentences.blocks_not_run_of(views), _unasked(views)))


def _sure(views: Sequence[RunView]) -> Words:
    """Return how sure all of it is: whether the machine was busy, and the one command for what is missing."""
    starts = [start for view in views for start in view.starts]
    counting = sum(start.counts for start in starts)
    busy = not_judged.disturbed(starts)
    planned = len(starts) + sum(view.left_out for view in views)
    said = [f"{counting} of {numerals.count(planned, 'trial')} count"]
    said += [f"{len(busy)} were disturbed by {not_judged.programs(busy)}"] if busy else []
    decided = all(verdict.answer in DECIDED for view in views for verdict in view.asked)
    word: tuple[str, Tone] = ("Sure", "good") if decided else ("Partly sure", "doubtful")
    if 2 * len(busy) > len(starts):
        word = ("The machine was busy", "bad")
    again = not_judged.command(not_judged.not_judged(views))
    missing = ["; for what is missing: ", Span(again, "command", form="code")]
    how = missing if again else [f". {run_sentences.LOOPBACK}"]
    return join(sure(*word, "; ".join(said)), *how)


def _unasked(views: Sequence[RunView]) -> str:
    """Return how many claims were not asked and how to ask them; empty if all were asked."""
    said = left_sentences.claims_not_asked(views)
    return f"{said}: crumple run --all --scale full asks all." if said else ""


# Among numbers, the word for claims of which it stands elsewhere what they wait for.
_COUNTED = {VerdictWord.NOT_TESTABLE.value: "not judged"}


def summary(views: Sequence[RunView]) -> str:
    """Return how many claims have each answer: "52 claims of 5 studies: ✗ 20 contradicted, …"."""
    verdicts = [verdict for view in views for verdict in view.asked]
    counts = Counter(map(run_sentences.answer, verdicts))
    parts = [
        f"{sign} {counts[word]} {_COUNTED.get(word, word)}"
        for word, (sign, _) in MARKS.items()
        if counts[word]
    ]
    of = f"{numerals.count(len(verdicts), 'claim')} of {_studies(views)}"
    return f"{of}: {', '.join(parts) or 'none judged'}."


def _titles(views: Sequence[RunView]) -> str:
    scales = sorted({view.run.scale for view in views})
    return f"{_studies(views)} at scale {', '.join(scales)}"


def _studies(views: Sequence[RunView]) -> str:
    return numerals.count(len(views), "study", "studies")
