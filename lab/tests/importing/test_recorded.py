"""What other load generators send is what lab/crumple/habits says, and `--like` sends the same."""

import re
import shutil
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import real_engine
import recorder
from command_line import Call, caller
from crumple.habits.tool import Default
from crumple.habits.tools import TOOLS
from peers_called import PEERS, Peer
from recorder import Asked, Recorder, recording

pytestmark = [pytest.mark.starts, pytest.mark.parallel]
# Headers that are declared elsewhere, or are about the message and not its meaning.
BESIDE = {"host", "user-agent", "x-vegeta-seq", "referer", "content-length"}
Kind = tuple[str, str, frozenset[tuple[str, str]], bytes]


def of_all(which: str = "bare") -> pytest.MarkDecorator:
    """Let a test run for each tool that has words of this kind."""
    peers = [each for each in PEERS if which == "bare" or getattr(each, which)]
    return pytest.mark.parametrize("peer", peers, ids=lambda peer: peer.name)


def default(peer: Peer) -> Default:
    return TOOLS[peer.name].default


def headers(asked: Asked) -> frozenset[tuple[str, str]]:
    return frozenset((name.lower(), value) for name, value in asked.headers if name.lower() not in BESIDE)


def kinds(found: Recorder) -> set[Kind]:
    return {(each.method, each.path, headers(each), each.body) for each in found.requests}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "BODY").write_text("abc")
    return tmp_path


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Call:
    """Run `crumple load --like …`."""
    real_engine.used(monkeypatch)
    monkeypatch.chdir(folder)
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(folder / variable))
    return caller(monkeypatch, capsys, "load", "--like")


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """TLS of a server that no client has reason to trust, and that speaks HTTP/2 to whoever offers it."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    made = tmp_path_factory.mktemp("tls")
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    named = ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*new, *named], cwd=made, check=True, capture_output=True)
    return recorder.context(made / "cert.pem", made / "key.pem")


@of_all()
def test_its_default_is_as_declared(peer: Peer, folder: Path) -> None:
    with recording() as found:
        peer.run(peer.bare, found.url("/?ms=20"), folder)
    tool = default(peer)
    declared = frozenset((name.lower(), value) for name, value in tool.headers)
    assert {(each.version, headers(each)) for each in found.requests} == {(tool.version, declared)}
    names = {each.value("user-agent") or "" for each in found.requests}
    assert all(name.startswith(tool.user_agent) and bool(name) == bool(tool.user_agent) for name in names)
    if tool.requests is not None:
        assert len(found.requests) == tool.requests
    # Under a rate connections are opened as they are needed.
    if not tool.rate_per_s:
        assert len(found.asking) == tool.connections


@of_all("some")
def test_it_keeps_connections_and_divides_a_number_as_declared(peer: Peer, folder: Path) -> None:
    with recording() as found:
        peer.run(peer.some, found.url("/?ms=20"), folder)
    each = sorted(len(connection.requests) for connection in found.asking)
    if not default(peer).keeps_alive:
        assert each == [1] * 7
    elif default(peer).equal_parts:
        # hey rounds down.
        assert each == ([2, 2, 2] if peer.name == "hey" else [2, 2, 3])
    else:
        assert sum(each) == 7 and len(each) == 3


@of_all()
def test_it_follows_redirects_as_declared(peer: Peer, folder: Path) -> None:
    with recording() as found:
        peer.run(peer.bare, found.url("/moved?ms=20"), folder)
    asked = Counter(each.path for each in found.requests)
    assert asked["/"] == (asked["/moved?ms=20"] if default(peer).redirects else 0) and asked["/moved?ms=20"]


@of_all()
def test_it_waits_at_the_end_as_declared(peer: Peer, folder: Path) -> None:
    # ab ends with the first answer after its time is over, so these come one by one.
    path = "/?ms=300&more=400" if peer.name == "ab" else "/?ms=1500"
    with recording() as found:
        peer.run(peer.short, found.url(path), folder)
        assert len(found.requests) >= 4
        for _ in range(500):
            if all(each.closed for each in found.connections):
                break
            time.sleep(0.01)
    assert all(each.answered for each in found.requests) == default(peer).waits_at_end


def test_ab_sends_its_first_request_alone(folder: Path) -> None:
    peer = next(each for each in PEERS if each.name == "ab")
    with recording() as found:
        peer.run(["-n", "4", "-c", "4"], found.url("/?ms=300"), folder)
    first, *others = (each.at_s for each in found.requests)
    assert len(others) == 3 and min(others) - first >= 0.3


def test_bombardier_sends_a_request_five_times_that_times_out(folder: Path) -> None:
    peer = next(each for each in PEERS if each.name == "bombardier")
    with recording() as found:
        peer.run(["-n", "1", "-c", "1", "-t", "1s"], found.url("/?ms=2500"), folder)
    assert len(found.requests) == 5


def test_wrk_does_not_give_up_what_it_counts_as_timeout(folder: Path) -> None:
    peer = next(each for each in PEERS if each.name == "wrk")
    with recording() as found:
        said = peer.run(["-d", "3s", "-c", "1", "-t", "1", "--timeout", "1s"], found.url("/?ms=2000"), folder)
    assert "timeout 1" in said and found.requests[0].answered


@of_all()
def test_what_it_says_of_failed_answers_is_known(peer: Peer, folder: Path) -> None:
    with recording() as found:
        said = peer.run(peer.few or peer.bare, found.url("/fails?ms=5"), folder)
    assert re.search(peer.says, said), said


@of_all("help_on_timeout")
def test_its_help_says_when_it_gives_up(peer: Peer) -> None:
    assert re.search(peer.help_on_timeout, peer.help(peer.installed()))


@of_all("body")
def test_its_body_has_the_method_that_is_declared(peer: Peer, folder: Path) -> None:
    with recording() as found:
        peer.run([*peer.bare, *peer.body], found.url("/?ms=20"), folder)
    assert {(each.method, each.body) for each in found.requests} == {(default(peer).body_method, b"abc")}


@of_all()
def test_it_agrees_on_a_protocol_as_declared(peer: Peer, folder: Path, tls: ssl.SSLContext) -> None:
    with recording(tls) as found:
        peer.run([*peer.bare, *peer.insecure], found.url("/?ms=20"), folder)
    spoken = "HTTP/2" if default(peer).http2_over_tls else default(peer).version
    assert {each.version for each in found.requests} == {spoken}


@of_all()
def test_it_looks_at_certificates_as_declared(peer: Peer, folder: Path, tls: ssl.SSLContext) -> None:
    with recording(tls) as found:
        peer.run(peer.bare, found.url("/?ms=20"), folder)
    assert found.connections and bool(found.requests) != default(peer).verifies


def both(call: Call, peer: Peer, words: Sequence[str], folder: Path) -> tuple[Recorder, Recorder, str]:
    """Return what the tool sent, what crumple sent --like it, and what crumple said."""
    with recording() as theirs:
        peer.run(words, theirs.url("/?ms=20"), folder)
    # No part of the load: requests one at a time beside it, if the server is watched, and after a load
    # without Accept-Encoding a question whether the server compresses.
    is_asked = any(name == "Accept-Encoding" for name, _ in default(peer).headers)
    plain = () if is_asked else ("--disable-compression",)
    with recording() as ours:
        code, _, said = call(
            peer.name, *words, ours.url("/?ms=20"), "--json", "--no-store", "--no-watch", *plain
        )
    assert code in (0, 3), said
    return theirs, ours, said


@of_all()
def test_like_sends_the_same_requests(peer: Peer, call: Call, folder: Path) -> None:
    theirs, ours, said = both(call, peer, peer.some or peer.bare, folder)
    if peer.name == "ab":
        # HTTP/1.1 says that a connection ends; in HTTP/1.0 that goes without saying.
        ((method, path, sent, body),) = kinds(theirs)
        assert kinds(ours) == {(method, path, sent | {("connection", "close")}, body)}
    else:
        assert kinds(ours) == kinds(theirs)
    if peer.some:
        assert len(ours.requests) == len(theirs.requests)
    if not default(peer).rate_per_s:
        assert len(ours.asking) == len(theirs.asking)
    assert f"as {TOOLS[peer.name].command} asks: crumple load " in said


@of_all("body")
def test_like_sends_the_same_body(peer: Peer, call: Call, folder: Path) -> None:
    theirs, ours, _ = both(call, peer, [*(peer.some or peer.bare), *peer.body], folder)
    of_each = [
        {(each.method, each.body, each.value("content-type")) for each in found.requests}
        for found in (theirs, ours)
    ]
    assert of_each[0] == of_each[1]


# What no load needs: help, and what only some builds have.
HELPS = {"-h", "--help", "--help-long", "--help-man", "--version", "-V", "-v", "--verbose", "-a", "--address"}
_FLAG = re.compile(r"^\s{0,8}(-\w)?(?:[,/] ?)?(--?[\w-]{2,})?(?:[ =\t\[]|$)", re.MULTILINE)


@of_all()
def test_each_flag_of_its_help_is_known(peer: Peer) -> None:
    found = {name for pair in _FLAG.findall(peer.help(peer.installed())) for name in pair if name}
    known = {name for flag in TOOLS[peer.name].flags for name in flag.names}
    assert len(found) > 5 and found - known - HELPS == set()
