"""A site of made-up results of all kinds: pages, links, what is drawn again, and what cannot be read."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import made_results
import made_searches
import made_sites
import made_versus
import pytest
import synthetic_load
import synthetic_run
from crumple.contract import TrialSpec
from crumple.drawing import page_document
from crumple.results import result_store
from crumple.run import run_file
from crumple.run.store import RunStore
from crumple.site import site_build, site_pages, site_reading
from crumple.site.site_build import SiteBuilt
from crumple.site.site_files import RECORD

Build = Callable[[], SiteBuilt]
# What a name, a tag or an answer may hold that somebody wants to run.
MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "public"


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path) -> Build:
    """Build the site of a store of its own."""
    monkeypatch.setenv("CRUMPLE_RUNS", str(tmp_path / "runs"))
    # All programs together: a test does not change them.
    monkeypatch.setattr(site_build, "_made_by", lambda: "a test")
    return lambda: site_build.build(folder, made_sites.stored(tmp_path / "runs"), lambda *_: None)


class Page(HTMLParser):
    """Where a page leads, what it runs, and its words."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.words: list[str] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.links += [value for name, value in attrs if name == "href" and value]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def pages(folder: Path) -> dict[str, Page]:
    return {str(file.relative_to(folder)): Page(file) for file in sorted(folder.rglob("*.html"))}


def a_store_of_all(tmp_path: Path) -> None:
    """Store three loads of one question, one of another, and one result or run of each other kind."""
    for hour in range(3):
        made_sites.stored_load(f"same-{hour}", hour, tags=["main"])
    result_store.keep(made_results.of_load(synthetic_load.constant(), tags=["rate"]), "other")
    result_store.keep(made_results.of_diagnosis(made_results.diagnosis()), "why")
    result_store.keep(made_results.of_versions(made_versus.result()), "two")
    result_store.keep(made_results.of_search(made_searches.finding("never")), "search")
    run = synthetic_run.run_file()
    store = RunStore.create(tmp_path / "runs", run.id)
    assert store is not None
    run_file.write(store, run)
    for trial in synthetic_run.trials():
        store.add(trial)


@pytest.mark.long
@pytest.mark.weighs
def test_a_site_has_every_result_and_every_link_leads_to_a_page(
    build: Build, folder: Path, tmp_path: Path
) -> None:
    a_store_of_all(tmp_path)
    built = build()
    assert (built.results, built.unreadable) == (8, ())
    found = pages(folder)
    assert built.drawn == len(found) and built.kept == 0
    for file, page in found.items():
        for link in page.links:
            if not re.match(r"#|[a-z]+:", link):
                target, _, place = link.partition("#")
                there = (folder / file).parent / target if target else folder / file
                assert there.resolve().is_relative_to(folder) and there.is_file(), (file, link)
                assert not place or f'id="{place}"' in there.read_text(), (file, link)
    index = found["index.html"]
    runs = [file for file in found if file.startswith("runs/")]
    of_results = [
        f"results/{name}.html" for name in ("same-0", "same-1", "same-2", "other", "why", "two", "search")
    ]
    assert {*of_results, *runs} <= {*index.links} and len(runs) == 1
    assert "../results/same-2.html" in found["compare/same-0.same-2.html"].links
    for file in of_results:
        assert "../index.html" in found[file].links


@pytest.mark.long
def test_only_what_changed_is_drawn_again(build: Build, folder: Path) -> None:
    for hour in range(8):
        made_sites.stored_load(f"same-{hour}", hour)
    first = build()
    again = build()
    assert (again.drawn, again.kept) == (0, first.drawn)
    inodes = {file: file.stat().st_ino for file in folder.rglob("*.html")}
    made_sites.stored_load("same-8", 8)
    built = build()
    redrawn = {
        str(file.relative_to(folder))
        for file in folder.rglob("*.html")
        if inodes.get(file) != file.stat().st_ino
    }
    # The new one, the one before, whose page now leads to it, the series, the index, and its comparisons.
    assert {"index.html", "results/same-8.html", "results/same-7.html"} < redrawn
    assert len(redrawn) == built.drawn
    assert {file.split("/")[0] for file in redrawn} == {"index.html", "results", "series", "compare"}
    assert not {f"results/same-{hour}.html" for hour in range(7)} & redrawn
    assert all("same-8" in file for file in redrawn if file.startswith("compare/"))


