"""Servers with a fault, for tests of what a diagnosis makes of them: programs in Python, one process each."""

import ipaddress
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from crumple.machine import process_tree, tcp_tables

# Arguments: the port, or the path of a Unix socket; how it behaves; the number of requests before it does.
PROGRAM = """
import http.server, os, socket, socketserver, sys, threading, time

AT, HOW, AFTER = sys.argv[1], sys.argv[2], int(sys.argv[3])
answered, lock = [0], threading.Lock()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0" if HOW == "http-1.0" else "HTTP/1.1"
    wbufsize = -1
    def address_string(self):
        return "someone"
    def do_GET(self):
        with lock:
            answered[0] += 1
            over = answered[0] > AFTER
        if over and HOW == "hangs":
            time.sleep(600)
        if over and HOW == "dies":
            os._exit(3)
        if HOW == "udp":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
                asking.connect(("127.0.0.1", asked.getsockname()[1]))
                asking.send(b"who?")
                asking.recv(100)
        status, body = 200, b"ok"
        if HOW.isdigit():
            status, body = int(HOW), b"no"
        if HOW == "login":
            status = 302
        given = self.headers.get("Authorization"), self.headers.get("Host")
        if HOW == "login-and-host" and given != ("Bearer key", "shop.example"):
            status, self.close_connection = 401, True
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status // 100 == 3:
            at = "/login?next=/" if HOW == "login" else "http://127.0.0.1:1/elsewhere"
            self.send_header("Location", at)
        if HOW == "closes":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        if HOW == "closes":
            self.close_connection = True
    def log_message(self, *_):
        pass

# Answers each question 20 ms later.
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asked.bind(("127.0.0.1", 0))
def answer():
    while True:
        _, at = asked.recvfrom(100)
        threading.Timer(0.02, asked.sendto, (b"it", at)).start()
if HOW == "udp":
    threading.Thread(target=answer, daemon=True).start()
else:
    asked.close()

class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 1024

if AT.startswith("/"):
    server = Unix(AT, Handler)
else:
    http.server.ThreadingHTTPServer.request_queue_size = 1024
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(AT)), Handler)
if HOW == "tls":
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print("serving", flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Served:
    """A server that answers. `at`: "127.0.0.1:PORT", or the path of its Unix socket."""

    at: str
    process: subprocess.Popen[str]


@contextmanager
def serving(
    how: str, *, after: int = 0, at: str = "", before: Sequence[str] = (), more: Sequence[str] = ()
) -> Iterator[Served]:
    """Run the server until the `with` ends. `before`: words in front of its command, as `setpriv …`."""
    port = at or str(process_tree.free_port())
    words = [*before, sys.executable, "-c", PROGRAM, port, how, str(after), *more]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "serving\n"
            yield Served(at or f"127.0.0.1:{port}", process)
        finally:
            process.kill()


def certificate(folder: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key, in one file."""
    file = folder / "server.pem"
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
        "-batch",
    ]
    san = ["-addext", "subjectAltName=IP:127.0.0.1"]
    key = folder / "key.pem"
    subprocess.run([*words, *san, "-keyout", key, "-out", file], check=True, capture_output=True)
    file.write_text(file.read_text() + key.read_text())
    return file


def wait_for_end(process: subprocess.Popen[str], within_s: float = 5.0) -> None:
    """Return when the process has ended."""
    over_s = time.monotonic() + within_s
    while process.poll() is None and time.monotonic() < over_s:
        time.sleep(0.01)


def wait_for_listener(port: int, within_s: float = 20.0) -> None:
    """Return when somebody listens on the port."""
    over_s = time.monotonic() + within_s
    while not tcp_tables.listens_at(ipaddress.ip_address("127.0.0.1"), port) and time.monotonic() < over_s:
        time.sleep(0.01)


# Words in front of a command that runs in a network namespace of its own.
IN_A_NAMESPACE = ("unshare", "-n")


def needs_a_namespace() -> None:
    """Skip the test where no network namespace may be made."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    if subprocess.run([*IN_A_NAMESPACE, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no network namespace may be made here")
