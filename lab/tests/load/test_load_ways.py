"""`crumple load` on real servers that are reached in other ways than straight, the engine included.

nginx asks for a client's certificate, and Apache is a proxy. Tests skip where these are not installed.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import real_engine
from command_line import Call, caller, was_measured
from crumple.machine import process_tree

pytestmark = [pytest.mark.starts, pytest.mark.parallel]
APACHE_MODULES = Path("/usr/lib/apache2/modules")

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log {folder}/access.log; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;
  fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  server {{
    listen 127.0.0.1:{port} ssl; server_name service.test;
    ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
    ssl_client_certificate {folder}/ca.pem; ssl_verify_client {asks};
    location / {{ return 200 "$host $ssl_server_name $ssl_client_s_dn"; }}
  }}
}}
"""

APACHE = """
ServerRoot {folder}
ServerName proxy.test
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule proxy_module {modules}/mod_proxy.so
LoadModule proxy_http_module {modules}/mod_proxy_http.so
LoadModule proxy_connect_module {modules}/mod_proxy_connect.so
ProxyRequests On
AllowCONNECT {tunnels}
CustomLog {folder}/asked.log "%r"
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    real_engine.used(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return caller(monkeypatch, capsys, "load")


@contextmanager
def listening(words: list[str], port: int) -> Iterator[None]:
    """Run a program until the `with` ends. It begins when the program listens."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            over_s = time.monotonic() + 20
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert time.monotonic() < over_s, f"{words[0]} does not listen"
                    time.sleep(0.02)
            assert process.poll() is None, f"{words[0]} ended"
            yield
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and certificates from it for service.test and for a client."""
    folder = tmp_path_factory.mktemp("signed")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
    for name, more in (
        ("server", "subjectAltName=DNS:service.test"),
        ("client", "extendedKeyUsage=clientAuth"),
    ):
        openssl("req", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / f"{name}.ext").write_text(more)
        signed = ["x509", "-req", "-in", f"{name}.csr", *by, "-extfile", f"{name}.ext", "-out", f"{name}.pem"]
        openssl(*signed)
    return folder


@contextmanager
def nginx(folder: Path, *, asks: bool) -> Iterator[int]:
    """A server with TLS for service.test that says which names it was called, and by whom; its port."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("needs nginx")
    port = process_tree.free_port()
    config = folder / f"nginx-{port}.conf"
    config.write_text(NGINX.format(folder=folder, port=port, asks="on" if asks else "off"))
    with listening([program, "-p", str(folder), "-c", str(config)], port):
        yield port


@contextmanager
def apache(folder: Path, *, tunnels: int) -> Iterator[int]:
    """A proxy that opens tunnels to this port, and carries requests to any; its port."""
    program = shutil.which("apache2") or shutil.which("apache2", path="/usr/sbin")
    if program is None or not (APACHE_MODULES / "mod_proxy_connect.so").exists():
        pytest.skip("needs Apache with mod_proxy_connect")
    port = process_tree.free_port()
    config = folder / "apache.conf"
    config.write_text(APACHE.format(folder=folder, port=port, modules=APACHE_MODULES, tunnels=tunnels))
    with listening([program, "-X", "-f", str(config)], port):
        yield port


def connected_to(port: int, folder: Path) -> list[str]:
    return ["--connect-to", f"service.test:443:127.0.0.1:{port}", "--cacert", str(folder / "ca.pem")]


def test_a_server_that_asks_for_a_certificate_is_shown_one(call: Call, signed: Path) -> None:
    own = ["--cert", str(signed / "client.pem"), "--key", str(signed / "client.key")]
    said = "service.test service.test CN=client"
    with nginx(signed, asks=True) as port:
        code, out, _ = call(
            "https://service.test/",
            *connected_to(port, signed),
            *own,
            "-n",
            "20",
            "-c",
            "2",
            "--expect-body",
            said,
        )
        assert was_measured(code, out)
        code, _, err = call("https://service.test/", *connected_to(port, signed), "-n", "4", "-c", "2")
        assert code == 1 and "400 Bad Request" in err, "nginx says so in an answer"


