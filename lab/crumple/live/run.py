"""What the user sees while a run goes on: a bar with the time left, the trial that runs, the last results.

On a terminal it is redrawn in place, elsewhere it is a line per trial. Always on stderr; nothing is computed
here but the time left.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from crumple import contract
from crumple.drawing import numerals
from crumple.drawing.terminal import Terminal
from crumple.machine import turns
from crumple.record import unanswered
from crumple.run.pace import Pace
from crumple.run.run_file import RunFile
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.study import ScaleName, Study

LAST = 8


@dataclass(frozen=True)
class Later:
    """A run that follows in the same command, as far as its length is concerned."""

    study: Study
    scale: ScaleName
    trials: tuple[TrialIdentity, ...]


def result(stored: StoredTrial) -> tuple[str, str]:
    """How a trial ended in one short line, and the colour of it."""
    if stored.failure is not None:
        skipped = stored.failure.step == "setup"
        word = "skipped" if skipped else f"failed at {stored.failure.step}"
        return f"{word}: {stored.failure.message}", "yellow" if skipped else "red"
    record = stored.record
    assert record is not None
    per_s = record.outcomes.ok / record.measured_ns * 1e9 if record.measured_ns else 0.0
    mean_ns = record.histograms.response_time.mean_ns
    parts = [f"{per_s:>9,.0f} /s", f"{mean_ns / 1e6:7.2f} ms" if mean_ns is not None else "      – ms"]
    failed = record.outcomes.failed
    if failed:
        parts.append(f"{failed / record.scheduled:.1%} failed")
    if starved := unanswered.unanswered(record):
        parts.append(f"{starved.connections:,} of {starved.of:,} users unanswered")
    if stored.disturbance is not None and stored.disturbed:
        return "  ".join([*parts, f"disturbed: {stored.disturbance.why}"]), "yellow"
    if stored.problems:
        return "  ".join([*parts, f"not valid: {stored.problems[0]}"]), "yellow"
    if stored.warnings:
        parts.append(f"warning: {stored.warnings[0]}")
    return "  ".join(parts), "yellow" if starved or failed > 0.01 * record.scheduled else "green"


class LiveView:
    """A `run.Watcher` on a console. Use as a context. `to_do`: the trials of this run that are left.

    `pace` learns from each; `later`: the runs after this one, whose time is said too.
    """

    def __init__(
        self,
        run: RunFile,
        to_do: Sequence[TrialIdentity],
        console: Console | None = None,
        *,
        pace: Pace | None = None,
        later: Sequence[Later] = (),
    ) -> None:
        self._console = console or Terminal(stderr=True)
        self._run = run
        self._to_do = list(to_do)
        self._pace = pace or Pace()
        self._later = later
        self._total = len(run.plan.trials)
        self._began_s: float | None = None
        self._current: TrialIdentity | None = None
        self._has_waited = False
        self._last: deque[tuple[str, str, str]] = deque(maxlen=LAST)
        self._now = ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self._task = self._bar.add_task(run.id, total=self._total, completed=self._done, left=self._left())
        self._live = Live(
            console=self._console, refresh_per_second=8, transient=True, get_renderable=self._drawn
        )

    def __enter__(self) -> Self:
        if self._console.is_interactive:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_interactive:
            self._live.stop()

    def preparing(self, server: str) -> None:
        """Building."""
        self._now = f"building {server} (once; kept for the next runs)"
        if not self._console.is_interactive:
            self._console.print(self._now, highlight=False)

    def waiting(self) -> None:
        """Said once: from then on both take turns."""
        self._now = turns.WAITING
        if not self._has_waited:
            self._has_waited = True
            self._console.print(
                Text("another crumple measures on this machine: they take turns, trial by trial", "yellow")
            )

    def calibrating(self) -> None:
        """Seconds at most, and not worth a line."""
        self._now = "measuring the engine's own ceiling"

    def skipped(self, server: str, reason: str) -> None:
        """Said once, above the bar."""
        self._console.print(Text(f"{server} is skipped: {reason}", style="yellow"))

    def not_built(self, server: str, reason: str) -> None:
        """The same."""
        self._console.print(Text(f"{server} is not built, so its trials fail: {reason}", style="red"))

    def busy(self, why: str) -> None:
        """At once, above the bar."""
        self._console.print(Text(f"the machine is busy: {why}", style="yellow"), soft_wrap=True)

    def unfit(self, problem: str) -> None:
        """Likewise."""
        self._console.print(Text(f"this machine: {problem}", style="yellow"), soft_wrap=True)

    def again(self, trial: TrialIdentity) -> None:
        """Shown, until it begins."""
        self._now = f"{trial.id}  waiting until the machine is calm"

    def began(self, trial: TrialIdentity) -> None:
        """Its start takes until the engine's first line."""
        self._began_s = time.monotonic()
        self._current = trial
        if trial.attempt > 1:
            # It comes on top of the plan.
            self._to_do.append(trial)
            self._total += 1
            self._bar.update(self._task, total=self._total)
        self._now = f"{trial.id}  starting"

    def progress(self, trial: TrialIdentity, progress: contract.Progress) -> None:
        """Shown, not kept."""
        response = f"  p50 {progress.p50_ns / 1e6:.2f} ms" if progress.p50_ns is not None else ""
        failed = f"  {progress.failed:,} failed" if progress.failed else ""
        self._now = f"{trial.id}  {progress.phase}  {progress.throughput_per_s:,.0f} /s{response}{failed}"

    def ended(self, stored: StoredTrial) -> None:
        """One trial fewer."""
        self._to_do = [each for each in self._to_do if each.id != stored.trial.id]
        self._pace.ended(stored, None if self._began_s is None else time.monotonic() - self._began_s)
        self._began_s = None
        self._bar.update(self._task, completed=self._done, left=self._left())
        line, colour = result(stored)
        self._last.append((stored.trial.id, line, colour))
        tried = stored.failure is None or stored.failure.step not in ("setup", "build")
        if not self._console.is_interactive and tried:
            self._console.print(
                Text(f"{self._done:>3}/{self._total} {stored.trial.id:<38} {line}  ({self._left()})"),
                soft_wrap=True,
            )

    @property
    def _done(self) -> int:
        return self._total - len(self._to_do)

    def _left(self) -> str:
        """ "2:05 left", and where runs follow, "2:05 left, 40:10 with all that follow"."""
        left_s = self._pace.left_s(self._run.study, self._run.scale, self._to_do)
        if left_s is not None and self._began_s is not None and self._current is not None:
            now_s = self._pace.of(self._run.study, self._run.scale, self._current) or 0.0
            left_s -= min(now_s, time.monotonic() - self._began_s)
        later_s = [self._pace.left_s(each.study, each.scale, each.trials) for each in self._later]
        said = f"{numerals.clock(left_s)} left"
        if not later_s:
            return said
        known_s = [each for each in later_s if each is not None]
        whole = left_s is not None and len(known_s) == len(later_s)
        all_s = (left_s or 0.0) + sum(known_s) if whole else None
        return f"{said}, {numerals.clock(all_s)} with all that follow"

    def _drawn(self) -> Group:
        self._bar.update(self._task, left=self._left())
        results = Table.grid(padding=(0, 2))
        for trial_id, line, colour in self._last:
            results.add_row(trial_id, Text(line, style=colour, overflow="ellipsis", no_wrap=True))
        return Group(results, self._bar, Text(self._now, style="dim", no_wrap=True))
