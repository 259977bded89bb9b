"""Each fault of a server has its own sentence: what happened, to how many, since when, and one remedy.

A real engine loads a server that has the fault.
"""

import re
import socket
import ssl
import subprocess
import time
import warnings
from pathlib import Path
from typing import get_args

import documents
import pytest
import real_engine
import scripted_server
from command_line import Call, caller
from crumple.contract import OUTCOMES, Reason
from crumple.record import reasons
from scripted_server import Script, answering, asked
from tried import SpoiledError, until_shown

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run `crumple load …` in an empty folder; return (exit code, stdout, stderr)."""
    real_engine.used(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    return caller(monkeypatch, capsys, "load")


# What is said of a request of whose answer nothing had been read.
UNREAD = ("without a byte of an answer", "no byte of the answer")


def all_end_so(
    call: Call, url: str, ended: str, said: str, *flags: str, number: int = 20, read: bytes = b""
) -> None:
    """Assert that all requests end so, and that summary and error say why and what to do.

    `read`: what the engine must have read of the answer by then, or a busy machine has spoiled it.
    """
    code, out, err = call(url, "-n", str(number), "-c", "2", *flags, "--no-store", "--quiet")
    if read and any(unread in out for unread in UNREAD):
        raise SpoiledError("the answer was not read in time")
    assert code == 1
    assert f"no request was answered as expected: {number} of {number} {ended}; {said}" in err
    # The summary also says since when: here, since the load began.
    since = rf"{re.escape(f'{number} × {ended} from ')}[\d.]+ ?[µm]?s on: {re.escape(said)}"
    assert re.search(since, _unwrapped(out)), out


def _unwrapped(text: str) -> str:
    return " ".join(text.split())


def _head(*lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()


def _close_after(part: bytes) -> Script:
    return answering(part, closes=True)


def _reset_after(part: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        if asked(connection):
            connection.sendall(part)
            time.sleep(0.01)  # A reset drops what the engine has not read.
            scripted_server.reset(connection)

    return script


def _greet(greeting: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        connection.sendall(greeting)
        asked(connection)

    return script


MALFORMED: dict[str, tuple[bytes, str]] = {
    "excess": (
        _head("Content-Length: 4") + b"{} \n<!DOCTYPE html>",
        "more bytes came than the 4 of the body that Content-Length announces; let the server send as many",
    ),
    "line break after the answer": (
        _head("Content-Length: 2") + b"ok\r\n",
        "more bytes came than the 2 of the body that Content-Length announces; let the server send as many",
    ),
    "excess after chunks": (
        _head("Transfer-Encoding: chunked") + b"2\r\nok\r\n0\r\n\r\n0\r\n\r\n",
        "more bytes came after the last chunk of the body; let the server send as many bytes as it announces",
    ),
    "204 with a body": (
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n[]",
        "a body came with an answer that has none (status 204); let the server send no body with it, or",
    ),
    "304 with a body": (
        b"HTTP/1.1 304 Not Modified\r\n\r\nbody",
        "a body came with an answer that has none (status 304); let the server send no body with it, or",
    ),
    "conflicting lengths": (
        _head("Content-Length: 2", "Content-Length: 3") + b"ok",
        "the answer has several lengths, which differ; let the server and what is in front of it send one",
    ),
    "no length": (
        _head("Content-Length: two") + b"ok",
        "the Content-Length is not a number, or too great for one; let the server send the length",
    ),
    "chunk": (
        _head("Transfer-Encoding: chunked") + b"5\r\nok\r\n0\r\n\r\n",
        "a chunk of the body is not as HTTP/1.1 has it; mend what writes the chunks, in the server or",
    ),
    "space in a name": (
        _head("Bad Name: 1", "Content-Length: 2") + b"ok",
        "the name of a header has a space, or another character that no name may have; let the server send",
    ),
    "space before the colon": (
        _head("Content-Length : 2") + b"ok",
        "a header has a space between its name and the colon; let the server send the colon right after the",
    ),
    "no colon": (
        _head("nothing", "Content-Length: 2") + b"ok",
        "a line of the answer's head has no colon; let the server send headers as Name: value",
    ),
    "control character": (
        _head("X: a\0b", "Content-Length: 2") + b"ok",
        "the value of a header has a control character; let the server leave it out, or encode it",
    ),
    "trailers": (
        _head("Transfer-Encoding: chunked") + b"0\r\nnothing\r\n\r\n",
        "a line of the answer's head or trailers is not a header as HTTP/1.1 has it; let the server send a",
    ),
    "long head": (
        _head(f"X: {'y' * 70_000}", "Content-Length: 2") + b"ok",
        "the answer has a head longer than 64 KiB, which crumple does not read; let the server send less",
    ),
    "many headers": (
        _head(*["X: 1"] * 110, "Content-Length: 2") + b"ok",
        "the answer has more than 100 headers, which crumple does not read; let the server send fewer",
    ),
    "status": (
        b"HTTP/1.1 099 What\r\nContent-Length: 2\r\n\r\nno",
        "the answer's first line is not as HTTP/1.1 has it; let the server send HTTP/1.1, a space,",
    ),
    "HTTP/0.9": (
        b"<html>hello</html>",
        "a document came without a status and headers, as in HTTP/0.9; let the server begin its answer with",
    ),
    "HTTP/2 as text": (
        b"HTTP/2 200\r\ncontent-length: 2\r\n\r\nok",
        "the answer is of another version of HTTP; let the server speak HTTP/1.1",
    ),
    "HTTP/2": (
        b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64",
        "the server answered in HTTP/2, which crumple does not speak; let it speak HTTP/1.1, or load a port",
    ),
    "TLS": (
        b"\x15\x03\x01\0\x02\x02\x46",
        "the server speaks TLS there, and was asked without; write https://",
    ),
    "SSH": (
        b"SSH-2.0-OpenSSH_9.2\r\n",
        "what came does not begin as an answer of HTTP/1.1; is it the right port?",
    ),
    "101": (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "the server switched to another protocol (101); ask for what is answered in HTTP, without an Upgrade",
    ),
    "coding of HTTP/1.0": (
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "an answer of HTTP/1.0 has a Transfer-Encoding; let the server answer as HTTP/1.1, or without it",
    ),
}


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("fault", MALFORMED)
def test_a_malformed_answer(call: Call, fault: str) -> None:
    answer, said = MALFORMED[fault]
    with scripted_server.serving(answering(answer)) as address:
        all_end_so(call, f"http://{address}/", "malformed", said)


PARTS = {
    "before": (b"", "without a byte of an answer; is it the right port? Is it http, not https?"),
    "head": (b"HTTP/1.1 200 OK\r\nContent-", "within the head of its answer; look at the server's log"),
    "body": (
        _head("Content-Length: 50") + b"short",
        "within the body of its answer; look at the server's log",
    ),
}


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("ended", ["closed", "reset"])
def test_a_connection_that_the_server_ends(call: Call, part: str, ended: str) -> None:
    came, where = PARTS[part]
    script = _close_after(came) if ended == "closed" else _reset_after(came)
    outcome = "closed-early" if ended == "closed" else "reset"

    def attempt() -> None:
        with scripted_server.serving(script) as address:
            all_end_so(
                call, f"http://{address}/", outcome, f"the server {ended} the connection {where}", read=came
            )

    until_shown(attempt)


STALLS = {
    "before": (b"", "no byte of the answer came within 0.2 s; raise -t, or lower the load"),
    "head": (
        b"HTTP/1.1 200",
        "the head of the answer was not whole within 0.2 s; raise -t, or lower the load",
    ),
    "body": (
        _head("Content-Length: 50") + b"short",
        "the body of the answer was not whole within 0.2 s; raise -t, or lower the load",
    ),
    "no length": (
        _head() + b"hello",
        "the answer gives no length, so it ends with the connection, which the server kept open; let",
    ),
    "another coding": (
        _head("Transfer-Encoding: gzip", "Content-Length: 5") + b"hello",
        "the answer gives no length, as its Transfer-Encoding is not chunked (gzip), so it ends with the",
    ),
}


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("where", STALLS)
def test_an_answer_that_is_not_whole_in_time(call: Call, where: str) -> None:
    came, said = STALLS[where]
    with scripted_server.serving(answering(came)) as address:
        flags = ("-t", "200ms", "-z", "10s")
        until_shown(
            lambda: all_end_so(call, f"http://{address}/", "timeout", said, *flags, number=4, read=came)
        )


@pytest.mark.starts
@pytest.mark.parallel
def test_the_coding_identity_is_passed_over(call: Call) -> None:
    answer = _head("Transfer-Encoding: identity", "Content-Length: 5") + b"hello"
    with scripted_server.serving(answering(answer)) as address:
        code, _, err = call(f"http://{address}/", "-n", "20", "-c", "2", "--no-store", "--quiet")
    assert (code, err) == (0, "")


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("greeting", "said"),
    [
        (b"220 mail.example ESMTP\r\n", "the server sent bytes before it was asked; is it the right port?"),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", "the server answered in HTTP/2, which crumple does not"),
    ],
)
def test_bytes_before_a_request(call: Call, greeting: bytes, said: str) -> None:
    with scripted_server.serving(_greet(greeting)) as address:
        code, _, err = call(f"http://{address}/", "-n", "20", "-c", "2", "--no-store", "--quiet")
    # Of a greeting that comes after the request was sent, it is not known that nothing asked for it.
    known = said in err or "what came does not begin as an answer of HTTP/1.1" in err
    assert code == 1 and known, err


@pytest.mark.starts
@pytest.mark.parallel
def test_a_server_that_closes_kept_connections(call: Call) -> None:
    def script(connection: socket.socket) -> None:
        for _ in range(5):
            if asked(connection):
                connection.sendall(OK)

    with scripted_server.serving(script) as address:
        code, out, _ = call(f"http://{address}/", "-n", "40", "-c", "2", "--no-store", "--quiet")
    said = _unwrapped(out)
    assert code == 0 and "40 scheduled = 40 ok" in said
    # A closing that is seen before the next request is sent costs no request. The last ones may be open.
    if "retried" in said:
        announced = r"had closed without announcing it, after [45](\.\d)? answers on average, and were"
        assert re.search(announced, said) and "or load with --disable-keepalive" in said


@pytest.mark.starts
@pytest.mark.parallel
def test_a_fault_that_begins_within_the_load_says_when(call: Call) -> None:
    began = time.monotonic()

    def script(connection: socket.socket) -> None:
        while asked(connection):
            time.sleep(0.005)
            fails = time.monotonic() - began > 1.0
            connection.sendall(_head("Content-Length: two") if fails else OK)
            if fails:
                return

    with scripted_server.serving(script) as address:
        url = f"http://{address}/"
        code, out, _ = call(url, "-z", "1500ms", "-c", "2", "--no-store", "--quiet", "--no-watch")
    found = re.search(r"× malformed from ([\d.]+) ?(ms|s) on: the Content-Length is not", _unwrapped(out))
    assert code in (0, 3) and found, out
    since_s = float(found[1]) / (1_000 if found[2] == "ms" else 1)
    assert 0.1 < since_s <= 1.5, out


def _authority(folder: Path) -> None:
    """Write certificates into the folder: NAME.pem with its key, of the authority ca.pem and without one."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    (folder / "index.txt").write_text("")
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\n"
        "policy=p\nunique_subject=no\n[p]\ncommonName=supplied\n"
        "[here]\nsubjectAltName=IP:127.0.0.1\n[elsewhere]\nsubjectAltName=DNS:elsewhere.test\n"
    )
    for name, part, begins, ends in (
        ("good", "here", "20200101000000Z", "20990101000000Z"),
        ("expired", "here", "20200101000000Z", "20210101000000Z"),
        ("early", "here", "20980101000000Z", "20990101000000Z"),
        ("elsewhere", "elsewhere", "20200101000000Z", "20990101000000Z"),
    ):
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signs = ("-keyfile", "ca.key", "-cert", "ca.pem", "-in", f"{name}.csr", "-out", f"{name}.pem")
        dates = ("-startdate", begins, "-enddate", ends)
        openssl("ca", "-batch", "-notext", "-config", "ca.cnf", "-extensions", part, *signs, *dates)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    _authority(folder)
    return folder


