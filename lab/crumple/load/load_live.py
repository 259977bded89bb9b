"""What the user sees while a load runs: a bar with the time left, throughput and response times over time.

On a terminal the view is redrawn with each line of progress, one a second; elsewhere a line is printed every
few seconds. It goes to stderr and is not stored; the record holds the figures that count.
"""

from collections import deque
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from crumple import contract
from crumple.drawing import numerals, terminal
from crumple.drawing.scale import AxisScale
from crumple.drawing.terminal import Cell, Terminal
from crumple.load.report import load_sentences as say
from crumple.record import failures

# Columns of the view, at least and at most.
WIDTH_MIN, WIDTH_MAX = 40, 100
# Seconds that are plotted: the last ten minutes of a longer load.
WINDOW_S = 600.0
# Seconds between two lines where no terminal redraws them.
LINE_EVERY_S = 5.0
# Seconds between two drawings on a terminal, at least.
REDRAWN_EVERY_S = 0.25
# The part of a second by which a line of progress may be early: a line of the engine that comes a little
# before its time is shown, instead of the one after it.
_EARLY_S = 0.1
# The rows of each of the two plots.
_PLOT_ROWS = 4
# The columns left of a plot, for the labels of its axis.
_LABEL_COLUMNS = 12
# The vertical axis ends at one of these, times a power of ten.
_STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_THROUGHPUT, _P50, _P99 = "green", "cyan", "magenta"


