"""What `crumple diagnose` makes of servers with a fault, and where it may not look: no wrong number."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import experimenting
import fault_servers
import pytest
import tried
from command_line import BY_THE_MACHINE, Call
from crumple.errors import UsageError
from crumple.machine import process_tree
from diagnosing import ROOT, call, short, short_program
from faulty_servers import NOBODY, as_nobody

__all__ = ["call", "short"]

pytestmark = [pytest.mark.starts, pytest.mark.parallel]
QUICK = ("--no-search", "--quiet", "--seed", "3")


def diagnosed(call: Call, *words: str) -> dict[str, Any]:
    """The JSON of a diagnosis that succeeds."""
    code, out, err = call(*words, *QUICK, "--json")
    assert code == 0, err
    said: dict[str, Any] = json.loads(out)
    return said


def of_waiting(said: dict[str, Any]) -> dict[str, Any]:
    """A diagnosis of a load by which requests wait. Only then it says what they may wait for."""
    if "none" in named(said):
        raise tried.SpoiledError(f"a request alone took as long as under load: {said['findings'][0]}")
    return said


def named(said: dict[str, Any]) -> set[str]:
    """The causes that it found."""
    return {each["cause"] for each in said["findings"] if each["kind"] == "finding"}


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        ("404", "mend the URL, or say what counts as ok: --expect-status STATUS"),
        ("500", "mend the URL, or say what counts as ok: --expect-status STATUS"),
        ("302", "it redirects, which is not followed; diagnose where it leads: http://127.0.0.1:1/elsewhere"),
        ("401", "it wants a login: give what it asks for, as in -H 'Authorization: …'"),
    ],
)
def test_a_url_that_answers_something_else_is_one_line(
    call: Call, short: None, status: str, remedy: str
) -> None:
    with fault_servers.serving(status) as served:
        code, out, err = call(f"http://{served.at}/", *QUICK)
    assert (code, out, err.count("\n")) == (1, "", 1), err
    assert f"nothing is answered as expected: status {status} × " in err and remedy in err


def test_a_redirect_to_a_login_asks_for_what_a_user_sends(call: Call, short: None) -> None:
    with fault_servers.serving("login") as served:
        code, out, err = call(f"http://{served.at}/", *QUICK)
    assert (code, out, err.count("\n")) == (1, "", 1), err
    assert "it redirects to /login?next=/, which looks like a login: " in err and "-H 'Cookie: …'" in err


def test_an_error_that_is_expected_can_be_diagnosed(call: Call, short: None) -> None:
    with fault_servers.serving("404") as served:
        said = diagnosed(call, f"http://{served.at}/", "--expect-status", "404")
    assert said["observed"]["work"]["answers"] > 0 and said["who_waits"]["who"] == "threads"


def test_idle_connections_ask_with_the_fields_of_the_work(call: Call, short: None) -> None:
    # Without them the server refuses each and closes its connection.
    fields = ("-H", "Authorization: Bearer key", "-H", "Host: shop.example")
    with fault_servers.serving("login-and-host") as served:
        said = diagnosed(call, f"http://{served.at}/", *fields)
    held = said["observed"]["held"]
    assert (held["kept"], held["accepted"], held["connections"]) == (True, 24, 24)
    assert said["observed"]["memory"]["why"] == ""


@pytest.mark.parametrize("how", ["closes", "http-1.0"])
def test_a_server_that_closes_each_connection_is_diagnosed(call: Call, short: None, how: str) -> None:
    with fault_servers.serving(how) as served:
        said = diagnosed(call, f"http://{served.at}/")
    held = said["observed"]["held"]
    assert (held["kept"], held["accepted"], held["connections"]) == (False, 24, 24)
    assert said["observed"]["work"]["answers"] > 0 and said["observed"]["failed"] == {}
    assert said["who_waits"]["who"] == "threads"


def test_a_server_that_dies_meanwhile_is_one_line(call: Call, short: None) -> None:
    with fault_servers.serving("dies", after=60) as served:
        code, out, err = call(f"http://{served.at}/", *QUICK)
        fault_servers.wait_for_end(served.process)
        assert served.process.poll() == 3
    assert (code, out, err.count("\n")) == (3, "", 1), err
    # The test has not waited for it when it ends, so the kernel shows how it ended.
    assert f"its process {served.process.pid} ended with code 3" in err and "the server was lost" in err


def test_a_server_that_dies_unwatched_is_one_line(
    call: Call, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "owner", _hidden)
    with fault_servers.serving("dies", after=60) as served:
        code, out, err = call(f"http://{served.at}/", *QUICK)
    assert (code, out, err.count("\n")) == (3, "", 1), err
    assert f"nobody listens at {served.at}" in err


def test_a_server_that_stops_answering_is_one_line(call: Call, short: None) -> None:
    with fault_servers.serving("hangs", after=60) as served:
        code, out, err = call(f"http://{served.at}/", *QUICK)
    assert (code, out, err.count("\n")) == (3, "", 1), err
    assert "the server was lost" in err and "got no answer in" in err


def test_a_server_in_which_requests_wait_for_one_another_is_named(call: Call, short: None) -> None:
    """One at a time is answered; with 64 none ever is, so nothing further can be asked of it."""
    with limited("circle") as port:
        said = diagnosed(call, f"http://127.0.0.1:{port}/")
    assert named(said) == {"standstill"}


@contextmanager
def limited(kind: str) -> Iterator[int]:
    """Start a server of this kind (`limited_server`); give its port."""
    server = subprocess.Popen([sys.executable, experimenting.SERVER, kind], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline())
    finally:
        server.kill()
        server.wait()


def test_https_is_diagnosed(call: Call, short: None, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    pem = fault_servers.certificate(tmp_path)
    with fault_servers.serving("tls", more=[str(pem)]) as served:
        said = diagnosed(call, f"https://{served.at}/", "--insecure")
        code, out, err = call(f"https://{served.at}/", *QUICK)
    assert said["observed"]["work"]["answers"] > 0 and said["observed"]["held"] is None
    assert (code, out, err.count("\n")) == (1, "", 1) and "TLS failed" in err, err


def test_an_answer_that_comes_by_udp_is_not_ruled_out(call: Call, short: None) -> None:
    with fault_servers.serving("udp") as served:
        said = tried.until_shown(lambda: of_waiting(diagnosed(call, f"http://{served.at}/")))
    why = {each["cause"]: each["why"] for each in said["findings"] if each["kind"] == "unclear"}
    assert "dependency" in named(said) or "UDP sockets" in why["dependency"]


@contextmanager
def in_front_of(address: str) -> Iterator[int]:
    """Run a proxy in front of a server; yield its port."""

    def started() -> tuple[int, subprocess.Popen[bytes]]:
        port = process_tree.free_port()
        proxy = ["socat", f"TCP-LISTEN:{port},fork,reuseaddr,backlog=1024", f"TCP:{address}"]
        front = subprocess.Popen(proxy, stderr=subprocess.DEVNULL)
        fault_servers.wait_for_listener(port)
        if front.poll() is not None:
            raise tried.SpoiledError(f"another program has taken port {port}")
        return port, front

    port, front = tried.until_shown(started)
    try:
        yield port
    finally:
        front.terminate()
        front.wait()


@pytest.mark.parametrize("words", [("load", "-z", "1s"), ("diagnose", *QUICK)])
def test_behind_a_proxy_the_stages_are_not_those_of_the_server_that_is_named(
    short: None, words: tuple[str, ...]
) -> None:
    if shutil.which("socat") is None:
        pytest.skip("needs socat")
    with fault_servers.serving("200") as served, in_front_of(served.at) as port:
        watched = ["--watch", str(served.process.pid), "--json"]
        ran = subprocess.run(
            [*short_program(), words[0], f"http://127.0.0.1:{port}/", *words[1:], *watched],
            capture_output=True,
            text=True,
            check=False,
        )
    said = json.loads(ran.stdout)
    # Nothing else than the machine may make the load not valid, and its record has what is asked here.
    assert ran.returncode == 0 or said["validity"]["word"] in BY_THE_MACHINE, ran.stderr
    why = said["stages"]["why"] if words[0] == "load" else said["time_beyond"]["why"]
    assert f"another program than process {served.process.pid} listens at 127.0.0.1:{port}" in why


def test_a_process_that_is_hidden_is_not_said_to_be_missing(short: None, open_cache: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv")
    mount = "mount -t proc -o hidepid=2 proc /proc"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode != 0:
        pytest.skip("no /proc may be mounted here")
    program = (
        "import sys; from crumple.errors import UsageError; from crumple.load import load_options\n"
        "for what in sys.argv[1:]:\n"
        "    try: load_options.watched_pid(what)\n"
        "    except UsageError as error: print(error)\n"
    )
    with fault_servers.serving("200") as served:
        watched = [str(served.process.pid), f":{served.at.rpartition(':')[2]}"]
        words = [*NOBODY, sys.executable, "-c", program, *watched]
        inside = f'{mount} && exec "$@"'
        ran = subprocess.run(
            ["unshare", "-m", "sh", "-c", inside, "sh", *words],
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": str(open_cache)},
            check=False,
        )
    if "ermission denied" in ran.stderr or "ModuleNotFound" in ran.stderr:
        pytest.skip("another user may not run the program here")
    named, listening = ran.stdout.splitlines()
    assert "belongs to another user, and is hidden from this one; run as that user" in named
    assert "belongs to another user; run as that user" in listening


def _hidden(_: int) -> int:
    raise UsageError("whoever listens there belongs to another user", "name its process: --watch PID")


def test_a_server_that_may_not_be_watched_has_unknown_figures(
    call: Call, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "owner", _hidden)
    with fault_servers.serving("200") as served:
        said = diagnosed(call, f"http://{served.at}/", "--slow", "/", "--heavy", "/")
    assert said["pid"] is None and said["unwatched"].startswith("whoever listens there")
    assert "who" not in said["who_waits"] and "value" not in said["computes"]
    unclear = {each["cause"] for each in said["findings"] if each["kind"] == "unclear"}
    assert {"cpu", "descriptors", "slow-pool", "dependency"} <= unclear
    assert not named(said) & {"cpu", "one-loop", "gate", "slow-pool", "memory", "switches"}


@pytest.fixture
def open_cache() -> Iterator[Path]:
    """A folder that any user may write to, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@as_nobody