def _context(folder: Path, name: str = "good") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return context


CERTIFICATES = {
    "expired": ("the server's certificate has expired (", "renew it, or load with --insecure"),
    "early": ("the server's certificate is not valid yet (", "set the clocks of both machines, or load with"),
    "elsewhere": (
        "the server's certificate is for another name (",
        "load a name that it is for, or load with",
    ),
    "ca": (
        "the server shows the certificate of an authority as its own, as `openssl req -x509` makes it (",
        "make it with -addext basicConstraints=critical,CA:FALSE, or load with --insecure",
    ),
}


def all_fail_tls(call: Call, url: str, ended: str, what: str, remedy: str, *flags: str) -> None:
    code, out, err = call(url, "-n", "8", "-c", "2", *flags, "--no-store", "--quiet")
    assert code == 1
    assert f"8 of 8 TLS failed ({ended}); {what}" in err and f"; {remedy}" in err, err
    said = _unwrapped(out)
    assert re.search(rf"8 × TLS failed \({ended}\) from [\d.]+ ?[µm]?s on: {re.escape(what)}", said), out
    assert f"; {remedy}" in said


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_that_is_not_valid(call: Call, certificates: Path, name: str) -> None:
    what, remedy = CERTIFICATES[name]
    with scripted_server.serving(answering(OK), _context(certificates, name)) as address:
        trusted = ("--cacert", str(certificates / "ca.pem"))
        all_fail_tls(call, f"https://{address}/", "malformed", what, remedy, *trusted)


