"""`crumple load` on the engine's own null server: real loads, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_engine
from command_line import Call, caller
from conforming import conforms


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple load …` in an empty folder; return (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    return caller(monkeypatch, capsys, "load")


@pytest.fixture
def null_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """The engine's own server: its URL and pid. Skips without the engine."""
    path = real_engine.loaded().path
    monkeypatch.setenv("CRUMPLE_ENGINE", str(path))
    with subprocess.Popen([path, "null-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        port = json.loads(server.stdout.readline())["port"]
        yield f"http://localhost:{port}/", server.pid
        server.stdin.close()


@pytest.fixture(scope="module")
def known_ceilings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all real loads: to measure the engine's ceiling takes three seconds."""
    return tmp_path_factory.mktemp("ceilings")


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        (("-c", "4", "-z", "300ms"), "closed"),
        (("-n", "100", "-c", "4"), "closed"),
        (("--rate", "500", "-z", "300ms"), "open"),
        (("--steps", "200,500", "-z", "400ms"), "open"),
        (("--ramp", "100-900/s:300ms"), "open"),
        (("--ramp", "1-8:300ms", "--pause", "~1ms"), "ramp"),
        (("-c", "4", "-z", "200ms", "--disable-keepalive"), "closed"),
        (("-c", "4", "-z", "200ms", "--source-address", "127.0.0.2-127.0.0.4"), "closed"),
        (("-c", "4", "-z", "200ms", "-d", "{seq} {random:1-9}", "-H", "Id: {seq}"), "closed"),
        (("-c", "4", "-z", "200ms", "--warm-up", "100ms", "--no-kernel-timestamps"), "closed"),
        (("--rate", "500", "-z", "200ms", "--spin", "--arrivals", "even", "--cores", "0"), "open"),
    ],
)
def test_real_loads_on_the_null_server(
    call: Call,
    null_server: tuple[str, int],
    known_ceilings: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    kind: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(known_ceilings))
    url, pid = null_server
    port = url.rsplit(":", 1)[1].rstrip("/")
    code, out, err = call(url, *flags, "--json", "--quiet", "--watch", f":{port}")
    assert code in (0, 3), err
    facts = json.loads(out)
    conforms(facts, "load")
    record = facts["record"]
    assert facts["outcomes"]["ok"] > 0 and record["outcomes"]["wrong-status"] == 0
    assert record["spec"]["shape"]["kind"] == kind
    assert record["spec"]["probe"]["server_pid"] == pid
    assert sum(facts["outcomes"].values()) == facts["scheduled"]


@pytest.mark.starts
@pytest.mark.parallel
def test_ctrl_c_ends_a_real_load_and_shows_its_result(null_server: tuple[str, int], tmp_path: Path) -> None:
    url, _ = null_server
    arguments = [
        sys.executable,
        "-c",
        "from crumple.cli import main; main()",
        "load",
        url,
        "-c",
        "2",
        "-z",
        "1m",
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "CRUMPLE_RUNS": str(tmp_path / "runs")}
    process = subprocess.Popen(
        [*arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    # The first line of the live view shows that the load runs. A line about another crumple may come before.
    assert process.stderr and any("/s" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    facts = json.loads(out)
    assert facts["ended_early"] and facts["outcomes"]["ok"] > 0 and facts["record"]["measured_ns"] < 30e9
    # The same is kept.
    assert json.loads((tmp_path / "runs" / "results" / f"{facts['name']}.json").read_text()) == facts
