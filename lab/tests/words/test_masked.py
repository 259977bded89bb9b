"""Secrets that a load sends appear in nothing that it shows, writes or passes on."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import real_engine
from command_line import caller
from crumple.drawing import page_document
from crumple.typed import masked_command
from crumple.words import masked

ROOT = Path(__file__).parents[3]
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzZWtyaXQifQ.c2Vrcml0"
HEX = "5f4dcc3b5aa765d61d8327deb882cf99"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("http://a/?token=SEKRIT", "http://a/?token=…"),
        ("http://a/?page=2&api_key=SEKRIT&q=x#part", "http://a/?page=2&api_key=…&q=x#part"),
        ("http://a/#x?accessToken=SEKRIT", "http://a/#x?accessToken=…"),
        ("GET /a?authtoken=SEKRIT HTTP/1.1", "GET /a?authtoken=… HTTP/1.1"),
        ("/?pass%77ord=SEKRIT;x=1", "/?pass%77ord=…;x=1"),
        ("http://me:SEKRIT@host/a?b=c", "http://…@host/a?b=c"),
        (f"/?{JWT}", "/?…"),
        (f"/?id={HEX}", "/?id=…"),
        (f"/?x={JWT}", "/?x=…"),
        ("/?author=tolkien&monkey=1&passenger=2", "/?author=tolkien&monkey=1&passenger=2"),
        ("/?id=550e8400-e29b-41d4-a716-446655440000", "/?id=550e8400-e29b-41d4-a716-446655440000"),
        ("/?q=how-to-write-a-long-query-in-2026", "/?q=how-to-write-a-long-query-in-2026"),
        ("/?token={random:1-9}&key=", "/?token={random:1-9}&key="),
        ("http://127.0.0.1:8080/hello", "http://127.0.0.1:8080/hello"),
    ],
)
def test_a_url_is_masked(written: str, shown: str) -> None:
    assert masked.url(written) == shown
    assert masked.url(shown) == shown


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer SEKRIT", "…"),
        ("proxy-authorization", "Basic SEKRIT", "…"),
        ("Cookie", "sid=SEKRIT", "…"),
        ("Set-Cookie", "sid=SEKRIT; Path=/", "…"),
        ("X-Api-Key", "SEKRIT", "…"),
        ("X-AuthToken", "SEKRIT", "…"),
        ("X-Tenant", HEX, "…"),
        ("X-Tenant", "5", "5"),
        ("Location", "/login?session=SEKRIT&next=/a", "/login?session=…&next=/a"),
        ("Accept", "text/html,application/xhtml+xml", "text/html,application/xhtml+xml"),
        ("Content-Type", "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW", None),
        ("WWW-Authenticate", 'Basic realm="x"', 'Basic realm="x"'),
        (
            "www-authenticate",
            'Digest realm="a", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", qop="auth"',
            'Digest realm="a", nonce="…", qop="auth"',
        ),
        ("Proxy-Authenticate", "NTLM TlRMTVNTUAACAAAAAAAAADgAAAABAoICaGo4Yw==", "NTLM …"),
    ],
)
def test_a_header_is_masked(name: str, value: str, shown: str | None) -> None:
    assert masked.header(name, value) == (value if shown is None else shown)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["-H", "Authorization: Bearer SEKRIT"], ["-H", "Authorization: …"]),
        (["-HCookie:SEKRIT"], ["-HCookie: …"]),
        (["--header=X-Api-Key: SEKRIT"], ["--header=X-Api-Key: …"]),
        (["--header", "Accept:text/html"], ["--header", "Accept:text/html"]),
        (["-d", "password=SEKRIT"], ["-d", "… (15 bytes)"]),
        (["--body=ü"], ["--body=… (2 bytes)"]),
        (["-d", "@body.json"], ["-d", "@body.json"]),
        (["-d", "@@SEKRIT"], ["-d", "… (8 bytes)"]),
        (["-dx"], ["-d… (1 byte)"]),
        (["-D", "body.json"], ["-D", "body.json"]),
        (["http://a/?token=SEKRIT", "-z", "1s"], ["http://a/?token=…", "-z", "1s"]),
        (["--fail-if", "p99>250ms"], ["--fail-if", "p99>250ms"]),
        (["-a", "me:SEKRIT"], ["-a", "me:…"]),
        (["--basic-auth=me:SEKRIT"], ["--basic-auth=me:…"]),
        (["-x", "http://me:SEKRIT@localhost:3128"], ["-x", "http://…@localhost:3128"]),
        (["-xme:SEKRIT@localhost:3128"], ["-x…@localhost:3128"]),
        (["--proxy", "localhost:3128"], ["--proxy", "localhost:3128"]),
        (["--proxy-header", "X-Api-Key: SEKRIT"], ["--proxy-header", "X-Api-Key: …"]),
        (["-F", "name=SEKRIT"], ["-F", "name=…"]),
        (["--form=file=@a.png"], ["--form=file=@a.png"]),
    ],
)
def test_arguments_are_masked(typed: list[str], shown: list[str]) -> None:
    assert list(masked_command.arguments(typed)) == shown


class Refusing(BaseHTTPRequestHandler):
    """Answers 401 and repeats the request, as a server in debug mode does."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        said = f"no {self.path} {self.headers['Authorization']} {self.headers['Cookie']} ".encode() + sent
        self.send_response(401)
        self.send_header("Set-Cookie", "sid=SEKRIT-set; HttpOnly")
        self.send_header("Location", "/login?session=SEKRIT-go")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def with_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    real_engine.used(monkeypatch)


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("as_json", [False, True])
def test_no_output_of_a_load_contains_a_secret(
    with_engine: None,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    as_json: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requests.toml").write_text(
        f"""
[[requests]]
path = "/a?token=SEKRIT-query&page=2"
method = "POST"
headers = {{ X-Api-Key = "SEKRIT-key" }}
body = "password=SEKRIT-body&x={{seq}}"
[[requests]]
path = "/b?{JWT}"
method = "POST"
body = "SEKRIT-other"
"""
    )
    typed = ["-H", "Authorization: Bearer SEKRIT-auth", "-H", "Cookie: sid=SEKRIT-cookie", "-n", "20"]
    files = ["--html", "a.html", "--hdr", "a.hdr", "--csv", "a.csv", "--request-file", "requests.toml"]
    call = caller(monkeypatch, capsys, "load")
    _, out, err = call(f"http://127.0.0.1:{port}/", *typed, *files, *(["--json"] if as_json else []))
    written = {path.name: path.read_text() for path in tmp_path.iterdir() if path.name != "requests.toml"}
    written["document"] = json.dumps(page_document.read(written["a.html"], "a.html"))
    assert {"a.html", "a.hdr", "a.csv"} <= set(written)
    for name, said in {"stdout": out, "stderr": err, **written}.items():
        assert "SEKRIT" not in said and JWT not in said, name
    assert "page=2" in out and "page=2" in written["a.html"]
    if as_json:
        facts = json.loads(out)
        first = facts["record"]["requests"][0]["examples"][0]
        assert "Authorization: …" in first["request"] and first["request"].endswith("\r\n\r\n…")
        assert first["body"].startswith("no /a?token=…&page=2")
        assert "-H 'Authorization: …'" in facts["command"]


