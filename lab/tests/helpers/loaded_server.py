"""A server for tests that load it from elsewhere, and whether what was read of it is of that load."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import documents
from crumple import contract
from crumple.contract import TrialRecord, TrialSpec
from crumple.record import windows

# Phases that nobody tells the end of last for minutes.
OFF_MOST_NS = 500_000_000
SERVER = """
import socketserver, sys
class Answers(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    def handle(self):
        while self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            sum(range(20_000))
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 100
server = Server((sys.argv[1], 0), Answers)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@contextmanager
def server(address: str) -> Iterator[TrialSpec]:
    """A load of a server at this address, which is watched."""
    command = [sys.executable, "-c", SERVER, address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield documents.spec(
                target=contract.Target(address=f"{address}:{port}", host="there"),
                requests=(documents.request(body_bytes=2, path="/"),),
                shape=contract.ClosedShapeSpec(connections=4, pause_ms=5.0),
                warm_up=contract.WarmUpSpec(connections=None, pauses=True, stop=seconds(0.3)),
                stop=seconds(1.5),
                threads=1,
                cores=(),
                probe=contract.ProbeSpec(
                    interval_ms=100, server_pid=process.pid, tasks=True, dependencies=True
                ),
            )
        finally:
            process.kill()


def seconds(duration_s: float) -> contract.StopSpec:
    return contract.DurationStopSpec(duration_s=duration_s)


def is_of_the_load(record: TrialRecord) -> bool:
    """Whether what was read of the server spans the time that was measured there, and not another.

    Each end is some tenths of a millisecond off on a calm machine, and more where cores are lacking.
    """
    read = windows.server(record)
    assert read is not None
    return abs(read.span_ns - record.measured_ns) < OFF_MOST_NS and read.cpu_ns > 0
