"""A result is not lost because a stream is closed or an encoding lacks a character."""

import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import documents
import pytest
import synthetic_load

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

MAIN = [sys.executable, "-m", "crumple"]
# The environment of a locale that Python does not treat as UTF-8.
POSIX = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A URL with a listener, and an engine that returns the record of a good load on it."""
    record = tmp_path / "record.json"
    # The command asks for 50 connections.
    went_well = synthetic_load.closed().record.model_copy(update={"users": 50})
    record.write_text(went_well.model_dump_json(by_alias=True))
    loaded = f"record = json.load(open({str(record)!r})); record['spec'] = spec"
    monkeypatch.setenv("CRUMPLE_ENGINE", str(documents.fake_engine(tmp_path, loaded)))
    with socket.create_server(("127.0.0.1", 0)) as listens:
        yield f"http://127.0.0.1:{listens.getsockname()[1]}/caf\N{LATIN SMALL LETTER E WITH ACUTE}"


def _crumple(*arguments: str, closed: str = "", **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *MAIN, *arguments]
    return subprocess.run(command, capture_output=True, env={**os.environ, **variables})


@pytest.mark.parametrize("closed", [">&-", ">&- <&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_with_closed_streams_files_are_still_written(measured: str, tmp_path: Path, closed: str) -> None:
    written = tmp_path / "series.csv"
    done = _crumple("load", measured, "--csv", str(written), closed=closed)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr
    assert written.read_text().startswith("at_ns,")


@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}, POSIX], ids=str
)
def test_a_character_that_the_encoding_lacks_becomes_a_plain_one(
    measured: str, variables: dict[str, str]
) -> None:
    done = _crumple("load", measured, **variables)
    assert done.returncode == 0, done.stderr
    assert b"######" in done.stdout and b"p99.9" in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_has_the_same_data_in_every_encoding(measured: str, encoding: str) -> None:
    done = _crumple("load", measured, "--json", PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode(encoding))["url"] == measured


def test_too_little_memory_is_one_line(measured: str) -> None:
    command = ["sh", "-c", 'ulimit -v 120000; exec "$@"', "sh", *MAIN, "load", measured]
    done = subprocess.run(command, capture_output=True, text=True)
    said = "no more than 120,000 KiB of memory may be addressed here; raise the limit: ulimit -v 196608\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_what_an_encoding_lacks_is_written_so_that_it_can_be_read() -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii", errors="crumple-plain")
    stream.write("✓ valid, ✗ not, 3\u202fµs ≤ 4, █▁⠿\u2800|, 5 × 6 – 7 … 名")
    stream.flush()
    assert written.getvalue().decode() == "ok valid, x not, 3 us <= 4, #.# |, 5 x 6 - 7 ... ?"
