"""The script of a page, by keys alone: it tells what is drawn, and keeps its state in the address."""

import base64
import csv
import hashlib
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import made_pages
import pytest
import synthetic_load
from crumple.drawing import page as pages
from crumple.drawing import report_page
from crumple.drawing.chart import Chart
from crumple.drawing.plot import Area, ChartRow, Graph, RowChart, RowPoint, Segment, picture
from crumple.drawing.report_parts import Charts, Column, Report, Section, Table
from crumple.drawing.scale import AxisScale, count_axis, seconds_axis
from opened_pages import NAMED, Window, listening
from opened_pages import window as window
from playwright.sync_api import Page

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

# The most bytes of the script in a page.
MOST_BYTES = 12 * 1024
# How long a chart may take to be saved, in ms: a busy machine takes a fraction of it.
SAVES_MS = 10_000
UNITS_NS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripted")


def written(folder: Path, kind: str) -> Path:
    """The page of that kind, as a file."""
    file = folder / f"{kind}.html"
    if not file.exists():
        file.write_text(made_pages.KINDS[kind](), encoding="utf-8")
    return file


def made(folder: Path, *parts: Charts | Table) -> Path:
    """A page with these parts."""
    file = folder / "made.html"
    file.write_text(
        report_page.html(Report("load", "t", [], [Section(parts, "Rows", "rows")])), encoding="utf-8"
    )
    return file


def table(*columns: tuple[str, list[str]]) -> Table:
    return Table([Column(heading, cells) for heading, cells in columns])


def first_cells(page: Page) -> list[str]:
    """The first cells of the rows that are seen."""
    return page.locator("tbody tr:not([hidden]) > :first-child").all_text_contents()


def test_the_policy_names_the_script_by_its_hash_and_allows_nothing_else() -> None:
    page = made_pages.KINDS["load"]()
    ((kind, script),) = re.findall(r'<script type="(module)">(.*?)</script>', page, re.S)
    assert kind and len(script.encode()) <= MOST_BYTES
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert f"script-src 'sha256-{digest.replace('=', '=')}'" in policy.replace("&#39;", "'")
    assert policy.count("script-src") == 1 and "unsafe-inline" not in policy.split("style-src")[0]
    assert "innerHTML" not in script and "eval" not in script and "fetch" not in script


def test_nothing_but_the_script_runs(window: Window, folder: Path) -> None:
    file = written(folder, "load")
    whole = file.read_text(encoding="utf-8")
    other = folder / "other.html"
    other.write_text(
        whole.replace("</main>", "<script>document.title = 'ran'</script></main>", 1), encoding="utf-8"
    )
    assert window.opened(other).title() != "ran"
    changed = folder / "changed.html"
    changed.write_text(
        whole.replace("restore();\n</script>", "document.title = 'ran';\n</script>"), encoding="utf-8"
    )
    page = window.opened(changed)
    assert page.title() != "ran" and page.locator(".tools").count() == 0


