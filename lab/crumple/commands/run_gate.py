"""What came of the conditions of `crumple run`, and what a CI platform gets of runs."""

from collections.abc import Sequence
from pathlib import Path

from crumple.commands import ci_platform, output
from crumple.gate import condition
from crumple.gate.condition import Condition, Outcome
from crumple.gate.job_report import JobReport, Remark
from crumple.run import run_conditions, run_file
from crumple.run.report import run_sentences, runs_report, study_answer
from crumple.run.report.view import RunView, view
from crumple.run.store import RunStore
from crumple.verdict.effect import VerdictWord


def judge(runs: Sequence[RunStore], fail_if: Sequence[Condition]) -> tuple[Outcome, ...]:
    """Return what came of each condition in all runs together, and keep it with each run."""
    outcomes = run_conditions.outcomes(fail_if, _views(runs)) if fail_if else ()
    for run in runs:
        stored = run_file.read(run)
        if stored.fail_if != outcomes:
            run_file.write(run, stored.model_copy(update={"fail_if": outcomes}))
    return outcomes


def code_after(
    runs: Sequence[RunStore], code: int, outcomes: tuple[Outcome, ...], junit: Path | None, *, as_json: bool
) -> int:
    """Show each condition's result, also to a CI platform, and return the exit code. `code`: of the runs."""
    if not outcomes and not ci_platform.is_wanted(junit):
        return code
    if as_json:
        # The document is that of a report, which any later call prints again.
        for each in outcomes:
            output.say(each.sentence)
    else:
        ci_platform.show(outcomes)
    ci_platform.report(junit, lambda: job_report(_views(runs), outcomes, code))
    return condition.code_of(outcomes, code)


def _views(runs: Sequence[RunStore]) -> list[RunView]:
    return [view(run_file.read(run), run.trials()) for run in runs]


def job_report(views: Sequence[RunView], outcomes: tuple[Outcome, ...], code: int) -> JobReport:
    """Return what a CI platform gets: each claim is a finding."""
    began = run_sentences.instant(views[0].run.began)
    return JobReport(
        verb="run",
        asked=", ".join(f"study {each.run.study.name}, scale {each.run.scale}" for each in views),
        headline="; ".join(study_answer.answer(each).said for each in views),
        screen=runs_report.text(views, ci_platform.COLUMNS, styled=False),
        outcomes=outcomes,
        remarks=tuple(
            Remark(
                f"{seen.run.study.name} {each.claim_id}: {each.text}",
                f"{run_sentences.answer(each)}: {each.sentence}",
                is_open=each.answer in (VerdictWord.UNDECIDED, VerdictWord.NOT_TESTABLE),
            )
            for seen in views
            for each in seen.asked
        ),
        problem=_problem(views) if code else "",
        began_unix_s=began.timestamp() if began else 0.0,
    )


def _problem(views: Sequence[RunView]) -> str:
    """Why the runs end with another code than 0."""
    numbers = {
        "failed": sum(len(each.failed) for each in views),
        "not valid": sum(len(each.not_valid) for each in views),
        "skipped": sum(len(each.skipped) for each in views),
    }
    said = ", ".join(f"{number} {what}" for what, number in numbers.items() if number)
    return f"trials that do not count: {said}"
