"""What an idle connection costs a server in memory: the slope where there is one, and no figure where not."""

import subprocess
import sys

import pytest
from crumple.experiment import idle_memory
from crumple.load import request
from crumple.load.typed_request import TypedRequest
from crumple.machine import memory_of, process_tree
from crumple.machine.connection_ends import Opened
from crumple.observation.connection_memory import PerConnection, per_connection
from crumple.observation.observed import MemoryStep, MemorySteps
from crumple.observation.unknown import Unknown

KIB = 1024
GET = request.make(TypedRequest(path="/"))
EACH = 20 * KIB


def held(*memory_kib: float, why: str = "") -> MemorySteps:
    steps = (MemoryStep(50 * (at + 1), round(KIB * kib)) for at, kib in enumerate(memory_kib))
    return MemorySteps(tuple(steps), why)


def test_the_slope_is_what_a_connection_takes() -> None:
    found = per_connection(held(9000, 11000, 12010, 12990, 14000, 15005))
    assert isinstance(found, PerConnection)
    assert found.value == pytest.approx(EACH, rel=0.01) and found.low < EACH < found.high


def test_the_first_connections_do_not_count() -> None:
    # They make the server touch 8 MiB that all later ones share.
    found = per_connection(held(2000, 11000, 12000, 13000, 14000, 15000))
    assert isinstance(found, PerConnection) and found.value == pytest.approx(EACH)


@pytest.mark.parametrize(
    "memory_kib",
    [
        (9000, 9000, 9000, 9000, 9000, 9000),
        (9000, 11000, 10500, 13000, 11000, 13500),
        (9000, 8000, 7000, 6000, 5000),
    ],
    ids=["constant", "restless", "shrinking"],
)
def test_memory_that_changes_for_other_reasons_tells_no_figure(memory_kib: tuple[float, ...]) -> None:
    assert isinstance(per_connection(held(*memory_kib)), Unknown)


def test_what_it_is_at_most_is_written_in_plain_numbers() -> None:
    found = per_connection(held(90_000, 110_000, 105_000, 130_000, 110_000, 135_000))
    assert isinstance(found, Unknown) and "e+" not in found.why and "KiB or less" in found.why


def test_why_connections_could_not_be_held_is_said() -> None:
    found = per_connection(held(9000, 9100, why="it held 8 of 150 connections"))
    assert isinstance(found, Unknown) and found.why == "it held 8 of 150 connections"
    assert isinstance(per_connection(None), Unknown)


PROGRAM = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = HOW
    wbufsize = -1
    def do_GET(self):
        self.held = bytearray(b"x" * 300_000)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer.request_queue_size = 1024
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("serving", flush=True)
server.serve_forever()
"""


@pytest.mark.starts
@pytest.mark.parallel
@pytest.mark.parametrize("keeps", [True, False])
def test_a_server_that_holds_300_kb_for_each_connection(keeps: bool) -> None:
    port = process_tree.free_port()
    program = PROGRAM.replace("HOW", "'HTTP/1.1'" if keeps else "'HTTP/1.0'")
    words = [sys.executable, "-c", program, str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None and server.stdout.readline() == "serving\n"
            opened = Opened(server.pid, port)
            found = per_connection(idle_memory.held(opened, f"127.0.0.1:{port}", "127.0.0.1", GET))
        finally:
            server.kill()
    if not keeps:
        assert isinstance(found, Unknown) and found.why == "it closes a connection after its answer"
        return
    assert isinstance(found, PerConnection), found
    # Its thread has a stack besides.
    assert 300_000 <= found.value <= 400_000 and found.low < found.value < found.high


@pytest.mark.starts
@pytest.mark.parallel
def test_the_memory_of_a_process_that_ended_is_not_known() -> None:
    with subprocess.Popen(["true"]) as ends:
        pass
    assert memory_of.tree(ends.pid) is None
