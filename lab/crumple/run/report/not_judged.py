"""What runs could not judge, by cause: what happened to the trials, which claims wait, and what to type.

Pure: RunViews → groups of claims.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from crumple.drawing import numerals
from crumple.drawing.report_parts import Column, Fold, Note, Notes, Span, Table, Words, join
from crumple.run.report import run_sentences
from crumple.run.report.findings import why_untestable
from crumple.run.report.view import RunView, StartView
from crumple.stats.interval import SEVERAL
from crumple.study.claim import Claim
from crumple.verdict.case import servers_of
from crumple.verdict.effect import VerdictWord
from crumple.verdict.verdict import Verdict
from crumple.verdict.verdict_sentences import capital, enumerate_parts

# What may keep trials from counting. "few": other reasons, such as a figure that a trial does not have.
Cause = Literal["disturbed", "not run", "skipped", "failed", "not valid", "few"]
CAUSES: tuple[Cause, ...] = ("disturbed", "not run", "skipped", "failed", "not valid", "few")
# A claim is counted where the first of these happened to its trials.
_FIRST: tuple[Cause, ...] = ("skipped", "failed", "disturbed", "not valid", "not run")
# As many programs are named: the first ones used most of what others used.
PROGRAMS_MAX = 3
_PID = re.compile(r" \(pid \d+\)")


@dataclass(frozen=True)
class NotJudged:
    """Claims that wait for the same."""

    kind: Cause
    cause: str
    """A clause: "7 of 25 trials were disturbed by apt-get and bash"."""
    verdicts: tuple[Verdict, ...]
    runs: tuple[str, ...]
    """The ids of their runs."""

    @property
    def waiting(self) -> str:
        """Return "5 claims wait for that (IO-2b, IO-3, …)"."""
        number = len(self.verdicts)
        ids = enumerate_parts([verdict.claim_id for verdict in self.verdicts])
        return f"{numerals.count(number, 'claim')} {'waits' if number == 1 else 'wait'} for that ({ids})"

    @property
    def command(self) -> str:
        """Return what to type for them; empty: nothing helps."""
        return command([self])


def not_judged(views: Sequence[RunView]) -> list[NotJudged]:
    """Return the claims that were asked and could not be judged, by cause."""
    waiting: dict[Cause, list[tuple[RunView, Verdict]]] = {cause: [] for cause in CAUSES}
    for view in views:
        claims = {claim.id: claim for claim in view.run.study.claims}
        for verdict in view.asked:
            if verdict.answer is VerdictWord.NOT_TESTABLE:
                waiting[_cause(view, claims[verdict.claim_id])].append((view, verdict))
    return [_group(cause, views, own) for cause, own in waiting.items() if own]


def _group(cause: Cause, views: Sequence[RunView], own: Sequence[tuple[RunView, Verdict]]) -> NotJudged:
    verdicts = tuple(verdict for _, verdict in own)
    runs = tuple(dict.fromkeys(view.run.id for view, _ in own))
    return NotJudged(cause, _said(views, cause, verdicts), verdicts, runs)


def command(found: Sequence[NotJudged]) -> str:
    """Return the one command that runs again what is missing; empty: none would help."""
    helped = [each for each in found if each.kind in ("disturbed", "failed", "not run")]
    runs = dict.fromkeys(run for each in helped for run in each.runs)
    again = " --retry-failed" if any(each.kind != "not run" for each in helped) else ""
    return f"crumple run --resume {','.join(runs)}{again}" if runs else ""


def notes(found: Sequence[NotJudged], *, has_command: bool = True) -> Notes:
    """Return a warning for each cause, with the claims that wait and what to type."""
    rows = []
    for each in found:
        typed = each.command if has_command else ""
        how: list[Words | Span] = [": ", Span(typed, "command", form="code")] if typed else ["."]
        rows.append(Note("!", join(f"{each.cause}. {each.waiting}", *how), "doubtful"))
    return Notes(rows)


def rows(found: Sequence[NotJudged], prefix: str = "") -> Iterator[Fold]:
    """Yield the claims that wait, folded, each with what is missing. `prefix`: of their addresses."""
    verdicts = [verdict for each in found for verdict in each.verdicts]
    if verdicts:
        table = Table(
            [
                Column(
                    "Claim", [join(Span(each.claim_id, form="aside"), " ", each.text) for each in verdicts]
                ),
                Column("What is missing", [_missing(each) for each in verdicts]),
            ],
            style="plain",
            row_names=[f"{prefix}{each.claim_id}" for each in verdicts],
        )
        title = numerals.count(len(verdicts), "claim that waits", "claims that wait")
        yield Fold(f"{title}, and what each misses", [table])


def _missing(verdict: Verdict) -> str:
    """Return why a claim could not be judged, and where the article makes it."""
    return " ".join([run_sentences.reason(verdict), *run_sentences.conditions(verdict)])


def disturbed(starts: Iterable[StartView]) -> list[StartView]:
    """Return the trials from which others took more than they had left, in one figure at least."""
    return [start for start in starts if (found := start.trial.disturbance) and found.disturbed]


def programs(starts: Iterable[StartView]) -> str:
    """Return who disturbed most of these trials: "apt-get and bash", "other programs"."""
    names = [name for name, _ in Counter(name for start in starts for name in _names(start)).most_common()]
    return enumerate_parts(names[:PROGRAMS_MAX]) if names else "other programs"


def _names(start: StartView) -> Iterator[str]:
    found = start.trial.disturbance
    if found is None:
        return
    if (found.steal_share or 0.0) > (found.others_share or 0.0):
        yield "the hypervisor"
    yield from filter(None, _PID.sub("", found.by).split(" and "))


def _cause(view: RunView, claim: Claim) -> Cause:
    """Return what keeps the claim from being judged."""
    happened: set[Cause] = set()
    for experiment, servers in servers_of(claim).items():
        shown = next((each for each in view.experiments if each.name == experiment), None)
        for row in shown.servers if shown else ():
            if row.name in servers:
                happened |= {*_what_happened(row.starts)}
    return next((cause for cause in _FIRST if cause in happened), "few")


def _what_happened(starts: Sequence[StartView]) -> Iterator[Cause]:
    if len(starts) < SEVERAL:
        yield "not run"
    for start in starts:
        if start.trial.skipped:
            yield "skipped"
        elif start.figures is None:
            yield "failed"
        elif disturbed([start]):
            yield "disturbed"
        elif not start.counts:
            yield "not valid"


def _said(views: Sequence[RunView], cause: Cause, verdicts: Sequence[Verdict]) -> str:
    starts = [start for view in views for start in view.starts]
    of, left = len(starts), sum(view.left_out for view in views)
    if cause == "disturbed":
        found = disturbed(starts)
        return f"{len(found)} of {_were(of, 'disturbed')} by {programs(found)}"
    if cause == "failed":
        return f"{sum(len(view.failed) for view in views)} of {numerals.count(of, 'trial')} failed"
    if cause == "skipped":
        return f"{sum(len(view.skipped) for view in views)} of {_were(of, 'skipped')}"
    if cause == "not valid":
        return f"{sum(len(view.not_valid) for view in views)} of {_were(of, 'not valid')}"
    if cause == "not run" and left:
        return f"{left} of {_were(of + left, 'not run')}"
    reasons = dict.fromkeys(filter(None, map(why_untestable, verdicts)))
    return capital("; ".join(reasons)) or "Nothing was measured"


def _were(of: int, what: str) -> str:
    return f"{numerals.count(of, 'trial')} {'was' if of == 1 else 'were'} {what}"
