"""Made-up entries of a site, and stored results to build one of. Not a test itself."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import made_results
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


def entry(number: int, *figures: SiteFigure, **changes: Any) -> SiteEntry:
    """The entry of a load, one an hour."""
    name = f"load-{number:03}"
    began = (BEGAN + timedelta(hours=number)).isoformat()
    row = ResultRow(number=0, name=name, verb="load", began=began, asked="GET http://a:80/", headline="valid")
    plain: dict[str, Any] = {
        "row": row, "file": f"results/{name}.html", "digest": f"{number}", "servers": ("a:80",),
        "question": "q1", "machine": HERE, "figures": figures,
    }  # fmt: skip
    return SiteEntry(**plain | changes)


def entries(values: Sequence[float], **changes: Any) -> list[SiteEntry]:
    """An entry for each value of one figure."""
    return [entry(number, figure(value), **changes) for number, value in enumerate(values)]


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
