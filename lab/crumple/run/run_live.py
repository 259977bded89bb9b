"""Show runs in progress on stderr: a bar with the time left, the current trial, the last results.

On a terminal the view is redrawn in place. Elsewhere it is one line per trial. Nothing is computed here.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Collection

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from crumple import contract
from crumple.drawing import numerals
from crumple.drawing.redrawn import Redrawn
from crumple.drawing.terminal import Terminal
from crumple.machine import alone
from crumple.record import failures
from crumple.run.blocks import Begun
from crumple.run.run_plan import Block
from crumple.run.session import SessionOutlook
from crumple.run.store import StoredTrial, TrialIdentity
from crumple.study.study import Study

# The view shows the results of the last eight trials, so that it takes no more than half a terminal.
LAST = 8
# Where a warning's first clause ends. Its limit, reason and remedy follow.
_GOES_ON = re.compile(r" \(limit|[:;] ")
_OF_THE_CANARY = "canary: "


def in_short(warning: str) -> str:
    """Return the warning's first clause, which has the figure: "a thread of the engine waited … 12% …"."""
    goes_on = _GOES_ON.search(warning, len(_OF_THE_CANARY) if warning.startswith(_OF_THE_CANARY) else 0)
    return f"{warning[: goes_on.start()]}…" if goes_on else warning


def kind(warning: str) -> str:
    """Return the warning's first clause without its figures, which all warnings of that kind share."""
    return re.sub(r"\d[\d.,]*", "0", in_short(warning))


def result(stored: StoredTrial, said: Collection[str] = ()) -> tuple[str, str]:
    """Return the result of a trial in one short line, and the line's colour.

    `said`: the kinds of warnings that were shown in full before; of these only the first clause is shown.
    """
    if stored.failure is not None:
        word = "skipped" if stored.skipped else f"failed at {stored.failure.step}"
        return f"{word}: {stored.failure.message}", "yellow" if stored.skipped else "red"
    record = stored.record
    assert record is not None
    per_s = record.outcomes.ok / record.measured_ns * 1e9 if record.measured_ns else 0.0
    mean = numerals.duration(record.histograms.response_time.mean_ns).replace(numerals.NARROW, " ")
    parts = [f"{per_s:>9,.0f} /s", f"mean {mean:>7}"]
    failed = record.outcomes.failed
    if failed:
        parts.append(f"{failed / record.scheduled:.1%} failed")
    if starved := failures.silent_connections(record):
        parts.append(f"{starved.connections:,} of {starved.of:,} users unanswered")
    if stored.problems:
        return "  ".join([*parts, f"not valid: {stored.problems[0]}"]), "yellow"
    if stored.warnings:
        first = stored.warnings[0]
        parts.append(f"warning: {in_short(first) if kind(first) in said else first}")
    marked = (failures.share(record.outcomes) or 0.0) > failures.SHARE_MAX
    return "  ".join(parts), "yellow" if starved or marked else "green"


