"""Every kind of page in a browser: wide, narrow, enlarged, dark, printed, without script, with a policy."""

from collections.abc import Iterator
from pathlib import Path

import made_pages
import numpy as np
import opened_pages
import pypdfium2
import pytest
from numpy.typing import NDArray
from opened_pages import NAMED, Seen, Window
from opened_pages import window as window

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# The checks that no way of opening a page may fail.
ALWAYS = ("tooWide", "withoutKeys", "covered", "illegible")
# What axe judges are the page's elements, their sizes and colours: other ways differ in none of them.
JUDGED_BY_AXE = ("1280", "390", "dark")


class Looks:
    """What was seen of each kind of page, opened in each way once."""

    def __init__(self, window: Window, folder: Path) -> None:
        self._window = window
        self._folder = folder
        self._seen: dict[tuple[str, str], Seen] = {}

    def at(self, kind: str, way: str) -> Seen:
        """Open a page and return what was seen of it."""
        if (kind, way) not in self._seen:
            self._seen[kind, way] = self._window.looks(self._file(kind), NAMED[way], way in JUDGED_BY_AXE)
        return self._seen[kind, way]

    def printed(self, kind: str, fragment: str = "", **choices: str) -> pypdfium2.PdfDocument:
        """Print a page. `fragment`: the place in it that a link led to."""
        return self._window.prints(self._file(kind), fragment, choices)

    def _file(self, kind: str) -> Path:
        file = self._folder / f"{kind}.html"
        if not file.exists():
            file.write_text({**made_pages.KINDS, **made_pages.BAD}[kind](), encoding="utf-8")
        return file


@pytest.fixture(scope="module")
def looks(window: Window, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looks]:
    return Looks(window, tmp_path_factory.mktemp("pages"))


# What a browser says of a script where Jenkins lets none run: all that the page is without it must be there.
BLOCKED = "Blocked script execution"


each_kind = pytest.mark.parametrize("kind", made_pages.KINDS)


@each_kind
@pytest.mark.parametrize("way", NAMED)
def test_a_page_fits_and_asks_for_nothing_and_keys_scroll_what_scrolls(
    looks: Looks, kind: str, way: str
) -> None:
    seen = looks.at(kind, way)
    assert len(seen.requests) == 1
    assert [each for each in seen.errors if way != "Jenkins" or not each.startswith(BLOCKED)] == []
    assert seen.faults["tooWide"] == []
    assert seen.faults["withoutKeys"] == []


@each_kind
@pytest.mark.parametrize("way", JUDGED_BY_AXE)
def test_a_page_breaks_no_rule_of_access(looks: Looks, kind: str, way: str) -> None:
    assert looks.at(kind, way).axe == []


@each_kind
def test_no_column_of_a_wide_page_is_out_of_sight(looks: Looks, kind: str) -> None:
    assert looks.at(kind, "1280").faults["outOfSight"] == []


@each_kind
@pytest.mark.parametrize("way", NAMED)
def test_each_chart_stands_once_and_its_words_can_be_read(looks: Looks, kind: str, way: str) -> None:
    seen = looks.at(kind, way)
    assert seen.drawings == looks.at(kind, "1280").drawings
    assert 0 not in seen.drawings
    assert seen.faults["covered"] == []
    assert seen.faults["illegible"] == []


@each_kind
@pytest.mark.parametrize("way", ["no script", "Jenkins"])
def test_nothing_is_lost_without_script_or_style(looks: Looks, kind: str, way: str) -> None:
    assert looks.at(kind, "1280").words - looks.at(kind, way).words == set()


@each_kind
def test_badges_and_swatches_have_a_border_where_colours_are_forced(looks: Looks, kind: str) -> None:
    assert looks.at(kind, "forced colours").faults["withoutBorder"] == []


@each_kind
def test_no_sheet_of_a_printed_page_is_half_empty_or_cut(looks: Looks, kind: str) -> None:
    sheets = opened_pages.sheets(looks.printed(kind))
    filled = [filled_share(sheet) for sheet in sheets]
    assert [(at, round(share, 2)) for at, share in enumerate(filled[:-1], 1) if share < 0.5] == []
    assert [at for at, sheet in enumerate(sheets, 1) if is_cut(sheet)] == []


@pytest.mark.parametrize("kind", made_pages.BAD)
@pytest.mark.parametrize("way", ["1280", "320"])
def test_a_page_of_bad_input_runs_and_loads_nothing_fits_and_is_read(
    looks: Looks, kind: str, way: str
) -> None:
    seen = looks.at(kind, way)
    assert (len(seen.requests), seen.errors) == (1, [])
    assert {name: found for name, found in seen.faults.items() if found and name in ALWAYS} == {}
    assert seen.axe == []


def test_a_run_of_two_experiments_is_printed_on_eight_sheets_or_all_of_it_by_its_link(looks: Looks) -> None:
    assert len(looks.printed("run")) <= 8
    whole = opened_pages.words_of(looks.printed("run", fragment="everything"))
    assert "Address already in use" in whole
    assert "Address already in use" not in opened_pages.words_of(looks.printed("run"))


def test_the_index_of_a_site_counts_the_results_that_it_shows(looks: Looks) -> None:
    assert "40 shown" in opened_pages.words_of(looks.printed("site"))
    assert "16 shown" in opened_pages.words_of(looks.printed("site", Day="2026-03-01"))


# A sheet and its margins in the style sheet, in mm.
TOP_MM, SIDE_MM, HEIGHT_MM, WIDTH_MM = 16, 14, 297, 210
# Lighter than that is paper, or a wash.
INK_MOST = 200


def filled_share(sheet: NDArray[np.uint8]) -> float:
    """How far down a sheet is printed, as a share of the height between its margins."""
    rows = np.flatnonzero((sheet < INK_MOST).any(axis=1))
    down_mm = (rows.max() + 1) / len(sheet) * HEIGHT_MM if rows.size else TOP_MM
    return float((down_mm - TOP_MM) / (HEIGHT_MM - 2 * TOP_MM))


def is_cut(sheet: NDArray[np.uint8]) -> bool:
    """Whether something is printed in the right margin."""
    width = sheet.shape[1]
    return bool((sheet[:, round((1 - (SIDE_MM - 2) / WIDTH_MM) * width) :] < INK_MOST).any())
