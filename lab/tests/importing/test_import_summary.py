"""Before the request file is written, import says what was taken, made up and left out, by kind."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from command_line import Call, caller
from crumple.importing import guess
from crumple.importing.import_format import Format
from crumple.importing.recorded import NAMES_MAX, LeftOut, Recorded

URL = "http://shop.example.org"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch, capsys, "import")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a list of URLs have requests of which something is made up."""

    def requests(stream: IO[bytes], file: Path, left_out: LeftOut) -> Iterator[Recorded]:
        del stream, file
        yield Recorded(URL, "GET", "/a")
        for number in range(3):
            yield Recorded(
                URL, "POST", "/b?token=abc", body=str(number), made_up="with values that a schema allows"
            )
        left_out.add("with an example that holds itself", "GET /c")

    urls = guess.FORMATS["urls"]
    monkeypatch.setitem(guess.FORMATS, "urls", Format("urls", requests))
    monkeypatch.setattr(guess, "_SNIFFED", (replace(urls, read=requests),))


def har(*entries: tuple[str, str, int]) -> str:
    asked = [
        {"request": {"method": m, "url": url}, "response": {"status": status}} for m, url, status in entries
    ]
    return json.dumps({"log": {"entries": asked}})


def test_the_summary_has_a_line_for_each_kind_and_comes_first(call: Call, tmp_path: Path) -> None:
    entries = [*[("GET", f"{URL}/", 200)] * 3, ("GET", f"{URL}/a", 200), ("DELETE", f"{URL}/b?key=abc", 204)]
    (tmp_path / "a.har").write_text(har(*entries, ("GET", f"{URL}/c", 0), ("GET", "ws://a/", 101)))
    code, out, err = call("a.har", "--out", "a.toml")
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "a.har (har): 5 of 7 requests, 3 different ones",
        "taken: 4 requests by GET, first GET /",
        "taken: 1 request by DELETE, first DELETE /b?key=…",
        "left out: 1 request that no server answered, first GET http://shop.example.org/c",
        "left out: 1 request whose answer changed the protocol (101), as for a WebSocket, first GET ws://a/",
        f"next: crumple load {URL} --request-file a.toml",
    ]


def test_what_is_made_up_is_said_and_strict_writes_nothing(made: None, call: Call, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("http://a/\n")
    code, _, err = call("urls", "--out", "a.toml")
    line = "made up: 3 requests with values that a schema allows, first POST /b?token=…"
    assert code == 0 and err.splitlines()[1:5] == [
        "taken: 3 requests by POST, first POST /b?token=…",
        "taken: 1 request by GET, first GET /a",
        line,
        "left out: 1 request with an example that holds itself, first GET /c",
    ]
    assert f"# {line}" in (tmp_path / "a.toml").read_text()
    code, out, err = call("urls", "--out", "b.toml", "--strict")
    assert (code, out) == (1, "") and not (tmp_path / "b.toml").exists()
    assert line in err.splitlines() and err.splitlines()[-1] == (
        "3 requests would hold what is made up; nothing is written; "
        "give the document examples for that, or leave out --strict"
    )


def test_only_what_is_taken_counts_as_made_up(made: None, call: Call, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("http://a/\n")
    code, out, err = call("urls", "--strict", "--most", "1")
    assert (code, "made up" in err) == (0, False) and "/b" not in out


def test_strict_changes_nothing_where_nothing_is_made_up(call: Call, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text(f"{URL}/a\n")
    assert call("urls", "--strict") == call("urls")


def test_a_header_that_a_person_wrote_is_sent(call: Call, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(
        f"GET {URL}/\nUser-Agent: me\nHost: b\nCache-Control: no-cache\nCookie: a=b\nConnection: close\n"
    )
    code, out, err = call("t")
    assert code == 0 and 'headers = { User-Agent = "me", Host = "b", Cache-Control = "no-cache" }' in out
    assert "Cookie (1)" in err


def test_names_of_headers_are_bounded() -> None:
    left_out = LeftOut()
    for number in range(NAMES_MAX + 50):
        left_out.header(f"x-{number}")
        left_out.unsendable(f"a b{number}" + "c" * 100)
    assert len(left_out.headers) == len(left_out.unsent) == NAMES_MAX + 1
    assert left_out.headers["others"] == 50
    assert all(len(line) < 2_000 and " and 981 more" in line for line in left_out.said())