class LoadView:
    """Shows the progress of one load on a console. Use as a context; `url`: as typed."""

    def __init__(
        self, spec: contract.TrialSpec, url: str, *, quiet: bool = False, console: Console | None = None
    ) -> None:
        self._spec = spec
        self._url = url
        self._quiet = quiet
        self._console = console or Terminal(stderr=True)
        self._past: deque[contract.ProgressLine] = deque(maxlen=round(WINDOW_S))
        # How many requests had ended when measuring began.
        self._warm_up_ended = 0
        self._shown_s = 0.0
        self._live = Live(
            console=self._console, auto_refresh=False, transient=True, get_renderable=self._drawn
        )

    def __enter__(self) -> Self:
        if self._redraws:
            self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._redraws:
            self._live.stop()

    def progress(self, progress: contract.ProgressLine) -> None:
        """Keep one line of the engine's progress, and show it if the last one shown is old enough."""
        self._past.append(progress)
        if progress.phase == "warm-up":
            self._warm_up_ended = progress.ok + progress.failed
        every_s = REDRAWN_EVERY_S if self._redraws else LINE_EVERY_S
        if self._quiet or progress.at_s - self._shown_s < every_s - _EARLY_S:
            return
        self._shown_s = progress.at_s
        if self._redraws:
            self._live.refresh()
        else:
            self._console.print(Text(self._line(progress)), soft_wrap=True)

    @property
    def _redraws(self) -> bool:
        return self._console.is_interactive and not self._quiet

    def _left_s(self, progress: contract.ProgressLine) -> float | None:
        """The engine's figure; for a load that ends by its requests, from the number that is left."""
        stop = self._spec.stop
        if stop.kind != "requests":
            return progress.left_s
        if progress.phase != "measured" or not progress.throughput_per_s:
            return None
        ended = progress.ok + progress.failed - self._warm_up_ended
        return max(0, stop.requests - ended) / progress.throughput_per_s

    def _line(self, progress: contract.ProgressLine) -> str:
        parts = [
            f"{numerals.clock(progress.at_s):>5}  {progress.phase:<8}",
            f"{numerals.rate(progress.throughput_per_s):>10}",
            f"p50 {numerals.duration(progress.p50_ns)}",
            f"p99 {numerals.duration(progress.p99_ns)}",
            *_counted(progress),
            *self._unexpected(progress),
            f"{numerals.clock(self._left_s(progress))} left",
        ]
        return "  ".join(parts).replace(numerals.NARROW, " ")

    def _drawn(self) -> RenderableType:
        columns = min(WIDTH_MAX, max(WIDTH_MIN, self._console.width))
        head = (
            Text(say.asked(self._spec, self._url), style="bold", no_wrap=True, overflow="ellipsis"),
            Text(_spaced(say.shape(self._spec)), no_wrap=True, overflow="ellipsis"),
        )
        if not self._past:
            return Group(*head, Text("starting", style="dim"))
        now = self._past[-1]
        across = self._span(now)
        return Group(
            *head,
            self._bar(now, columns),
            Text(),
            Text.assemble("throughput  ", (_spaced(numerals.rate(now.throughput_per_s)), _THROUGHPUT)),
            *self._throughput(across, columns),
            Text.assemble(
                "response time  ",
                (f"p50 {_spaced(numerals.duration(now.p50_ns))}", _P50),
                "  ",
                (f"p99 {_spaced(numerals.duration(now.p99_ns))}", _P99),
                f"  max {_spaced(numerals.duration(now.max_ns))}",
            ),
            *self._response_times(across, columns),
            self._ruler(across, columns),
            Text("   ".join(_counted(now)), no_wrap=True, overflow="ellipsis"),
            *self._statuses(now),
        )

    def _statuses(self, now: contract.ProgressLine) -> list[Text]:
        """Answers by status; statuses that no request expects are red."""
        if not now.statuses:
            return []
        line = Text(no_wrap=True, overflow="ellipsis")
        for status, count in sorted(now.statuses.items()):
            line.append("   " if line else "")
            line.append(f"{count:,} × {status}", style="" if self._is_expected(status) else "red")
        return [line]

    def _unexpected(self, now: contract.ProgressLine) -> list[str]:
        wrong = {status: count for status, count in now.statuses.items() if not self._is_expected(status)}
        return (
            [", ".join(f"{count:,} × {status}" for status, count in sorted(wrong.items()))] if wrong else []
        )

    def _is_expected(self, status: int) -> bool:
        return any(failures.is_expected(status, request.expect) for request in self._spec.requests)

    def _span(self, now: contract.ProgressLine) -> AxisScale:
        """The time axis: from the first instant to the expected end, or the last minutes of a long load."""
        whole_s = now.at_s + (self._left_s(now) or 0.0)
        if whole_s <= WINDOW_S:
            return AxisScale(0.0, max(whole_s, 1.0))
        ends_s = max(now.at_s, WINDOW_S)
        return AxisScale(ends_s - WINDOW_S, ends_s)

    def _bar(self, now: contract.ProgressLine, columns: int) -> Table:
        left_s = self._left_s(now)
        row = Table.grid(padding=(0, 1, 0, 0))
        words = f"{numerals.clock(now.at_s)}, {numerals.clock(left_s)} left"
        whole_s = None if left_s is None else now.at_s + left_s
        bar = ProgressBar(
            total=whole_s,
            completed=now.at_s,
            width=max(10, columns - len(words) - len(now.phase) - 2),
            complete_style="cyan",
            finished_style="cyan",
            animation_time=now.at_s,
        )
        row.add_row(now.phase, bar, words)
        return row

    def _throughput(self, across: AxisScale, columns: int) -> list[Text]:
        points = [(past.at_s, past.throughput_per_s) for past in self._past]
        most = terminal.rounded_up(max(1.0, *(speed for _, speed in points)), _STEPS)
        up = AxisScale(0.0, most)
        cells = terminal.lines([points], across, up, columns - _LABEL_COLUMNS, _PLOT_ROWS)
        return _framed(cells, f"{numerals.significant(most)} /s", "0 /s", (_THROUGHPUT,))

    def _response_times(self, across: AxisScale, columns: int) -> list[Text]:
        p99 = [(past.at_s, past.p99_ns) for past in self._past]
        p50 = [(past.at_s, past.p50_ns) for past in self._past]
        known = [max(1, ns) for _, ns in (*p99, *p50) if ns is not None]
        if not known:
            return [Text(f"{'':>{_LABEL_COLUMNS - 2}} │", style="dim") for _ in range(_PLOT_ROWS)]
        low = terminal.rounded_down(min(known))
        up = AxisScale(low, max(terminal.rounded_up(max(known)), 2 * low), log=True)
        cells = terminal.lines([p99, p50], across, up, columns - _LABEL_COLUMNS, _PLOT_ROWS)
        top, bottom = (_spaced(numerals.duration(end)) for end in (up.high, up.low))
        return _framed(cells, top, bottom, (_P99, _P50))

    def _ruler(self, across: AxisScale, columns: int) -> Text:
        """The time axis with its ends; the visible part of the warm-up is dotted."""
        wide = columns - _LABEL_COLUMNS
        stop = self._spec.warm_up.stop if self._spec.warm_up else None
        seen_s = max((past.at_s for past in self._past if past.phase == "warm-up"), default=0.0)
        warm_up_s = stop.duration_s if stop and stop.kind == "duration" else seen_s
        dotted = round(across.share(warm_up_s) * wide)
        begins, ends = numerals.clock(across.low), numerals.clock(across.high)
        line = "┄" * dotted + "─" * (wide - dotted)
        middle = line[len(begins) + 1 : wide - len(ends) - 1]
        return Text(f"{'':>{_LABEL_COLUMNS - 1}}└{begins} {middle} {ends}", style="dim", no_wrap=True)


def _framed(rows: list[list[Cell]], top: str, bottom: str, styles: tuple[str, ...]) -> list[Text]:
    """A plot with the ends of its vertical axis written beside it."""
    labels = [top, *[""] * (len(rows) - 2), bottom]
    framed = []
    for label, row in zip(labels, rows, strict=True):
        line = Text(no_wrap=True)
        line.append(f"{label:>{_LABEL_COLUMNS - 2}} {'┤' if label else '│'}", style="dim")
        for owner, run in groupby(row, key=itemgetter(1)):
            style = styles[owner] if owner is not None else None
            line.append("".join(character for character, _ in run), style=style)
        framed.append(line)
    return framed


def _counted(progress: contract.ProgressLine) -> list[str]:
    """How many requests were ok and failed so far, warm-up included, and the open connections."""
    ended = progress.ok + progress.failed
    share = f" ({_spaced(numerals.share(progress.failed / ended))})" if progress.failed else ""
    return [
        f"{progress.ok:,} ok",
        f"{progress.failed:,} failed{share}",
        numerals.count(progress.connections, "connection"),
    ]


def _spaced(said: str) -> str:
    # Terminals do not agree on the width of the narrow space.
    return said.replace(numerals.NARROW, " ")