class LiveView(Redrawn):
    """A `blocks.Watcher` that draws on a console. Use it as a context.

    `outlook`: the session's progress. `answer`: the answer of a run whose claims can be judged; None: none is
    shown before the session ends.
    """

    def __init__(
        self,
        name: str,
        outlook: Callable[[], SessionOutlook],
        console: Console | None = None,
        answer: Callable[[Begun], Text] | None = None,
    ) -> None:
        super().__init__(console or Terminal(stderr=True), self._drawn, per_second=8)
        self._outlook = outlook
        self._answer = answer
        # Of the last block.
        self._study = self._why = ""
        # By how many trials the total has grown, for a reason, since a line said so.
        self._unsaid = 0
        self._of = 0
        self._has_waited = False
        self._last: deque[tuple[str, str, str]] = deque(maxlen=LAST)
        self._said: set[str] = set()
        self._now = ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        self._task = self._bar.add_task(name, total=None, left="")

    def preparing(self, server: str) -> None:
        """Show which server is being built."""
        self._now = f"building {server} (once; kept for the next runs)"
        if not self._console.is_interactive:
            self._console.print(self._now, highlight=False)

    def waiting(self) -> None:
        """Show that this crumple waits for its turn; the first time also print a line that stays."""
        self._now = alone.WAITING
        if not self._has_waited:
            self._has_waited = True
            self._console.print(
                Text("another crumple measures on this machine: they take turns, trial by trial", "yellow")
            )

    def calibrating(self) -> None:
        """Show it in the bar only, because it takes a few seconds at most."""
        self._now = "measuring the engine's own ceiling"

    def skipped(self, server: str, reason: str) -> None:
        """Print the reason above the bar, where it stays."""
        self._console.print(Text(f"{server} is skipped: {reason}", style="yellow"))

    def not_built(self, server: str, reason: str) -> None:
        """Print the reason above the bar, where it stays."""
        self._console.print(Text(f"{server} could not be built, so its trials fail: {reason}", style="red"))

    def unfit(self, problem: str) -> None:
        """Print the problem above the bar, where it stays."""
        self._stays(Text(f"this machine: {problem}", style="yellow"))

    def over(self, run: Begun) -> None:
        """Print the answer of the run above the bar, where it stays."""
        if self._answer is not None:
            self._stays(self._answer(run))

    def block(self, study: Study, block: Block, why: str) -> None:
        """Show the block. Print a line that stays if the total of trials has grown by it.

        Off a terminal also print one if the study changed or there is a reason. Of blocks that follow one
        another for the same reason the first has a line.
        """
        more, of = self._more(), self._outlook().of
        self._unsaid = self._unsaid + more if why else 0
        self._now = f"{study.name}: {_where(study, block)}"
        grown = f"; {numerals.count(self._unsaid, 'more trial')}, {of} in all" if self._unsaid else ""
        is_new = study.name != self._study or (why and why != self._why)
        if is_new and (grown or not self._console.is_interactive):
            because = f"{',' * (study.map is not None)} {why}" if why else ""
            self._stays(Text(f"{self._now}{because}{grown}"))
            self._unsaid = 0
        self._study, self._why = study.name, why

    def _stays(self, line: Text) -> None:
        """Print a line above the bar. A terminal breaks it between words; elsewhere it is one line."""
        self._console.print(line, soft_wrap=not self._console.is_interactive)

    def _more(self) -> int:
        """Return by how many trials the total has grown since the last call."""
        before, self._of = self._of, self._outlook().of
        return max(0, self._of - before) if before else 0

    def began(self, trial: TrialIdentity) -> None:
        """Show that the server starts, until the engine reports its first progress."""
        self._now = f"{trial.id}  starting"

    def slice(self, trial: TrialIdentity, number: int, of: int) -> None:
        """Show the slice, which is too short for the engine to report progress."""
        self._now = f"{trial.id}  slice {number} of {of}"

    def progress(self, trial: TrialIdentity, progress: contract.ProgressLine) -> None:
        """Show the engine's progress in the bar."""
        response = f"  p50 {progress.p50_ns / 1e6:.2f} ms" if progress.p50_ns is not None else ""
        failed = f"  {progress.failed:,} failed" if progress.failed else ""
        self._now = f"{trial.id}  {progress.phase}  {progress.throughput_per_s:,.0f} /s{response}{failed}"

    def ended(self, stored: StoredTrial) -> None:
        """Show the trial's result. Off a terminal print a line, unless the trial was never started."""
        line, colour = result(stored, self._said)
        self._said.update(kind(warning) for warning in stored.warnings if warning in line)
        self._last.append((stored.trial.id, line, colour))
        tried = stored.failure is None or stored.failure.step not in ("setup", "build")
        now = self._outlook()
        self._of = now.of
        if not self._console.is_interactive and tried:
            said = f"{now.trials:>3}/{now.of} {stored.trial.id:<38} {line}  ({left(now)})"
            self._console.print(Text(said), soft_wrap=True)

    def _drawn(self) -> Group:
        now = self._outlook()
        self._bar.update(self._task, completed=now.trials, total=now.of or None, left=left(now))
        results = Table.grid(padding=(0, 2))
        for trial_id, line, colour in self._last:
            results.add_row(trial_id, Text(line, style=colour, overflow="ellipsis", no_wrap=True))
        return Group(results, self._bar, Text(self._now, style="dim", no_wrap=True))


def _where(study: Study, block: Block) -> str:
    """Return what a block measures: "shared, block 3"; of a map the point in words."""
    if study.map is not None:
        return study.experiments[block.experiment].title
    return f"{block.experiment}, block {block.number}"


def left(now: SessionOutlook) -> str:
    """Return the time left for required blocks, "2:05 left", then "10 of 26 claims decided, at most …"."""
    claims = f"{now.decided} of {now.asked} {now.asked_what} decided" if now.asked else ""
    if claims and not now.blocks_s:
        limit = f"at most {numerals.clock(now.at_most_s)} left" if now.at_most_s < math.inf else ""
        return ", ".join(filter(None, (claims, limit)))
    return f"{numerals.clock(now.blocks_s)} left"
