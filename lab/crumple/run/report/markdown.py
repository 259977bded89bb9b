"""The report in Markdown, with the tables and sentences of the page and links to the chart files beside it.

Pure: RunView → str. `run_charts.write` writes the files, in the folder CHARTS.
"""

from collections.abc import Iterable, Iterator, Sequence

from crumple.drawing.page import as_markdown, unbroken
from crumple.run.report import left_sentences, run_charts, run_sentences, run_tables, why, why_sentences
from crumple.run.report.findings import StudyAnswer, answer
from crumple.run.report.run_tables import ClaimRow
from crumple.run.report.server_names import circumstances
from crumple.run.report.view import ExperimentView, RunView, Start
from crumple.run.report.why import Limits
from crumple.verdict.verdict import Verdict

CHARTS = "charts"


def markdown(view: RunView) -> str:
    """Return the whole report."""
    sections = [
        *_opening(view),
        *_claims(view),
        run_sentences.reading(view),
        *(part for experiment in view.experiments for part in _experiment(experiment)),
        *_unsound(view),
        *_prose(view),
        *_machine(view),
        *_trials(view),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _opening(view: RunView) -> Iterator[str]:
    study = view.run.study
    yield f"# {_text(study.title)}"
    yield _text(study.question)
    if study.article:
        yield f"Re-checks {_text(run_sentences.article(view))}."
    given = answer(view)
    if given.badge:
        yield _answer(given)
    yield _circumstances(view)


def _answer(given: StudyAnswer) -> str:
    return f"{f'**{given.badge.capitalize()}**: ' if given.badge else ''}{_text(given.sentence)}"


def _circumstances(view: RunView) -> str:
    return f"`{view.run.id}`: {', '.join(run_sentences.circumstances(view))}. {run_sentences.trials(view)}"


def overview(views: Sequence[RunView], answers: Sequence[StudyAnswer], summary: str) -> str:
    """Return the answers, then a line with the reason for every claim of several runs.

    `summary`: how many claims have each answer.
    """
    given = "\n".join(f"- {_text(each.view.run.study.title)}. {_answer(each)}" for each in answers)
    head = "# What the articles said, and what is so here"
    parts = [head, given, _text(summary), f"_{run_sentences.LOOPBACK}_"]
    for view in views:
        parts += [f"## {_text(view.run.study.title)}", _circumstances(view)]
        rows = [(*_claim_row(claim), _why(claim)) for claim in run_tables.claims(view)]
        parts += [_table((*_CLAIM_HEADS, "Why"), rows)] if rows else []
        parts += _not_asked(view)
    return "\n\n".join(parts) + "\n"


def _why(claim: ClaimRow) -> str:
    reasons = "; ".join(dict.fromkeys(effect.reason for effect in claim.shown if effect.reason))
    if not reasons:
        return _text(run_sentences.reason(claim.verdict))
    return _text(f"{reasons}. {claim.verdict.doubt}" if claim.verdict.doubt else reasons)


_CLAIM_HEADS = ("Claim", "", "Verdict", "Published", "Measured [95 % interval]")


def _claim_row(claim: ClaimRow) -> tuple[str, ...]:
    return (
        claim.verdict.claim_id,
        _text(claim.verdict.text),
        f"**{claim.answer}**",
        "<br>".join(effect.published for effect in claim.shown) or "–",
        "<br>".join(f"{effect.measured} {effect.label}" for effect in claim.shown) or "–",
    )


def _not_asked(view: RunView) -> Iterator[str]:
    """Yield the claims that only other scales ask, folded if the reader's program can fold."""
    rows = run_tables.not_asked(view)
    if rows:
        lines = (f"- {row.claim_id}: {_text(row.text)}{f' ({row.why})' if row.why else ''}" for row in rows)
        yield _folded(left_sentences.not_asked([view]), lines)


def _claims(view: RunView) -> Iterator[str]:
    yield "## Claims"
    yield run_sentences.summary(view)
    if view.asked:
        yield _table(_CLAIM_HEADS, [_claim_row(claim) for claim in run_tables.claims(view)])
        limits = why.of_claims(view)
        yield "\n".join(f"- **{v.claim_id}** {_text(_said(view, v, limits))}" for v in view.asked)
    yield _text(left_sentences.undecided(view))
    yield from _not_asked(view)
    yield _text(left_sentences.stopped(view))
    yield run_sentences.twins(view)
    yield f"_{run_sentences.LOOPBACK}_"
    if any(effect.published and effect.ratio for v in view.asked for effect in v.effects):
        yield _image(run_charts.EFFECTS.title, run_charts.EFFECTS.name)
        yield run_charts.EFFECTS.caption


def _said(view: RunView, verdict: Verdict, limits: Limits) -> str:
    limited = why_sentences.of_claim(limits.get(verdict.claim_id, ()))
    said = (verdict.sentence, circumstances(view, verdict), *run_sentences.conditions(verdict), limited)
    return " ".join(filter(None, said))


def _prose(view: RunView) -> Iterator[str]:
    prose = view.run.study.prose
    if prose.did:
        yield "## What the article did"
        yield as_markdown(prose.did)
    if prose.differs:
        yield "## What differs here"
        yield as_markdown(prose.differs)


def _experiment(shown: ExperimentView) -> Iterator[str]:
    yield f"## {_text(shown.experiment.title)}"
    yield as_markdown(shown.experiment.about)
    yield f"Experiment `{shown.name}`: {run_sentences.setup(shown)}."
    heads = ("Server", "I/O model", "Throughput /s", "p50", "p99", "p99.9", "CPU per request", "Memory")
    rows = [
        (
            f"{_text(row.server.note.title)} `{row.server.name}`",
            run_sentences.io_model(row.server.note),
            *(str(cell) for cell in (row.throughput, row.p50, row.p99, row.p999, row.cpu, row.memory)),
            f"**{row.failed}**" if row.server.lossy else row.failed,
            row.starts,
        )
        for row in run_tables.servers(shown)
    ]
    yield _table((*heads, "Failed", "Starts"), rows)
    for row in shown.rows:
        if said := run_sentences.unanswered(row):
            yield f"**`{row.name}`: {said}; {run_sentences.OF_THE_OTHERS}.**"
    if any(start.figures for start in shown.starts):
        for kind in (kind for kind in run_charts.KINDS if kind.where(shown)):
            yield f"### {kind.title}"
            yield _image(f"{kind.title}, {shown.name}", kind.file_stem(shown))
            yield kind.caption
    if limited := why_sentences.rows(shown):
        yield "### What limits them"
        yield why_sentences.ABOUT
        rows = [(f"`{name}`", _text(limit), _text(time)) for name, limit, time in limited]
        yield _table(("Server", "Limited by", "Mean response time"), rows)
    yield "### Noise"
    yield run_sentences.noise(shown)
    yield run_sentences.visible(shown)
    yield "### Every request, once"
    yield f"`{run_sentences.identity(shown)}`"


def _unsound(view: RunView) -> Iterator[str]:
    unsound, skipped = [*view.failed, *view.not_valid], run_sentences.skips(view)
    if unsound or skipped:
        yield "## Trials that do not count"
        yield "\n".join(f"- {_text(line)}." for line in skipped)
        yield from (_unsound_one(start) for start in unsound)


def _unsound_one(start: Start) -> str:
    said = f"`{start.trial.trial.id}` {_text(run_sentences.remark(start))}."
    tail = start.trial.failure.output_tail if start.trial.failure else ()
    if not tail:
        return said
    longest = max((len(run) for line in tail for run in line.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([said, "", f"{fence}text", *tail, fence])


def _machine(view: RunView) -> Iterator[str]:
    yield "## Machine"
    yield _table(("Fact", ""), [(name, _text(value)) for name, value in run_tables.machine(view)])
    yield "## Servers"
    yield _table(
        ("Server", "Versions", "Settings"), [[*map(_text, row)] for row in run_tables.versions(view)]
    )
    run = view.run
    yield f"crumple {run.lab_version}, engine {run.engine_version}."


def _trials(view: RunView) -> Iterator[str]:
    yield "## All trials"
    rows = [
        (
            row.id,
            row.throughput,
            row.p50,
            row.p99,
            row.failed,
            row.others,
            row.steal,
            _text(row.remark or ""),
            f"`{row.command}`",
        )
        for row in run_tables.trials(view)
    ]
    heads = ("Trial", "Throughput /s", "p50", "p99", "Failed", "Others", "Steal", "Remark", "Repeat with")
    yield _folded(f"{len(rows)} trials, each with the command that repeats it", [_table(heads, rows)])


def _folded(summary: str, lines: Iterable[str]) -> str:
    return "\n".join([f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"])


def _image(title: str, stem: str) -> str:
    return f"![{title}]({CHARTS}/{stem}.png)"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _text(text: str) -> str:
    text = unbroken(text)
    # Text from studies and servers must not act as markup.
    for mark in ("\\", "`", "*", "_", "<", "["):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
