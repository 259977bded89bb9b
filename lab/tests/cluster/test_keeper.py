"""The keeper of a cluster as a process: its hosts are scripts on this machine, in place of a shell."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import other_hosts
import pytest
import real_engine
from crumple.cluster.keeper import Keeping

pytestmark = [pytest.mark.starts, pytest.mark.parallel]

KEEPER = (sys.executable, "-m", "crumple.cluster.keeper")
Start = Callable[..., subprocess.Popen[str]]
# Seconds for a keeper to begin its shells, also on a busy machine; and to end, while it waits for one for 30.
BEGUN_S, ENDED_S = 60.0, 20.0
# What a script does to answer the first line as a shell does.
ANSWERS = ("read -r line", 'eval "$line"')
# It never answers, and ends with its input.
SILENT = "while read -r line; do :; done"


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a keeper of these hosts; all end with the test."""
    real_engine.used(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ExitStack() as held:

        def started(*hosts: str, listen: str = "") -> subprocess.Popen[str]:
            process = held.enter_context(
                subprocess.Popen(KEEPER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            held.callback(process.kill)
            assert process.stdin
            keeping = Keeping(hosts=hosts, crumple="crumple", listen=listen)
            process.stdin.write(f"{keeping.model_dump_json()}\n")
            process.stdin.close()
            return process

        yield started


def _host(script: Path, *lines: str) -> str:
    """The command of a host whose shell is this script."""
    script.write_text("".join(f"{line}\n" for line in lines))
    return f"sh {script}"


def _said(keeper: subprocess.Popen[str]) -> list[dict[str, str]]:
    """All that a keeper says until it ends."""
    assert keeper.stdout
    return [json.loads(line) for line in keeper.stdout]


def test_of_two_that_come_up_at_once_the_second_is_refused(start: Start, tmp_path: Path) -> None:
    began = tmp_path / "began"
    start(_host(tmp_path / "slow", f"echo > {began}", SILENT))
    assert other_hosts.at_last(began.exists, BEGUN_S)
    second = start(_host(tmp_path / "other", SILENT))
    remedy = "end it: crumple cluster down, or Ctrl-C where it comes up"
    assert _said(second) == [{"error": f"a cluster is up, or comes up; {remedy}"}]


@pytest.mark.parametrize("answers", [(), (*ANSWERS, "read -r line")], ids=["opening", "joining"])
def test_while_it_comes_up_it_ends_at_once_with_its_shells(
    start: Start, tmp_path: Path, answers: tuple[str, ...]
) -> None:
    began = tmp_path / "began"
    host = _host(tmp_path / "slow", *answers, f"echo $$ > {began}", "exec sleep 100")
    keeper = start(host, listen="127.0.0.1")
    assert other_hosts.at_last(lambda: began.exists() and began.read_text().endswith("\n"), BEGUN_S)
    keeper.terminate()
    keeper.wait(ENDED_S)
    assert other_hosts.ended([int(began.read_text())])


def test_a_host_that_writes_something_else_is_said(start: Start, tmp_path: Path) -> None:
    host = _host(tmp_path / "strange", "echo crumple-cluster nonsense", SILENT)
    error = f"{host} wrote what is not understood: b'crumple-cluster nonsense'"
    assert _said(start(host)) == [{"host": host, "error": error}]


def test_without_an_address_of_this_machine_one_is_asked_for(start: Start, tmp_path: Path) -> None:
    host = _host(tmp_path / "host", """echo 'crumple-cluster {"seen": "UNKNOWN"}'""", SILENT)
    message = "it is not known at which address the hosts reach this machine"
    assert _said(start(host)) == [{"error": f"{message}; name one of its addresses: --listen ADDRESS"}]


def test_whatever_ends_it_is_said(start: Start) -> None:
    ended = subprocess.run(KEEPER, input="no order\n", capture_output=True, text=True, check=False)
    (said,) = map(json.loads, ended.stdout.splitlines())
    assert said["error"].startswith("what holds the cluster has ended: ValidationError: 1 validation error")
