"""What the user sees while a run goes on: a bar with the time left, the trial that runs, the last results.

On a terminal it is redrawn in place, elsewhere it is a line per trial. Always on stderr; nothing is computed
here but the time left.
"""

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from crumple import contract
from crumple.run_file import RunFile
from crumple.store import StoredTrial, TrialIdentity

LAST = 8
LAB_S = 2.0


def left_s(took_s: Sequence[float], trials_left: int, expected_s: float | None) -> float | None:
    """Seconds until the run is over: by the trials finished, before the first by what is expected of one."""
    each_s = sum(took_s) / len(took_s) if took_s else expected_s
    return None if each_s is None else each_s * trials_left


def expected_s(run: RunFile) -> float | None:
    """What a trial should take by its scale; None where that depends on the server's speed."""
    phases = [
        phase
        for trial in run.plan.trials
        for scale in (run.study.experiments[trial.experiment].scales[run.scale],)
        for phase in (scale.warm_up_for(trial.server), scale.stop)
        if phase
    ]
    if any(phase.duration_s is None for phase in phases):
        return None
    return sum(phase.at_most_s for phase in phases) / len(run.plan.trials) + LAB_S


def clock(seconds: float | None) -> str:
    """ "2:05", or "?" where it is not known."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


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
    if stored.problems:
        return "  ".join([*parts, f"not valid: {stored.problems[0]}"]), "yellow"
    if stored.warnings:
        parts.append(f"warning: {stored.warnings[0]}")
    return "  ".join(parts), "yellow" if failed > 0.01 * record.scheduled else "green"


class LiveView:
    """A `run.Watcher` on a console. Use as a context; `total` and `left` count trials."""

    def __init__(self, run: RunFile, left: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._expected_s = expected_s(run)
        self._total = len(run.plan.trials)
        self._left = left
        self._took_s: list[float] = []
        self._began_s = 0.0
        self._last: deque[tuple[str, str, str]] = deque(maxlen=LAST)
        self._now = ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self._task = self._bar.add_task(run.id, total=self._total, completed=self._total - left, left="")
        self._live = Live(
            console=self._console, refresh_per_second=8, transient=True, get_renderable=self._drawn
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def preparing(self, server: str) -> None:
        """Building."""
        self._now = f"building {server} (once; kept for the next runs)"
        if not self._console.is_terminal:
            self._console.print(self._now, highlight=False)

    def calibrating(self) -> None:
        """Seconds at most, and not worth a line."""
        self._now = "measuring the engine's own ceiling"

    def skipped(self, server: str, reason: str) -> None:
        """Said once, above the bar."""
        self._console.print(Text(f"{server} is skipped: {reason}", style="yellow"))

    def began(self, trial: TrialIdentity) -> None:
        """Its start takes until the engine's first line."""
        self._began_s = time.monotonic()
        self._now = f"{trial.id}  starting"

    def progress(self, trial: TrialIdentity, progress: contract.Progress) -> None:
        """Shown, not kept."""
        response = f"  p50 {progress.p50_ns / 1e6:.2f} ms" if progress.p50_ns is not None else ""
        failed = f"  {progress.failed:,} failed" if progress.failed else ""
        self._now = f"{trial.id}  {progress.phase}  {progress.throughput_per_s:,.0f} /s{response}{failed}"

    def ended(self, stored: StoredTrial) -> None:
        """One trial fewer."""
        self._left -= 1
        tried = stored.failure is None or stored.failure.step not in ("setup", "build")
        if tried:
            self._took_s.append(time.monotonic() - self._began_s)
        left = clock(left_s(self._took_s, self._left, self._expected_s))
        self._bar.update(self._task, advance=1, left=f"{left} left")
        line, colour = result(stored)
        self._last.append((stored.trial.id, line, colour))
        if not self._console.is_terminal and tried:
            done = self._total - self._left
            self._console.print(
                Text(f"{done:>3}/{self._total} {stored.trial.id:<38} {line}  ({left} left)"), soft_wrap=True
            )

    def _drawn(self) -> Group:
        results = Table.grid(padding=(0, 2))
        for trial_id, line, colour in self._last:
            results.add_row(trial_id, Text(line, style=colour, overflow="ellipsis", no_wrap=True))
        return Group(results, self._bar, Text(self._now, style="dim", no_wrap=True))
