"""A proxy in front of a slow server is recognised, and the address that it hands requests to is named."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from command_line import Call
from crumple.machine import process_tree
from diagnosing import call, short

__all__ = ["call", "short"]

# Answers one request at a time, 20 ms after it was asked; or hands each on.
PROGRAM = """
import http.client, http.server, sys, time

PORT, BEHIND = int(sys.argv[1]), int(sys.argv[2])

class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"
    def do_GET(self):
        time.sleep(0.02)
        self.answer(b"ok")
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

class Proxy(Slow):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def do_GET(self):
        behind = http.client.HTTPConnection("127.0.0.1", BEHIND)
        behind.request("GET", self.path)
        self.answer(behind.getresponse().read())
        behind.close()

http.server.HTTPServer.request_queue_size = 1024
made = http.server.ThreadingHTTPServer if BEHIND else http.server.HTTPServer
server = made(("127.0.0.1", PORT), Proxy if BEHIND else Slow)
print("serving", flush=True)
server.serve_forever()
"""


@contextmanager
def running(behind: int) -> Iterator[int]:
    """The server's port, until the `with` ends. `behind`: where a proxy hands requests to; 0: nowhere."""
    port = process_tree.free_port()
    words = [sys.executable, "-c", PROGRAM, str(port), str(behind)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == "serving\n"
            yield port
        finally:
            server.kill()


@pytest.mark.starts
@pytest.mark.alone
def test_a_proxy_is_said_to_hand_requests_on(call: Call, short: None) -> None:
    with running(0) as behind, running(behind) as port:
        code, out, err = call(f"http://127.0.0.1:{port}/", "--no-search", "--quiet", "--json", "--seed", "3")
    assert code == 0, err
    said = json.loads(out)
    (first, *_) = said["findings"]
    if disturbed := said["facts"]["beyond"]["disturbed"]:
        pytest.skip(f"the machine is too busy: {disturbed}")
    assert first["kind"] == "finding" and first["cause"] == "dependency", said["findings"]
    assert first["remedy"] == f"diagnose what it hands them to: 127.0.0.1:{behind}"
