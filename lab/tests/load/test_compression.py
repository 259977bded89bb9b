"""After a load crumple says whether the server would have compressed its answers, and by how much."""

import gzip
import json
from pathlib import Path

import pytest
import real_engine
import recorder
import synthetic_load
from command_line import Call, caller
from crumple.load.compression import Compressible
from crumple.load.report import load_sentences
from recorder import BODY, Recorder, recording

FLAGS = ("-n", "20", "-c", "2", "--no-watch", "--no-store")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    real_engine.used(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return caller(monkeypatch, capsys, "load")


def beyond(found: Recorder) -> list[str | None]:
    """Return which encodings were accepted by the requests after the load."""
    return [each.value("accept-encoding") for each in found.requests[20:]]


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_that_would_compress_is_named_with_both_sizes(call: Call) -> None:
    with recording() as found:
        code, out, _ = call(found.url("/a?b={seq}"), *FLAGS, "--json")
    assert code in (0, 3)
    load = json.loads(out)
    expected = {"encoding": "gzip", "plain_bytes": len(BODY), "compressed_bytes": len(gzip.compress(BODY))}
    assert load["compressible"] == expected
    # The requests for it are in no figure, and ask for the same.
    assert load["scheduled"] == load["outcomes"]["ok"] == 20
    assert beyond(found) == ["gzip", None] and found.requests[20].path == found.requests[21].path


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("flags", "path"),
    [
        (("-H", "accept-encoding: br"), "/"),
        (("--disable-compression",), "/"),
        (("--like", "oha"), "/"),
        (("-m", "POST"), "/"),
        (("-m", "HEAD"), "/"),
        # Answers that are small, and that are failures.
        ((), "/moved"),
        ((), "/fails"),
    ],
)
def test_it_is_not_asked_where_it_says_nothing_or_may_change_something(
    call: Call, flags: tuple[str, ...], path: str
) -> None:
    with recording() as found:
        code, out, said = call(found.url(path), *FLAGS, *flags, "--json")
    assert code in (0, 1, 3), said
    assert json.loads(out)["compressible"] is None and beyond(found) == []


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_that_does_not_compress_is_asked_once(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_answer", plain)
    with recording() as found:
        code, out, _ = call(found.url(), *FLAGS, "--json")
    assert code in (0, 3) and json.loads(out)["compressible"] is None
    assert beyond(found) == ["gzip"]


def plain(asked: object, stays: bool) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


def test_the_summary_says_so_and_what_to_write() -> None:
    load = synthetic_load.closed(compressible=Compressible("gzip", 39_400, 13_400))
    said = load_sentences.compressible(load)
    assert said.replace("\u202f", " ") == (
        "the server would compress: 38.5 KiB → 13.1 KiB; clients ask for it: -H 'Accept-Encoding: gzip'"
    )
    assert "the server would compress" in synthetic_load.screen(load, 100, styled=False)
    stored = synthetic_load.printed(load)
    assert stored["compressible"] == {"encoding": "gzip", "plain_bytes": 39_400, "compressed_bytes": 13_400}
    assert load_sentences.compressible(synthetic_load.closed()) == ""
