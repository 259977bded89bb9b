"""The index in a browser without a script: lists choose rows, several at a time, and their number is said."""

from pathlib import Path

import made_sites
import pytest
from crumple.drawing import report_page
from crumple.site import index_report, series
from opened_pages import NAMED, Window
from opened_pages import window as window

pytestmark = [pytest.mark.starts, pytest.mark.parallel]


def test_lists_choose_rows_without_a_script(window: Window, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    entries = made_sites.history()
    report = index_report.report(entries, series.series_of(entries), "crumple 0.1.0")
    file.write_text(report_page.html(report), encoding="utf-8")
    page = window.opened(file, NAMED["no script"])
    rows = page.locator(".choosable > tbody > tr")

    def choose(name: str, value: str) -> None:
        page.locator("label", has_text=name).locator("select").select_option(value)

    def shown() -> int:
        return sum(row.is_visible() for row in rows.all())

    assert shown() == 37
    choose("Tag", "main")
    tagged = shown()
    assert tagged == 24
    choose("Day", "2026-03-03")
    of_the_day = [row.inner_text() for row in rows.all() if row.is_visible()]
    assert 0 < len(of_the_day) < tagged and all("2026-03-03" in row and "main" in row for row in of_the_day)
    choose("Server", "b:81")
    assert shown() == 0
    choose("Tag", "any")
    choose("Day", "any")
    assert shown() == 1
