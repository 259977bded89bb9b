"""Made-up entries of a site, and stored results to build one of. Not a test itself."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import made_results
import numpy as np
import synthetic_load
from crumple.results import result_store, selection
from crumple.results.listing import ResultRow
from crumple.results.selection import StoredEntry
from crumple.site import site_files
from crumple.site.site_entry import SiteEntry, SiteFigure, SiteRecord

BEGAN = datetime(2026, 3, 1, 8, tzinfo=UTC)
HERE = {"cpu_model": "Mill 7", "cores": 2, "kernel": "6.1.2"}


def figure(value: float, title: str = "Throughput", **changes: Any) -> SiteFigure:
    """A figure that counts, without an interval."""
    plain: dict[str, Any] = {"title": title, "unit": "requests/s", "better": "higher", "value": value}
    return SiteFigure(**plain | changes)


def entry(
    number: int, *figures: SiteFigure, row_changes: Mapping[str, Any] = MappingProxyType({}), **changes: Any
) -> SiteEntry:
    """The entry of a load, one an hour."""
    name = f"load-{number:03}"
    began = (BEGAN + timedelta(hours=number)).isoformat()
    row = ResultRow(number=0, name=name, verb="load", began=began, asked="GET http://a:80/", headline="valid")
    row = row.model_copy(update=dict(row_changes))
    plain: dict[str, Any] = {
        "row": row, "file": f"results/{name}.html", "digest": f"{number}", "servers": ("a:80",),
        "question": "q1", "machine": HERE, "figures": figures,
    }  # fmt: skip
    return SiteEntry(**plain | changes)


def entries(values: Sequence[float], **changes: Any) -> list[SiteEntry]:
    """An entry for each value of one figure."""
    return [entry(number, figure(value), **changes) for number, value in enumerate(values)]


def history() -> list[SiteEntry]:
    """A question whose figures shift and that meets another machine, a search, and a file that is cut off."""
    random = np.random.default_rng(5)
    found = []
    for number in range(36):
        level, machine = (
            1_000.0 if number < 14 else 640.0,
            HERE if number < 28 else {**HERE, "kernel": "6.9.0"},
        )
        noise = float(random.lognormal(0, 0.03))
        against = "disturbed: other programs took up to 40 %" if number in (5, 20) else ""
        speed = figure(level * noise, against=against)
        time = figure(
            3.1e9 / level * noise, "Median response time", unit="ns", better="lower", against=against
        )
        row = {"tags": ("main",) if number % 3 else ("branch",)}
        found.append(entry(8 * number, speed, time, load="8 connections", machine=machine, row_changes=row))
    point = figure(676, "Breaking point", low=657, high=703)
    asked = {"name": "find-1", "verb": "find", "asked": "GET http://b:81/orders", "headline": "676 /s"}
    found.append(
        entry(12, point, question="q2", servers=("b:81",), file="results/find-1.html", row_changes=asked)
    )
    cut = {
        "name": "cut",
        "damaged": "cut.json is not JSON, or is damaged: it ends early",
        "verb": "",
        "began": "",
    }
    found.append(entry(0, question="", file="", row_changes=cut))
    return found[::-1]


def stored_load(name: str, hour: int = 0, **changes: Any) -> dict[str, Any]:
    """Store a load of that hour."""
    began = (BEGAN + timedelta(hours=hour)).isoformat(timespec="seconds")
    kept = result_store.keep(made_results.of_load(synthetic_load.closed(), began=began, **changes), name)
    at_s = BEGAN.timestamp() + 3600 * hour
    os.utime(result_store.folder() / f"{name}.json", (at_s, at_s))
    return kept


def stored(runs: Path) -> list[StoredEntry]:
    """All that is stored."""
    return selection.entries(runs)


def publish(folder: Path, pages: dict[str, str], *, kept: tuple[str, ...] = ()) -> None:
    """Make a site of these pages, and of those that stay as they are."""
    with site_files.new_site(folder) as new:
        for file in kept:
            assert new.keep(file)
        for file, text in pages.items():
            new.write(file, text)
        record = SiteRecord(made_by="a test", entries=(), pages=dict.fromkeys((*kept, *pages), "digest"))
        new.write(site_files.RECORD, record.model_dump_json())
        new.publish()


def contents(folder: Path) -> dict[str, str]:
    """All files below a folder but the record."""
    return {
        str(file.relative_to(folder)): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != site_files.RECORD
    }