def test_the_server_of_another_user_has_unknown_figures(short: None, open_cache: Path) -> None:
    environment = {**os.environ, "CRUMPLE_ROOT": str(ROOT), "XDG_CACHE_HOME": str(open_cache)}
    import_ = [*NOBODY, sys.executable, "-c", "import crumple.cli"]
    readable = subprocess.run(import_, capture_output=True, env=environment, check=False)
    if readable.returncode != 0:
        pytest.skip("another user may not run the program here")

    def attempt() -> dict[str, Any]:
        ran = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
        assert ran.returncode == 0, ran.stderr
        return of_waiting(json.loads(ran.stdout))

    with fault_servers.serving("200") as served:
        watched = ["--watch", str(served.process.pid)]
        words = [*NOBODY, *short_program(), "diagnose", f"http://{served.at}/", *watched, *QUICK, "--json"]
        said = tried.until_shown(attempt)
    assert said["observed"]["held"]["accepted"] is None
    unclear = {each["cause"]: each["why"] for each in said["findings"] if each["kind"] == "unclear"}
    assert {"descriptors", "dependency"} <= unclear.keys(), unclear


def test_a_server_in_another_network_namespace_has_unknown_figures(
    call: Call, short: None, tmp_path: Path
) -> None:
    fault_servers.needs_a_namespace()
    at = str(tmp_path / "socket")
    with fault_servers.serving("200", at=at, before=fault_servers.IN_A_NAMESPACE) as served:
        watched = ("--watch", str(served.process.pid), "--unix-socket", at)
        said = diagnosed(call, "http://localhost/", *watched)
    assert said["observed"]["work"]["answers"] > 0 and said["observed"]["held"] is None
    assert "inside" not in json.dumps(said["time_beyond"]) or said["time_beyond"] is None
    assert not named(said) & {"workers", "idle-connections", "dependency"}


@pytest.mark.parametrize(
    ("step", "keeps"), [("searching the breaking point", True), ("one request at a time", False)]
)
def test_ctrl_c_ends_it_and_keeps_what_was_measured(short: None, step: str, keeps: bool) -> None:
    program = Path(sys.executable).parent / "crumple"
    with (
        fault_servers.serving("hangs", after=10**6 if keeps else 0) as served,
        subprocess.Popen(
            [program, "diagnose", f"http://{served.at}/", "--seed", "3"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as ran,
    ):
        assert ran.stderr is not None and ran.stdout is not None
        for line in ran.stderr:
            if step in line:
                break
        time.sleep(1.0 if keeps else 0.3)
        ran.send_signal(signal.SIGINT)
        began_s = time.monotonic()
        out, err = ran.stdout.read(), ran.stderr.read()
        assert ran.wait(20) == 130 and time.monotonic() - began_s < 10.0
    if keeps:
        assert "no request was answered" not in out
        assert "only what was measured before is shown" in out
        assert "waiting" in out and "time beyond" not in out
    else:
        assert out == "" and err.splitlines()[-1] == "interrupted before the diagnosis was over"