def test_a_server_is_loaded_elsewhere_under_its_own_name(call: Call, signed: Path) -> None:
    with nginx(signed, asks=False) as port:
        known = connected_to(port, signed)
        code, out, _ = call(
            "https://service.test/", *known, "-n", "20", "--expect-body", "service.test service.test "
        )
        assert was_measured(code, out) and "https://service.test/" in out
        # The certificate is for another name than the one that is asked for.
        wrong = ["--connect-to", f"::127.0.0.1:{port}", *known[2:]]
        code, _, err = call("https://other.test/", *wrong, "-n", "4")
        assert code == 1 and "the server's certificate is for another name" in err and "other.test" in err


@pytest.fixture
def plain() -> Iterator[tuple[int, list[tuple[str, dict[str, str], bytes]]]]:
    """A server's port, and what it was asked: the path, the headers, the body."""
    asked: list[tuple[str, dict[str, str], bytes]] = []

    class Asked(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((f"{self.command} {self.path}", dict(self.headers), body))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()


def test_a_proxy_carries_requests_to_a_plain_server(
    call: Call, tmp_path: Path, plain: tuple[int, list[tuple[str, dict[str, str], bytes]]]
) -> None:
    port, asked = plain
    with apache(tmp_path, tunnels=443) as proxy:
        code, out, err = call(
            f"http://127.0.0.1:{port}/a?b=c", "-x", f"127.0.0.1:{proxy}", "-n", "20", "-c", "2"
        )
    assert was_measured(code, out), err
    assert {path for path, _, _ in asked} == {"GET /a?b=c"} and len(asked) == 20
    assert all(headers["Host"] == f"127.0.0.1:{port}" for _, headers, _ in asked)
    assert (tmp_path / "asked.log").read_text().splitlines()[
        0
    ] == f"GET http://127.0.0.1:{port}/a?b=c HTTP/1.1"


def test_tls_goes_through_the_tunnel_of_a_proxy(call: Call, tmp_path: Path, signed: Path) -> None:
    with nginx(signed, asks=False) as port, apache(tmp_path, tunnels=port) as proxy:
        through = ["-x", f"http://127.0.0.1:{proxy}", "--insecure"]
        code, out, err = call(f"https://127.0.0.1:{port}/", *through, "-n", "20", "-c", "2")
        assert was_measured(code, out), err
        log = (tmp_path / "asked.log").read_text().splitlines()
        assert set(log) == {f"CONNECT 127.0.0.1:{port} HTTP/1.1"}
        # The proxy opens tunnels to this one port only.
        code, _, err = call("https://127.0.0.1:9/", *through, "-n", "4", "-c", "2")
        assert code == 1 and "the proxy answered CONNECT with 403 " in err
        assert "certificate" not in err, "no server was reached whose certificate could be at fault"


def test_a_proxy_that_does_not_listen_is_said(call: Call) -> None:
    code, _, err = call("http://127.0.0.1:9/", "-x", f"127.0.0.1:{process_tree.free_port()}")
    assert code == 1 and "no proxy listens at 127.0.0.1:" in err and err.count("\n") == 1


def test_a_form_a_password_and_lines_arrive_as_they_were_typed(
    call: Call, tmp_path: Path, plain: tuple[int, list[tuple[str, dict[str, str], bytes]]]
) -> None:
    port, asked = plain
    (tmp_path / "a.bin").write_bytes(b"\x00\xff\r\n")
    url = f"http://127.0.0.1:{port}/"
    code, out, err = call(url, "-F", "n={seq}", "-F", "f=@a.bin", "-a", "me:secret", "-n", "10", "-c", "1")
    assert was_measured(code, out), err
    assert {headers["Authorization"] for _, headers, _ in asked} == {"Basic bWU6c2VjcmV0"}
    bodies = [body for _, _, body in asked]
    assert all(b'filename="a.bin"' in body and b"\r\n\r\n\x00\xff\r\n\r\n--" in body for body in bodies)
    assert [f'name="n"\r\n\r\n{number}\r\n'.encode() in body for number, body in enumerate(bodies, 1)] == [
        True
    ] * 10
    assert all(int(headers["Content-Length"]) == len(body) for _, headers, body in asked)
    asked.clear()
    (tmp_path / "lines").write_text("one\n\ntwo {seq}\n")
    code, out, err = call(url, "-Z", "lines", "-n", "4", "-c", "1", "-m", "POST")
    assert was_measured(code, out), err
    assert [body for _, _, body in asked] == [b"one", b"two {seq}"] * 2