def test_keys_move_a_ruler_and_its_values_are_those_that_were_measured(window: Window, folder: Path) -> None:
    series = synthetic_load.stepped().record.series
    measured = {
        (at + duration / 2) / 1e9: p50
        for at, duration, p50 in zip(series.at_ns, series.duration_ns, series.p50_ns, strict=True)
    }
    page = window.opened(written(folder, "load"))
    page.get_by_label("Ruler over Response time").focus()
    seen = 0
    for _ in range(len(measured) // 2):
        page.keyboard.press("ArrowRight")
        said = page.locator(".values").first.text_content() or ""
        found = re.match(r"([\d.]+)\u202fs .*?p50 ([\d.]+)\u202f(\w+)", said)
        if found:
            time_s = min(measured, key=lambda each: abs(each - float(found[1])))
            p50 = measured[time_s]
            assert p50 and float(found[2]) * UNITS_NS[found[3]] == pytest.approx(p50, rel=0.01), said
            seen += 1
    assert seen > 20
    page.keyboard.press("End")
    assert page.locator(".values").first.text_content() != said
    assert page.locator("svg.time").first.locator(".ruler").get_attribute("visibility") == "visible"


def test_values_are_read_aloud_once_the_ruler_rests(window: Window, folder: Path) -> None:
    page = window.opened(written(folder, "load"))
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    heard = page.get_by_role("status").first
    page.get_by_label("Ruler over Response time").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.clock.run_for(400)
        assert heard.text_content() == ""
    page.clock.run_for(200)
    assert heard.text_content() == page.locator(".values").first.text_content() != ""


def test_the_pointer_moves_the_ruler_to_where_it_is(window: Window, folder: Path) -> None:
    page = window.opened(written(folder, "load"))
    drawing = page.locator("svg.time").first
    box = drawing.bounding_box()
    left = float(drawing.locator("svg").first.get_attribute("x") or 0)
    assert box
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    assert box
    # Twelve seconds are drawn; five of them are before the third quarter of the fifth second ends.
    page.mouse.move(box["x"] + left + box["width"] * 0.4, box["y"] + 50)
    said = page.locator(".values b").first.text_content() or ""
    assert float(said.split("\u202f")[0]) == pytest.approx(12 * 0.4, abs=0.1)


def test_a_table_is_sorted_by_keys_and_by_what_numbers_mean(window: Window, folder: Path) -> None:
    times = [
        "2 s",
        "900 µs",
        "–",
        "1.5 ms",
        "at least 3 s",
        "12,000 ns",
        *[f"{each} min" for each in range(20)],
    ]
    page = window.opened(made(folder, table(("Time", times), ("Name", [f"n{each}" for each in range(26)]))))
    button = page.locator("thead button").first
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("thead > tr > *").first.get_attribute("aria-sort") == "ascending"
    shown = first_cells(page)
    assert [each for each in shown if "min" not in each] == [
        "12,000 ns",
        "900 µs",
        "1.5 ms",
        "2 s",
        "at least 3 s",
        "–",
    ]
    page.keyboard.press("Enter")
    # What is not known stays last.
    assert first_cells(page)[-1] == "–" and first_cells(page)[-2] in ("12,000 ns", "0 min")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("tbody tr > :nth-child(2)").all_text_contents() == [f"n{each}" for each in range(26)]


def test_a_link_shows_the_rows_as_they_were_sorted_and_filtered(window: Window, folder: Path) -> None:
    file = written(folder, "run")
    page = window.opened(file, fragment="#details")
    page.locator("details:has(> * > table.trials) > summary").press("Enter")
    page.get_by_label("Filter these rows").focus()
    page.keyboard.type("express b02")
    found = page.locator("table.trials tbody tr:not([hidden])").count()
    assert 0 < found < 48
    assert page.get_by_text(f"{found} of 48").is_visible()
    page.locator("table.trials thead button").nth(1).focus()
    page.keyboard.press("Enter")
    rows = page.locator("table.trials tbody tr:not([hidden])").all_text_contents()
    fragment = "#" + page.url.split("#")[1]
    assert re.fullmatch(r"#details&details-\d+=2%3Aexpress\+b02", fragment)
    again = window.opened(file, fragment=fragment)
    assert again.locator("table.trials tbody tr:not([hidden])").all_text_contents() == rows
    assert again.locator("table.trials").is_visible() and again.evaluate("scrollY") > 0
    again.get_by_label("Filter these rows").focus()
    again.keyboard.press("Control+a")
    again.keyboard.press("Delete")
    assert again.locator("table.trials tbody tr:not([hidden])").count() == 48


@pytest.mark.parametrize(
    "fragment",
    [
        "#rows&rows=99:x",
        "#rows&rows=<b>",
        "#rows&rows=1:%E0%A4%A",
        "#&=&&rows",
        "#%E0%A4%A&rows=0:",
        "#none&rows=-1:",
    ],
)
def test_an_address_that_somebody_made_up_does_no_harm(window: Window, folder: Path, fragment: str) -> None:
    file = made(folder, table(("Time", [f"{each} s" for each in range(30)])))
    errors: list[str] = []
    page = window.opened(file)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.evaluate("fragment => { location.hash = fragment; }", fragment)
    page.wait_for_timeout(50)
    assert (
        errors == []
        and page.locator("tbody tr").count() == 30
        and page.locator("b, script:not([type])").count() == 1
    )


def test_few_rows_have_no_controls(window: Window, folder: Path) -> None:
    page = window.opened(made(folder, table(("Time", ["1 s"] * 20))))
    assert page.locator(".tools, thead button").count() == 0


def test_a_chart_is_saved_as_it_is_drawn(window: Window, folder: Path) -> None:
    page = window.opened(written(folder, "load"))
    saved = {}
    # The ruler is no part of the chart.
    page.get_by_label("Ruler over Response time").press("ArrowRight")
    for kind in ("SVG", "PNG", "CSV"):
        page.get_by_label(f"Save Response time as {kind}").focus()
        with page.expect_download() as found:
            page.keyboard.press("Enter")
        assert found.value.suggested_filename == f"response-time.{kind.lower()}"
        saved[kind] = Path(found.value.path()).read_bytes()
    root = ET.fromstring(saved["SVG"])
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Response time", "p50", "p99", "max"} <= {each.strip() for each in texts}
    assert b"ruler" not in saved["SVG"] and b"<title>p50</title>" in saved["SVG"]
    width, height = (float(root.get(name) or 0) for name in ("width", "height"))
    assert saved["PNG"].startswith(b"\x89PNG")
    assert [int.from_bytes(saved["PNG"][at : at + 4], "big") for at in (16, 20)] == [
        int(2 * width),
        int(2 * height),
    ]
    rows = list(csv.DictReader(saved["CSV"].decode().splitlines()))
    series = synthetic_load.stepped().record.series
    p50 = [(float(row["x"]), float(row["y"])) for row in rows if row["name"] == "p50"]
    assert len(p50) == sum(each is not None for each in series.p50_ns)
    for (time_s, value), at, real in zip(p50, series.at_ns, series.p50_ns, strict=True):
        assert time_s == pytest.approx((at + 5e7) / 1e9, abs=0.01) and value == pytest.approx(real, rel=0.002)


def test_rows_of_a_chart_are_saved_with_their_names_and_none_is_computed(
    window: Window, folder: Path
) -> None:
    marks = [Segment(0, 40, "#0072b2", "40 /s"), RowPoint(35, "35 /s in block 1")]
    drawn = RowChart(
        count_axis(AxisScale(0, 100)), [ChartRow('=HYPERLINK("x")', marks, "40"), ChartRow("a, b", marks)]
    )
    chart = Chart[None]("speed", "Throughput", "", lambda _: picture(drawn, "says"))
    page = window.opened(made(folder, Charts([chart.of(None)])))
    with page.expect_download() as found:
        page.get_by_label("Save Throughput as CSV").press("Enter")
    rows = list(csv.DictReader(Path(found.value.path()).read_text(encoding="utf-8").splitlines()))
    assert [(row["name"], row["x"], row["x_to"], row["says"]) for row in rows] == [
        ('\'=HYPERLINK("x")', "0", "40", "40 /s"),
        ('\'=HYPERLINK("x")', "35", "35", "35 /s in block 1"),
        ("a, b", "0", "40", "40 /s"),
        ("a, b", "35", "35", "35 /s in block 1"),
    ]


def test_saved_values_have_no_digits_that_the_drawing_lacks_and_none_for_what_lies_beyond(
    window: Window, folder: Path
) -> None:
    y = count_axis(AxisScale(0, 3000))
    marks = [
        Area("#0072b2", left=1, right=2, low=0, high=9, title="9 answers"),
        Area("#0072b2", left=3, right=4, title="the knee"),
    ]
    row = ChartRow("a", [RowPoint(700, "700 /s"), RowPoint(0.05, "0.05 /s")])
    graph, rowed = Graph(seconds_axis(10), y, marks), RowChart(count_axis(AxisScale(0, 1)), [row])
    charts = [
        Chart[None]("histogram", "Histogram", "", lambda _: picture(graph, "says")),
        Chart[None]("speed", "Speed", "", lambda _: picture(rowed, "says")),
    ]
    page = window.opened(made(folder, Charts([chart.of(None) for chart in charts])))
    rows = {}
    for chart in charts:
        with page.expect_download() as found:
            page.get_by_label(f"Save {chart.title} as CSV").press("Enter")
        for saved in csv.DictReader(Path(found.value.path()).read_text(encoding="utf-8").splitlines()):
            rows[saved["says"]] = [saved[name] for name in ("x", "x_to", "y", "y_to")]
    assert rows == {
        "9 answers": ["1", "2", "0", "9"],
        "the knee": ["3", "4", "", ""],
        "700 /s": ["", "", "", ""],
        "0.05 /s": ["0.05", "0.05", "", ""],
    }


@pytest.mark.parametrize("kind", made_pages.KINDS)
def test_every_button_that_saves_does_so(window: Window, folder: Path, kind: str) -> None:
    page = window.opened(written(folder, kind))
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    buttons = page.locator("figure button[aria-label^=Save]")
    assert buttons.count() == 3 * page.locator("figure.chart:has(svg[data-x])").count()
    errors, requests = list[str](), list[str]()
    with listening(page, requests, errors):
        for button in buttons.all():
            with page.expect_download(timeout=SAVES_MS) as found:
                button.press("Enter")
            content = Path(found.value.path()).read_bytes()
            assert content and (b"\r\n" in content[:-2] or button.text_content() != "CSV")
    assert errors == []


@pytest.mark.parametrize("said", ["-2+3+cmd|' /C calc'!A0", " =1+1", "\n=1", "\t@x", "+a", "＝1"])
def test_no_cell_of_a_saved_chart_is_computed(window: Window, folder: Path, said: str) -> None:
    drawn = RowChart(count_axis(AxisScale(-10, 10)), [ChartRow("a", [RowPoint(-5, said)])])
    chart = Chart[None]("speed", "Throughput", "", lambda _: picture(drawn, "says"))
    page = window.opened(made(folder, Charts([chart.of(None)])))
    with page.expect_download() as found:
        page.get_by_label("Save Throughput as CSV").press("Enter")
    with Path(found.value.path()).open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    # A number is no formula, also a negative one.
    assert row["says"].startswith("'") and row["x"] == "-5"


def test_what_is_below_a_number_and_what_has_two_units_is_sorted_as_a_number(
    window: Window, folder: Path
) -> None:
    for given in (
        ["below 0.01\u202f%", "0.5\u202f%", "50\u202f%", "above 99.99\u202f%"],
        [
            "900\u202fms",
            "45\u202fs",
            "1\u202fmin 30\u202fs",
            "2\u202fmin",
            "1\u202fh",
            "1\u202fh 12\u202fmin",
        ],
        ["900", "1,000", "12.5k", "13k", "3.4M"],
    ):
        cells = [*reversed(given), *["–"] * 21]
        page = window.opened(made(folder, table(("Value", cells))))
        page.locator("thead button").first.press("Enter")
        assert first_cells(page)[: len(given)] == given


@pytest.mark.parametrize("way", ["1280", "no script"])
def test_a_link_into_a_fold_opens_it(window: Window, folder: Path, way: str) -> None:
    file = written(folder, "run")
    page = window.opened(file, NAMED[way])
    rows = page.locator("table.trials tbody tr[id]")
    assert not rows.nth(7).is_visible()
    page = window.opened(file, NAMED[way], f"#{rows.nth(7).get_attribute('id')}")
    assert page.locator("table.trials tbody tr[id]").nth(7).is_visible()


def test_the_script_is_what_pages_py_hashes() -> None:
    assert f'<script type="module">{pages.SCRIPT}</script>' in made_pages.KINDS["load"]()


@pytest.mark.parametrize(
    ("kind", "hovered", "address"),
    [
        ("run", "table.trials tbody tr[id]", "#trial-"),
        ("run", "figure.chart", "#chart-"),
        ("run", ".inside[id]", "#TJ-"),
        ("find", "tr[id^=level-]", "#level-"),
    ],
)
def test_claims_charts_trials_and_levels_show_their_address_where_the_pointer_is(
    window: Window, folder: Path, kind: str, hovered: str, address: str
) -> None:
    page = window.opened(written(folder, kind))
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    subject = page.locator(hovered).first
    link = subject.locator(".here").first
    page.mouse.move(0, 0)
    assert link.evaluate("link => getComputedStyle(link).opacity") == "0"
    subject.hover()
    assert link.evaluate("link => getComputedStyle(link).opacity") == "1"
    found = link.get_attribute("href") or ""
    assert found.startswith(address) and page.locator(f'[id="{found[1:]}"]').count() == 1
    page.mouse.move(0, 0)
    link.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert link.evaluate("link => getComputedStyle(link).opacity") == "1"
    page.keyboard.press("Enter")
    assert page.url.endswith(found)
