"""One timed load with the engine or with a peer, and what it cost: answers, and CPU of the whole process."""

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crumple import contract, engine
from peers import Peer

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    """What one load came to. CPU is user + kernel time of the load generator's process, in seconds."""

    answered: int
    seconds: float
    cpu_s: float

    @property
    def cpu_per_request_us(self) -> float:
        return self.cpu_s / self.answered * 1e6

    @property
    def throughput_per_s(self) -> float:
        return self.answered / self.seconds


def with_peer(peer: Peer, url: str, connections: int, seconds: float, core: int) -> Cost:
    """Runs the peer on `core`. Raises RuntimeError with its last output where it fails."""
    command = peer.command(url, connections, seconds)
    output, cpu_s = _run(command, core, b"")
    answered = peer.answered(output)
    return Cost(answered, answered / peer.per_s(output), cpu_s)


def with_engine(
    url_address: str,
    path: str,
    connections: int,
    seconds: float,
    core: int,
    body_bytes: int | None = None,
    server_pid: int | None = None,
) -> Cost:
    """Runs the engine on `core`, recording everything it records in a trial."""
    spec = contract.TrialSpec.model_validate(
        {
            "version": contract.CONTRACT_VERSION,
            "label": "bench",
            "target": {"address": url_address, "host": url_address},
            "request": {"method": "GET", "path": path, "headers": [], "body": None},
            "expect": {"status": 200, "body_bytes": body_bytes, "body_sha256": None, "hash_one_in": 0},
            "shape": {"kind": "closed", "connections": connections, "pause_ms": 0.0},
            "connection": "keep-alive",
            "warm_up": None,
            "stop": {"kind": "duration", "duration_s": seconds},
            "timeouts": {"connect_s": 5.0, "request_s": 20.0},
            "threads": 1,
            "cores": [core],
            "probe": {"interval_ms": 100, "server_pid": server_pid},
            "seed": 1,
        }
    )
    output, cpu_s = _run([str(engine.find(ROOT)), "run", "-"], core, spec.model_dump_json().encode())
    record = contract.TrialRecord.model_validate_json(output)
    if record.outcomes.failed > 0.01 * record.scheduled:
        raise RuntimeError(f"failures under load: {record.outcomes}")
    return Cost(record.outcomes.ok, seconds, cpu_s)


def _run(command: list[str], core: int, given: bytes) -> tuple[str, float]:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        assert process.stdin
        process.stdin.write(given)
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (output, errors):
            file.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {errors.read()[-300:]!r}")
        return output.read().decode(), usage.ru_utime + usage.ru_stime


@contextmanager
def null_server(core: int) -> Iterator[str]:
    """The engine's null server on `core`; yields its address."""
    command = [str(engine.find(ROOT)), "null-server", "--cores", str(core)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield f"127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    finally:
        process.communicate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


NGINX = """daemon off; pid {scratch}/pid; error_log {scratch}/error.log; worker_processes 1;
events {{ worker_connections 4096; }}
http {{ access_log off; keepalive_requests 1000000000;
client_body_temp_path {scratch}; proxy_temp_path {scratch};
fastcgi_temp_path {scratch}; uwsgi_temp_path {scratch}; scgi_temp_path {scratch};
server {{ listen 127.0.0.1:{port}; location / {{ return 200 "{body}"; }} }} }}
"""


@contextmanager
def nginx(core: int) -> Iterator[str]:
    """nginx with one worker on `core`, a fixed body of 512 bytes; yields its address."""
    port = free_port()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "nginx.conf"
        file.write_text(NGINX.format(scratch=scratch, port=port, body="x" * 512))
        command = ["nginx", "-p", scratch, "-c", str(file)]
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {core})
        )
        try:
            while not answers(port):
                if process.poll() is not None:
                    raise RuntimeError(f"nginx ended with {process.returncode}")
                time.sleep(0.01)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()