@pytest.mark.starts
@pytest.mark.parallel
def test_no_output_contains_a_field_or_a_password(
    with_engine: None,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = ["-F", "word=SEKRIT-field", "-a", "me:SEKRIT-password", "-n", "20", "--html", "a.html", "--json"]
    # The server is its own proxy: it answers whatever it is asked.
    proxy = ["-x", f"http://me:SEKRIT-proxy@127.0.0.1:{port}", "--proxy-header", "X-Api-Key: SEKRIT-key"]
    _, out, err = caller(monkeypatch, capsys, "load")(f"http://127.0.0.1:{port}/", *typed, *proxy)
    # "me:SEKRIT-password" and "me:SEKRIT-proxy", as they are sent.
    for secret in ("SEKRIT", "bWU6U0VLUklU"):
        for said in (out, err, (tmp_path / "a.html").read_text()):
            assert secret not in said
    facts = json.loads(out)
    # So no secret is in the document of the page.
    assert page_document.read((tmp_path / "a.html").read_text(), "a.html") == facts
    assert facts["record"]["spec"]["target"]["proxy"]["headers"] == [
        ["Proxy-Authorization", "…"],
        ["X-Api-Key", "…"],
    ]
    first = facts["record"]["requests"][0]["examples"][0]
    assert first["request"].startswith(f"POST http://127.0.0.1:{port}/ HTTP/1.1\r\n")
    assert "no http://" in first["body"] and "name=…" not in first["body"]


def test_a_search_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    from crumple.commands.saving import command_to_repeat
    from crumple.find.find_flags import FindFlags

    monkeypatch.setattr(sys, "argv", ["crumple"])
    typed = ["find", "http://a/?token=SEKRIT", "-H", "Cookie: SEKRIT"]
    assert (
        command_to_repeat(typed, FindFlags(), 7) == "crumple find 'http://a/?token=…' -H 'Cookie: …' --seed 7"
    )