@pytest.mark.starts
@pytest.mark.parallel
def test_a_certificate_of_an_unknown_authority(call: Call, certificates: Path, tmp_path: Path) -> None:
    _authority(tmp_path)
    with scripted_server.serving(answering(OK), _context(certificates)) as address:
        what = "no authority that this machine trusts has issued the server's certificate ("
        remedy = "name the authority's certificate with --cacert FILE, or load with --insecure"
        other = ("--cacert", str(tmp_path / "ca.pem"))
        all_fail_tls(call, f"https://{address}/", "malformed", what, remedy, *other)


def _asks(context: ssl.SSLContext) -> None:
    context.verify_mode = ssl.CERT_REQUIRED


def _old(context: ssl.SSLContext) -> None:
    with warnings.catch_warnings(action="ignore"):  # Python warns that this version is old.
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")


def _other_cipher(context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0")


HANDSHAKES = {
    "asks": (_asks, "the server wants a certificate of the client (", "show one with --cert FILE --key FILE"),
    "old": (_old, "the server speaks neither TLS 1.2 nor TLS 1.3 (", "let it speak one of them"),
    "cipher": (
        _other_cipher,
        "the server ended the TLS handshake and named no reason (received fatal alert 40: HandshakeFailure)",
        "look at its log: it may want a certificate of the client (--cert FILE), or another cipher",
    ),
}


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("how", HANDSHAKES)
def test_a_handshake_that_fails(call: Call, certificates: Path, how: str) -> None:
    change, what, remedy = HANDSHAKES[how]
    context = _context(certificates)
    context.load_verify_locations(certificates / "ca.pem")
    change(context)
    with scripted_server.serving(answering(OK), context) as address:
        trusted = ("--cacert", str(certificates / "ca.pem"))
        all_fail_tls(call, f"https://{address}/", "malformed", what, remedy, *trusted)


@pytest.mark.starts
@pytest.mark.parallel
def test_tls_to_a_server_without(call: Call) -> None:
    with scripted_server.serving(answering(OK)) as address:
        # It waits for a request that ends, and the handshake has no such end.
        code, _, err = call(
            f"https://{address}/", "-n", "2", "-c", "2", "-t", "200ms", "--no-store", "--quiet"
        )
        assert code == 1
        assert f"no TLS handshake was completed within 0.2 s; does {address} speak TLS, or plain http?" in err

    def script(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 400 No\r\n\r\n")

    with scripted_server.serving(script) as address:
        what, remedy = f"{address} does not speak TLS (", "write http://"
        all_fail_tls(call, f"https://{address}/", "malformed", what, remedy)


@pytest.mark.starts
@pytest.mark.parallel
def test_tls_that_ends_without_close_notify(call: Call, certificates: Path) -> None:
    def script(connection: socket.socket) -> None:
        if asked(connection):
            connection.sendall(_head() + b"hello")  # Closing the socket announces nothing.

    with scripted_server.serving(script, _context(certificates)) as address:
        what = "TLS ended without close_notify, and the answer gives no length: it may be cut off"
        remedy = "let the server send a Content-Length, or end TLS with close_notify"
        all_end_so(call, f"https://{address}/", "closed-early", f"{what}; {remedy}", "--insecure")


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize(
    ("answer", "what", "remedy"),
    [
        (
            b"HTTP/1.1 407 Login\r\n\r\n",
            "the proxy wants a login (407) (",
            "give it as -x http://USER:PASSWORD@",
        ),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy opened no tunnel (", "see the proxy's log, or load"),
        (b"SSH-2.0-x\r\n", "the proxy does not answer CONNECT as HTTP/1.1 does (", "is -x the address of"),
        (b"", "the proxy closed the connection and opened no tunnel (", "see the proxy's log, or load the"),
    ],
)
def test_a_proxy_that_opens_no_tunnel(call: Call, answer: bytes, what: str, remedy: str) -> None:
    with scripted_server.serving(_close_after(answer)) as proxy:
        flags = ("-n", "8", "-c", "2", "-x", f"http://{proxy}", "--no-store", "--quiet")
        code, _, err = call("https://127.0.0.1:9/", *flags)
    assert code == 1 and "8 of 8 no tunnel (" in err and what in err and f"; {remedy}" in err, err


def test_each_reason_has_words_with_one_remedy() -> None:
    record = documents.record()
    for outcome in OUTCOMES:
        for reason in reasons.BY_OUTCOME.get(outcome, {}):
            said = reasons.words(record, outcome, reason)
            assert said.what and said.remedy and not re.search(r"[{}]|; ", f"{said.what} {said.remedy}"), said
    known = {reason for outcome in OUTCOMES for reason in reasons.BY_OUTCOME.get(outcome, {})}
    assert known == set(get_args(Reason))
    assert not {"wrong-status", "not-sent"} & {*reasons.BY_OUTCOME}
