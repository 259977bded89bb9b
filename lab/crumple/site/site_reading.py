"""Stored results and runs → the entries of a site. What cannot be read becomes an entry that says why."""

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from crumple import parsing
from crumple.drawing import numerals
from crumple.errors import CrumpleError
from crumple.find.report.find_document import FindDocument
from crumple.load.report import load_sentences
from crumple.load.report.load_document import LoadDocument
from crumple.record import engine_limits, failures, figures
from crumple.record.metrics import METRICS
from crumple.results import comparing, listing, restored, versus_side
from crumple.results.listing import Wanted
from crumple.results.load_trial import stored_trial
from crumple.results.selection import StoredEntry
from crumple.run import run_file
from crumple.run.report.view import view
from crumple.run.store import RunStore
from crumple.site import site_names
from crumple.site.site_entry import Better, SiteEntry, SiteFigure
from crumple.stats.interval import Interval
from crumple.verdict import comparison, machines, sides
from crumple.versus.report.versus_document import VersusDocument
from crumple.versus.report.versus_figures import VersusFigures

# The figures of a load that are followed: those that are compared, and what a request costs the server.
OF_A_LOAD = (*comparison.JUDGED, "cpu_per_request")
DISTURBED = "disturbed: others may have changed it by more than what was measured"
FAILING = f"more than {failures.SHARE_MAX * 100:g} % of its requests failed"
# The unit of what a search raises.
UNITS = {"rate": "requests/s", "connections": "connections"}
# How many hexadecimal digits of a digest tell questions apart: a site has at most some thousand.
DIGITS = 12
_HOST = re.compile(r"[a-z][a-z0-9+.-]*://([^/\s?#]+)")


def entry_of(stored: StoredEntry, digest: str) -> SiteEntry:
    """Read a result or a run. One that cannot be read is an entry without a page, whose row says why."""
    stored = stored.afresh()
    (row,) = listing.rows([stored], Wanted())
    row = row.model_copy(update={"number": 0})
    try:
        found = {} if row.damaged else _read(stored)
    except (CrumpleError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        why = _why(error)
        row, found = row.model_copy(update={"damaged": why}), {}
    file = "" if row.damaged else site_names.page_of(stored.name, "run" if stored.is_run else "result")
    return SiteEntry(row=row, file=file, digest=digest, **found)


def _why(error: Exception) -> str:
    if isinstance(error, CrumpleError):
        return error.message
    fault = parsing.first_fault(error) if isinstance(error, ValidationError) else type(error).__name__
    return f"is not of this version of crumple ({fault})"


def _read(stored: StoredEntry) -> dict[str, Any]:
    machine = comparing.machine_of(stored)
    datetime.fromisoformat(stored.document["began"])
    found = {
        "question": hashlib.sha256(repr(comparing.signature(stored)).encode()).hexdigest()[:DIGITS],
        "machine": {
            fact: machine[fact] for fact in (*machines.LASTING, *machines.FROM_THERE) if fact in machine
        },
    }
    if stored.is_run:
        return found | _of_run(RunStore(stored.path), stored.name)
    document = restored.read(stored.document, stored.name)
    if isinstance(document, LoadDocument):
        shape = load_sentences.shape(document.record.spec)
        figures_of = tuple(_of_load(document))
        return found | {"servers": (_server(document.url),), "load": shape, "figures": figures_of}
    if isinstance(document, VersusDocument):
        labels = [versus_side.without_commits(each.label) for each in document.versions]
        servers = tuple(dict.fromkeys(map(_server, labels)))
        return found | {"servers": servers, "figures": tuple(_of_versus(VersusFigures(document)))}
    typed = document.asked if isinstance(document, FindDocument) else document.server
    by = document.by if isinstance(document, FindDocument) else "rate"
    return found | {"servers": (_server(typed),), "figures": tuple(_of_search(document.breaking_point, by))}


def _server(typed: str) -> str:
    """Return the address in what was typed, or what was typed if there is none."""
    host = _HOST.search(typed)
    return host[1] if host else typed


def _of_load(load: LoadDocument) -> Iterator[SiteFigure]:
    seen = figures.figures(stored_trial(load.record, load.validity, "load"))
    if seen is None:
        return
    problems = load.validity.problems
    for name in OF_A_LOAD:
        metric = METRICS[name]
        value = metric.of(seen)
        if value is None or value <= 0:
            continue
        is_failing = seen.failed_share > failures.SHARE_MAX and not metric.despite_failures
        is_bound = engine_limits.was_the_limit(problems) and name in sides.SPEEDS
        against = "; ".join(problems) if problems and not is_bound else ""
        if not against and is_failing:
            against = FAILING
        if not against and metric.is_disturbed(seen):
            against = DISTURBED
        yield SiteFigure(
            title=metric.title, unit=metric.unit, better=metric.better, value=value, against=against
        )


def _of_search(point: Interval | None, by: str) -> Iterator[SiteFigure]:
    if point is not None:
        yield _with_interval("Breaking point", UNITS[by], "higher", point)


def _of_versus(found: VersusFigures) -> Iterator[SiteFigure]:
    for letter in found.others:
        _, of = versus_side.place(found, letter)
        for ratio in found.ratios(letter):
            if ratio.interval is None or ratio.interval.estimate <= 0:
                continue
            metric = METRICS[versus_side.METRICS[ratio.figure]]
            yield _with_interval(metric.title, "", metric.better, ratio.interval, of)


def _of_run(store: RunStore, run_id: str) -> dict[str, Any]:
    # Imported here because it takes time, and a site may have no run.
    from crumple.run.report import report_document
    from crumple.stats import estimate

    run = run_file.read(store)
    side = sides.side(report_document.document(view(run, store.trials())).model_dump(mode="json"), run_id)
    found = []
    for (experiment, server, twin), values in side.values.items():
        for name in comparison.JUDGED:
            each, metric = values.get(name, ()), METRICS[name]
            if not twin and each and min(each) > 0:
                mean, of = estimate.geometric_mean(each), f"{server} in {experiment}"
                found.append(_with_interval(metric.title, metric.unit, metric.better, mean, of))
    return {"servers": tuple(run.servers), "figures": tuple(found)}


def _with_interval(title: str, unit: str, better: Better, found: Interval, of: str = "") -> SiteFigure:
    low, high = (found.low, found.high) if numerals.worth_showing(found) else (None, None)
    return SiteFigure(title=title, of=of, unit=unit, better=better, value=found.estimate, low=low, high=high)
