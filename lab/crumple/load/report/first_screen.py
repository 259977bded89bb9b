"""A first look in a dozen lines: what the server is, a request alone, the load, what limits it, how to go on.

Pure: Load → text. All that was measured is in the summary (`load_summary`), which a command at the end shows.
"""

import shlex
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from crumple import contract
from crumple.drawing import numerals, terminal
from crumple.load.report import load_sentences as say
from crumple.load.report import load_summary, server_sentences
from crumple.load.report.load_figures import Load
from crumple.load.report.load_summary import WIDTH_MAX
from crumple.words import cause_sentences

QUANTILES = (0.5, 0.99)
UNEXPECTED_MAX = 2
GAP = 2
# The usual objective of `crumple find`, in ms. A request alone takes no more than this share of a limit.
OBJECTIVE_MS, OBJECTIVE_SHARE = 250.0, 0.25


def text(load: Load, name: str | None, width: int | None = None, styled: bool | None = None) -> str:
    """Return the screen as text. `name`: under which the result is stored; None: it is not."""
    columns = width or terminal.width(WIDTH_MAX)
    return terminal.printed(Group(*_parts(load, name, columns)), columns, styled)


def _parts(load: Load, name: str | None, columns: int) -> Iterator[RenderableType]:
    yield Text(say.asked(load.record.spec, load.url), style="bold", overflow="fold")
    yield Text(server_sentences.program(load))
    yield Text()
    verdict = load_summary.validity(load, UNEXPECTED_MAX, brief=True)
    if verdict.row_count:
        yield verdict
        yield Text()
    yield terminal.named(rows(load))
    yield Text()
    yield _commands(load, name, columns)


def rows(load: Load) -> Iterator[tuple[str, str]]:
    """Yield what was found, each with its name."""
    if load.alone is not None:
        yield "alone", server_sentences.alone(load.alone)
    if load.lost is None or load.throughput_per_s:
        yield load_of(load.record.spec.shape), _under_load(load)
    if load.is_time_known:
        yield "time", server_sentences.time(load)
    if in_parts := server_sentences.in_parts(load):
        yield "an answer", in_parts
    yield from cause_sentences.in_short(load.said)


def load_of(shape: contract.ShapeSpec) -> str:
    """The load in two words: "50 connections", "300 /s"."""
    if isinstance(shape, contract.OpenShapeSpec):
        return numerals.rate(max(each.to_per_s for each in shape.rates))
    most = shape.to_connections if isinstance(shape, contract.RampShapeSpec) else shape.connections
    return numerals.count(most, "connection")


def _under_load(load: Load) -> str:
    spread = load.spreads["response_time"]
    times = [f"{say.quantile(q)} {say.time_at(spread, q)}" for q in QUANTILES if q in spread.quantile_ns]
    return ", ".join([f"{numerals.rate(load.throughput_per_s)} ok", *times])


def _commands(load: Load, name: str | None, columns: int) -> RenderableType:
    """The commands with what they are for: beside them, or below them where there is no room."""
    found = commands(load, name)
    if max(len(typed) for typed, _ in found) + GAP + max(len(meaning) for _, meaning in found) > columns:
        lines = [
            (Text(typed, style="cyan", overflow="fold"), Text(f"    {meaning}")) for typed, meaning in found
        ]
        return Group(*(line for both in lines for line in both))
    table = Table.grid(padding=(0, GAP, 0, 0))
    for typed, meaning in found:
        table.add_row(Text(typed, style="cyan", no_wrap=True), Text(meaning))
    return table


def commands(load: Load, name: str | None) -> list[tuple[str, str]]:
    """Return commands that go on from here, each with what it is for."""
    url, limit = shlex.quote(load.url), limit_of(load)
    objective = "" if limit == f"{OBJECTIVE_MS:g}ms" else f" --objective 'p99<{limit}, failed<0.1%'"
    found = [(f"crumple {url} --debug", "one request, and its answer")] if load.record.outcomes.failed else []
    if load.lost is not None:
        return [*found, (f"crumple show {name}" if name else f"crumple load {url}", "all figures")]
    found.append((f"crumple find {url}{objective}", f"the highest rate with p99 below {limit}"))
    if load.program is not None:
        found.append((f"crumple diagnose {url}", "how it waits, and what it holds"))
    found.append((f"crumple versus {url} OTHER_URL", "whether another version is faster"))
    found.append((f"crumple show {name}" if name else f"crumple load {url}", "all figures"))
    return found


def limit_of(load: Load) -> str:
    """Return a limit of the response time that a request alone keeps by far: "250ms", "2s"."""
    alone_ms = 1e3 * load.alone.mean_s if load.alone is not None else 0.0
    if alone_ms <= OBJECTIVE_SHARE * OBJECTIVE_MS:
        return f"{OBJECTIVE_MS:g}ms"
    limit_ms = terminal.rounded_up(alone_ms / OBJECTIVE_SHARE)
    return f"{limit_ms:g}ms" if limit_ms < 1e3 else f"{limit_ms / 1e3:g}s"