def test_another_version_of_crumple_draws_all_again(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    made_sites.stored_load("a")
    first = build()
    monkeypatch.setattr(site_build, "_made_by", lambda: "another")
    again = build()
    assert (again.drawn, again.kept) == (first.drawn, 0)


def test_a_result_that_was_removed_has_no_page_any_more(build: Build, folder: Path) -> None:
    made_sites.stored_load("a")
    made_sites.stored_load("b", 1)
    build()
    (result_store.folder() / "a.json").unlink()
    build()
    assert {file for file in pages(folder) if file.startswith("results/")} == {"results/b.html"}
    assert [*folder.glob("compare/*")] == []


def damaged(name: str, text: str) -> None:
    result_store.folder().mkdir(parents=True, exist_ok=True)
    (result_store.folder() / f"{name}.json").write_text(text)


def test_what_cannot_be_read_is_listed_with_the_reason_and_stops_nothing(build: Build, folder: Path) -> None:
    whole = made_sites.stored_load("whole")
    text = json.dumps(whole)
    damaged("cut-off", text[: len(text) // 2])
    damaged("older", json.dumps({**whole, "version": 0}))
    damaged("of-the-future", json.dumps({**whole, "kind": "fleet"}))
    damaged("without-a-date", json.dumps({**whole, "began": "yesterday"}))
    damaged("no-machine", json.dumps({name: value for name, value in whole.items() if name != "machine"}))
    damaged("a-list", "[1, 2]")
    damaged("empty", "")
    built = build()
    assert built.results == 8
    why = {entry.row.name: entry.row.damaged for entry in built.unreadable}
    assert len(why) == 7 and all(why.values())
    assert "is not JSON, or is damaged" in why["cut-off"]
    assert "is not a result of this version of crumple" in why["older"]
    index = pages(folder)["index.html"]
    assert "results/whole.html" in index.links
    for name in why:
        assert f"{name} : " in index.text


def test_a_load_of_another_version_is_listed_with_the_field_that_is_wrong(build: Build) -> None:
    whole = made_sites.stored_load("whole")
    del whole["record"]["spec"]["requests"]
    damaged("older", json.dumps(whole))
    (entry,) = build().unreadable
    assert "requests: is missing" in entry.row.damaged


def test_a_load_that_fails_is_in_no_level(build: Build) -> None:
    result_store.keep(made_results.of_load(synthetic_load.failing()), "failing")
    made_sites.stored_load("whole")
    build()
    against = {
        entry.row.name: {figure.title: figure.against for figure in entry.figures}
        for entry in (
            site_reading.entry_of(each, "") for each in made_sites.stored(result_store.folder().parent)
        )
    }
    assert against["failing"]["Throughput"] == "more than 1 % of its requests failed"
    assert not any(against["whole"].values())


def test_a_result_that_cannot_be_drawn_has_a_page_that_says_so(
    build: Build, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_sites.stored_load("a")
    made_sites.stored_load("b", 1)
    real = site_pages._result

    def drawn(stored: Any, links: Any) -> Any:
        if stored.name == "a":
            raise ZeroDivisionError("division by zero")
        return real(stored, links)

    monkeypatch.setattr(site_pages, "_result", drawn)
    build()
    found = pages(folder)
    assert "This page cannot be drawn: ZeroDivisionError: division by zero." in found["results/a.html"].text
    assert "cannot be drawn" not in found["results/b.html"].text


@pytest.mark.parametrize(
    "name", [MARKUP.replace("/", "∕"), "con", "x" * 200, "a..b", "a b&c=d#e?f%2e", "ünï", "-rf"]
)
def test_hostile_names_and_tags_are_text_and_have_safe_pages(build: Build, folder: Path, name: str) -> None:
    made_sites.stored_load("plain", 1)
    whole = result_store.read(result_store.folder() / "plain.json")
    damaged(
        name, json.dumps({**whole, "name": name, "tags": [MARKUP, name], "headline": MARKUP, "asked": MARKUP})
    )
    assert build().unreadable == ()
    found = pages(folder)
    assert len([file for file in found if file.startswith("results/")]) == 2
    for file, page in found.items():
        assert re.fullmatch(r"(results|series|compare)/[a-z0-9~._-]+\.html|index\.html", file)
        assert "img" not in page.tags and not [each for each in page.attributes if each.startswith("on")]
        text = (folder / file).read_text()
        assert "<script>alert" not in text and "<img src=x" not in text
    assert MARKUP in found["index.html"].text


def test_results_of_several_machines_are_in_one_series_in_which_the_change_is_marked(
    build: Build, folder: Path
) -> None:
    here = made_sites.stored_load("here", 0)["machine"]
    made_sites.stored_load("there", 1, machine={**here, "cpu_model": "Another 9", "kernel": "9.9.9"})
    build()
    (series,) = [page for file, page in pages(folder).items() if file.startswith("series/")]
    assert "1 time on another machine than before" in series.text
    assert "cpu model was" in series.text and "is Another 9" in series.text


def test_loads_of_another_shape_are_another_series(build: Build, folder: Path) -> None:
    made_sites.stored_load("a")
    result_store.keep(made_results.of_load(synthetic_load.constant()), "b")
    build()
    assert len([*(folder / "series").glob("*.html")]) == 2


def test_a_page_of_a_site_holds_the_result(build: Build, folder: Path) -> None:
    kept = made_sites.stored_load("a")
    build()
    held = page_document.read((folder / "results" / "a.html").read_text(), "a.html")
    assert held == kept
    assert TrialSpec.model_validate(kept["record"]["spec"]) == synthetic_load.closed().record.spec


def test_pages_run_and_fetch_nothing(build: Build, folder: Path) -> None:
    made_sites.stored_load("a")
    made_sites.stored_load("b", 1)
    build()
    for file, page in pages(folder).items():
        text = (folder / file).read_text()
        assert "default-src &#39;none&#39;" in text and "link" not in page.tags, file


def test_nothing_stored_is_a_site_that_says_so(build: Build, folder: Path) -> None:
    built = build()
    assert (built.results, built.drawn) == (0, 1)
    assert "Nothing is stored yet that can be read." in pages(folder)["index.html"].text
    assert json.loads((folder / RECORD).read_text())["entries"] == []
