"""A change is tried on a second server, which is gone afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tried
from command_line import Call
from conforming import conforms
from diagnosing import call, short, short_program

__all__ = ["call", "short"]

pytestmark = pytest.mark.starts
# Workers that each accept a connection, wait 20 ms, answer and close: as many as the second argument says, or
# a variable. It writes its process id into the folder of the third.
PROGRAM = """
import os, pathlib, socket, sys, threading, time
workers = int(os.environ.get("HOW_MANY", sys.argv[2]))
pathlib.Path(sys.argv[3], f"{workers}.pid").write_text(str(os.getpid()))
listens = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok"
def serve():
    while True:
        with listens.accept()[0] as connection:
            request = b""
            while b"\\r\\n\\r\\n" not in request:
                if not (more := connection.recv(4096)):
                    break
                request += more
            else:
                time.sleep(0.02)
                connection.sendall(ANSWER)
for _ in range(workers - 1):
    threading.Thread(target=serve, daemon=True).start()
serve()
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[list[str]]:
    """The command of a server with two workers, which a slot can change."""
    file = tmp_path / "workers.py"
    file.write_text(PROGRAM)
    (tmp_path / "pids").mkdir()
    yield [sys.executable, str(file), "{port}", "{WORKERS=2}", str(tmp_path / "pids")]


def runs(tmp_path: Path, workers: int) -> bool:
    file = tmp_path / "pids" / f"{workers}.pid"
    return file.exists() and Path(f"/proc/{file.read_text()}").exists()


@pytest.mark.parallel
def test_three_times_the_workers_give_three_times_as_much(
    call: Call, short: None, program: list[str], tmp_path: Path
) -> None:
    def diagnosed() -> dict[str, Any]:
        code, out, err = call(
            *("--no-search", "--only-loads", "--quiet", "--json", "--try", "WORKERS=6", "--", *program)
        )
        assert code == 0, err
        said = json.loads(out)
        conforms(said, "diagnose")
        remedy: dict[str, Any] = said["remedy"]
        gain = remedy["compared"]["gain"]
        if gain["high"] - gain["low"] > 1.2 or gain["high"] < 2.5:
            raise tried.SpoiledError(f"others used the machine: {gain}")
        return remedy

    remedy = tried.until_shown(diagnosed)
    gain = remedy["compared"]["gain"]
    assert gain["low"] < 3 < gain["high"] or 2.8 < gain["estimate"] < 3.2
    assert remedy["change"] == "WORKERS=6" and remedy["problem"] == ""
    assert not runs(tmp_path, 2) and not runs(tmp_path, 6)


@pytest.mark.parallel
def test_a_second_server_that_does_not_start_leaves_the_diagnosis(
    call: Call, short: None, program: list[str], tmp_path: Path
) -> None:
    code, out, err = call(
        *("--no-search", "--only-loads", "--quiet", "--try", "HOW_MANY=many", "--", *program)
    )
    assert code == 1 and "time beyond" in out
    said = " ".join(out.split())
    assert "changed with HOW_MANY=many in its environment: not compared, as it ended with code 1" in said
    assert "--try: it ended with code 1 before it answered; the last it wrote: ValueError" in err
    assert not runs(tmp_path, 2)


@pytest.mark.parallel
def test_if_the_lab_is_killed_both_servers_end(short: None, program: list[str], tmp_path: Path) -> None:
    words = ["diagnose", "--no-search", "--only-loads", "--quiet", "--try", "WORKERS=6", "--", *program]
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    with subprocess.Popen([*short_program(), *words], env=environment, stdout=subprocess.DEVNULL) as lab:
        try:
            wait_until(lambda: runs(tmp_path, 6), 120)
            assert runs(tmp_path, 2)
        finally:
            lab.send_signal(signal.SIGKILL)
    wait_until(lambda: not runs(tmp_path, 2) and not runs(tmp_path, 6), 30)


def wait_until(holds: Any, within_s: float) -> None:
    over_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < over_s
        time.sleep(0.05)
