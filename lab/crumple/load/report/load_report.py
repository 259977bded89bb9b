"""One load as a report: its document → what the terminal, a page and Markdown show. Pure.

Figures come from `load_document`, words from `load_sentences`.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from crumple.documents import result
from crumple.drawing import numerals
from crumple.drawing.chart import Chart
from crumple.drawing.report_parts import (
    Charts,
    Circumstances,
    Code,
    Column,
    Facts,
    Fold,
    Note,
    Notes,
    Paragraph,
    Part,
    Plot,
    Report,
    Section,
    Span,
    Table,
    Tone,
    Words,
    again,
    join,
    on_page,
    on_terminal,
    phrase,
)
from crumple.drawing.terminal import shown
from crumple.gate.condition import GLYPHS, TONES, for_page
from crumple.load.report import by_load_host, load_answer, load_charts, load_plot
from crumple.load.report import load_sentences as say
from crumple.load.report.load_document import LoadDocument
from crumple.load.report.load_figures import QUANTILES, Spread
from crumple.record.stages import Budget
from crumple.words import answer_sentences as answers

# Which columns of a table are left out first if there is no room.
_TIMES_LEFT_OUT = ("p75", "p90", "p99.9")
_STEPS_LEFT_OUT = ("from", "p90", "max", "due")
# The fewest columns of a screen on which a row also says which span its time measures; a narrower one has no
# room for it.
_EXPLAINED = 96
_ROWS_OPEN = ("response_time", "service_time", "lateness")
_ROWS_CLOSED = ("response_time",)
_ROWS_FAILED = ("failed", "timed_out")
# The quantiles in the row of each step of a load.
_STEP_QUANTILES = (0.5, 0.9, 0.99)
# The quantiles in the row of each request of a load.
_REQUEST_QUANTILES = (0.5, 0.99)
# A screen has a line for each of the six most frequent unexpected answers; the page and the JSON have all.
UNEXPECTED_MAX = 6
# Of the figures those about the method, which a page folds with how it was measured; and the budget by
# stages, which its picture shows.
_FOLDED = ("time", "connections", "answers", "engine")
# The times of an open load that a page folds: its response time has both.
_FOLDED_TIMES = ("service_time", "lateness")
ALL_HEADS = ("mean", *(say.quantile(q) for q in QUANTILES), "max")
OF_REQUESTS = "Response times of the ok answers to each. Shares are of the requests that were sent."
OF_STEPS = (
    "Response times of the answers that came in a step, merged from the histograms of its whole seconds."
)
OF_ENDS = (
    "Shares are of all that were scheduled, in flight or not; the failed share above is of those that ended."
)


def report(load: LoadDocument) -> Report:
    """Return the load as a report."""
    by_time = isinstance(load.stages, Budget) and not load.steps
    first = load_charts.TIME_BY_STAGES if by_time else load_charts.RESPONSE_TIME
    answer = load_answer.of(load, _charts(load, first))
    return Report(
        verb="load",
        title=f"{load.headline} – {load.asked}",
        head=[
            on_terminal(
                Paragraph(say.shape(load.record.spec, load)),
                Circumstances(say.circumstances(load.record)),
                Notes([*notes(load)]),
            ),
            on_page(*_doubts(load)),
        ],
        sections=[
            Section(
                [on_terminal(*_times(load)), on_page(*_all_times(load))], heading="Figures", name="times"
            ),
            Section([Plot(partial(load_plot.plot, load))]),
            _facts(load, load_answer.names(load)),
            _requests(load),
            by_load_host.section(load),
            _over_time(load, *([load_charts.RESPONSE_TIME] if by_time else [])),
            _steps(load),
            _more(load),
            again(load.command),
        ],
        engine_version=load.engine_version,
        has_contents=True,
        answer=result.located(answer, load),
        circumstances=load.circumstances,
    )


def _charts(load: LoadDocument, *charts: Chart[LoadDocument]) -> Charts:
    return Charts([chart.of(load) for chart in charts])


def notes(load: LoadDocument, unexpected_max: int = UNEXPECTED_MAX, *, brief: bool = False) -> Iterator[Note]:
    """Yield what makes it doubtful, and what failed. `brief`: nothing of what changes no figure."""
    is_valid, losses = load.validity.word == "valid", say.losses(load)
    tone: Tone = "bad" if load.is_lossy else "doubtful"
    unexpected = answers.lines(load.unexpected_ends, unexpected_max)
    verdict = phrase(say.validity(load), "good" if is_valid else "bad", strong=not is_valid)
    if losses:
        verdict = join(verdict, Span(f", {losses}", tone, strong=True))
    if len(unexpected) == 1:
        verdict = join(verdict, Span(f": {unexpected.pop()}", tone))
    if losses or not is_valid:
        yield Note("✓" if is_valid else "✗", verdict, "good" if is_valid else "bad")
    yield from (Note("", problem, "bad") for problem in load.validity.problems)
    yield from (Note("", line, tone) for line in unexpected)
    if not brief:
        yield from (Note("!", warning, "doubtful") for warning in say.warnings(load))
    yield from (Note(GLYPHS[each.state], each.sentence, TONES[each.state]) for each in load.fail_if)


def _doubts(load: LoadDocument) -> Iterator[Part]:
    """Yield for a page what makes it doubtful, with request and answer of each unexpected end."""
    yield for_page(load.fail_if)
    for end in load.unexpected_ends:
        came = answers.came_lines(end.first) if end.first else []
        sent = [Code(answers.sent_lines(end.first), "sent")] if end.first else []
        line = answers.line(end)
        yield (
            Fold(line, [*sent, *([Code(came)] if came else [])], style="exchange")
            if sent
            else Paragraph(line)
        )
    yield from (Paragraph(warning, "caution") for warning in say.warnings(load))


def _times(load: LoadDocument) -> Iterator[Part]:
    """Yield the times that a terminal shows: a row for each kind, with those quantiles that are known."""
    if not load.has_times:
        return
    spreads = {name: load.times[name] for name in _rows(load) if name in load.times}
    cells = [
        [*say.quantiles(spread, QUANTILES), numerals.duration(spread.max_ns)] for spread in spreads.values()
    ]
    columns = [
        Column("", [say.SPREADS[name][0] for name in spreads], whole=True),
        *(
            Column(head, [row[at] for row in cells], right=True, whole=True, at_least=7)
            for at, head in enumerate(ALL_HEADS[1:])
        ),
        Column(
            "", [phrase(say.SPREADS[name][1], "dim") for name in spreads], whole=True, wide_from=_EXPLAINED
        ),
    ]
    yield Table(columns, left_out_first=_TIMES_LEFT_OUT)
    if any(len(spread.quantile_ns) < len(QUANTILES) for spread in spreads.values()):
        yield Paragraph(phrase(say.TOO_FEW, "dim"))


def _rows(load: LoadDocument) -> tuple[str, ...]:
    """Which times to show; if no answer was ok, there are only the times of the failures."""
    failed = tuple(name for name in _ROWS_FAILED if load.times[name].count)
    if failed and not load.outcomes.ok:
        return failed
    return _ROWS_OPEN if load.record.spec.shape.kind == "open" else _ROWS_CLOSED


def _all_times(load: LoadDocument) -> Iterator[Part]:
    """Yield the times that a page shows: those of a terminal, and folded everything that was counted."""
    counted = [name for name in say.SPREADS if name in load.times and load.times[name].count]
    first = [name for name in counted if name in _rows(load) and name not in _FOLDED_TIMES]
    yield _table_of(load, first)
    if others := [name for name in counted if name not in first]:
        explained = f"{say.OPEN} " if load.record.spec.shape.kind == "open" else ""
        note = f"{explained}A quantile q is shown where there are 10/(1−q) samples or more."
        yield Fold("Other times", [_table_of(load, others), Paragraph(note, "note")])


def _table_of(load: LoadDocument, names: Sequence[str]) -> Table:
    said, spreads = [say.SPREADS[name] for name in names], [load.times[name] for name in names]
    return _page_table(
        "Time",
        [_below(name[:1].upper() + name[1:], about) for name, about in said],
        ["count"],
        [[f"{spread.count:,}"] for spread in spreads],
        spreads,
    )


def _page_table(
    first: str,
    names: Sequence[Words],
    heads: Sequence[str],
    cells: Sequence[Sequence[Words]],
    times: Sequence[Spread],
) -> Table:
    """Return a table with a row for each name: its cells, then its times."""
    rows = [
        (
            *row,
            numerals.duration(spread.mean_ns),
            *say.quantiles(spread, QUANTILES),
            numerals.duration(spread.max_ns),
        )
        for row, spread in zip(cells, times, strict=True)
    ]
    columns = (
        Column(head, [row[at] for row in rows], right=True) for at, head in enumerate((*heads, *ALL_HEADS))
    )
    return Table([Column(first, names), *columns])


def _below(name: str, about: str) -> Words:
    return join(name, Span(about, form="below")) if about else name


def _facts(load: LoadDocument, said: Collection[str]) -> Section:
    """Return the other figures. `said`: the names of those that the answer says."""
    facts = [row for row in say.facts(load) if row[0] not in said]
    first = [row for row in facts if row[0] not in _FOLDED]
    parts = [on_terminal(Facts([("requests", say.requests(load.record)), *facts])), on_page(Facts(first))]
    return Section(parts, name="facts")


def _requests(load: LoadDocument) -> Section:
    """Return a row for each of several requests."""
    if len(load.requests) < 2:
        return Section([])
    names = [shown(each.name) for each in load.requests]
    shares, ok = (
        [numerals.share(each.share) for each in load.requests],
        [f"{each.outcomes.ok:,}" for each in load.requests],
    )
    ends = [say.failed(each, load.unexpected_ends_of(at)) for at, each in enumerate(load.requests)]
    failed = [phrase(said, "bad", strong=True) if "(" in said else said for said in ends]
    times = [each.response_time for each in load.requests]
    cells = [say.quantiles(spread, _REQUEST_QUANTILES) for spread in times]
    columns = [
        Column("request", names),
        Column("share", shares, right=True, whole=True),
        Column("ok", ok, right=True, whole=True),
        *(
            Column(say.quantile(q), [row[at] for row in cells], right=True, whole=True)
            for at, q in enumerate(_REQUEST_QUANTILES)
        ),
        Column("failed", failed),
    ]
    asked = [shown(f"{each.method} {each.path}") for each in load.record.spec.requests]
    labels = [_below(name, "" if name == what else what) for name, what in zip(names, asked, strict=True)]
    page = _page_table(
        "Request", labels, ["share", "ok", "failed"], [*zip(shares, ok, ends, strict=True)], times
    )
    return Section(
        [on_terminal(Table(columns, stacks=True)), on_page(page, Paragraph(OF_REQUESTS, "note"))],
        heading="By request",
        name="kinds",
    )


def _steps(load: LoadDocument) -> Section:
    """Return a row for each step of an open schedule that has several."""
    if not load.steps:
        return Section([])
    names = [say.rate(step.rate) for step in load.steps]
    begins = [say.seconds(step.from_s) for step in load.steps]
    counts = [
        (numerals.rate(step.due_per_s), numerals.rate(step.throughput_per_s), f"{step.failed:,}")
        for step in load.steps
    ]
    times = [step.response_time for step in load.steps]
    rows = [
        (begin, due, ok, *say.quantiles(spread, _STEP_QUANTILES), numerals.duration(spread.max_ns))
        for begin, (due, ok, _), spread in zip(begins, counts, times, strict=True)
    ]
    heads = ("from", "due", "ok", *(say.quantile(q) for q in _STEP_QUANTILES), "max")
    failed = [phrase(f"{step.failed:,}", "bad", strong=True) if step.failed else "0" for step in load.steps]
    columns = [
        Column("step", names, whole=True),
        *(Column(head, [row[at] for row in rows], right=True, whole=True) for at, head in enumerate(heads)),
        Column("failed", failed, right=True, whole=True),
    ]
    labels = [
        _below(name[:1].upper() + name[1:], f"from {begin}")
        for name, begin in zip(names, begins, strict=True)
    ]
    page = _page_table("Rate", labels, ["due", "ok", "failed"], counts, times)
    return Section(
        [
            on_terminal(Table(columns, left_out_first=_STEPS_LEFT_OUT)),
            on_page(page, Paragraph(OF_STEPS, "note")),
        ],
        heading="Steps",
        name="steps",
    )


def _over_time(load: LoadDocument, *charts: Chart[LoadDocument]) -> Section:
    """Return charts over time; that of requests is among them where the server does not keep up."""
    shown = [*charts, *([load_charts.REQUESTS] if _falls_behind(load) else [])]
    parts = [_charts(load, *shown)] if shown else []
    return Section(parts, heading="Over time", name="charts", is_spoken=True)


def _falls_behind(load: LoadDocument) -> bool:
    return load.overload is not None or load.lost is not None


def _more(load: LoadDocument) -> Section:
    """Return for a page what few readers need, folded: the method, how every request ended, charts."""
    ends = [
        (name, f"{number:,} {numerals.share(number / load.scheduled)}")
        for name, number in load.outcomes.as_dict().items()
        if number and name != "ok"
    ]
    how = [
        ("load", say.shape(load.record.spec, load)),
        ("length", say.circumstances(load.record)[0]),
        ("seed", str(load.record.spec.seed)),
        *(row for row in say.facts(load) if row[0] in _FOLDED),
    ]
    local = [Paragraph(say.LOOPBACK, "note")] if say.local(load.record.spec) else []
    every: list[Part] = [Paragraph(say.requests(load.record)), Paragraph(OF_ENDS, "note"), Facts(ends)]
    budget = [load_charts.TIME_BY_STAGES] if load.steps else []
    charts = [*budget, *([] if _falls_behind(load) else [load_charts.REQUESTS]), *load_charts.OTHERS]
    others = [each for each in charts if each.draw(load) is not None]
    parts = [
        Fold("How it was measured", [Facts(how), *local]),
        Fold("Every request, once", every),
        *([Fold(f"Charts: {_titles(others)}", [_charts(load, *others)])] if others else []),
    ]
    return Section([on_page(*parts)], heading="More", name="more")


def _titles(charts: Sequence[Chart[LoadDocument]]) -> str:
    return ", ".join(each.title if each.title.isupper() else each.title.lower() for each in charts)
