"""The servers for scripts that load no server of a study: the engine's null server, nginx with fixed answers,
and a server that only waits."""

import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import load
from crumple import engine
from crumple.machine import load_machine, process_tree

SMALL_BYTES = 512
LARGE_PATH = "/large"
# A page of text, compressed for those who ask for it.
PAGE_PATH, PAGE_BYTES = "/page", 39_400
# How many requests nginx has answered; only some builds have that.
STATUS_PATH = "/status"
INSTALL_NGINX = "apt-get install nginx"

# This is enough for the connections of lateness.py.
NGINX = """daemon off; pid {scratch}/pid; error_log {scratch}/error.log; worker_processes 1; {user}
worker_rlimit_nofile 19990; events {{ worker_connections 19900; }}
http {{ access_log off; keepalive_requests 1000000000; sendfile on;
client_body_temp_path {scratch}; proxy_temp_path {scratch};
fastcgi_temp_path {scratch}; uwsgi_temp_path {scratch}; scgi_temp_path {scratch};
server {{ listen 127.0.0.1:{port}; location / {{ return 200 "{body}"; }}
location = {large} {{ root {scratch}; }}
location = {page} {{ root {scratch}; default_type text/html; gzip on; }}
{status} }} }}
"""


def installed() -> dict[str, Callable[[int], AbstractContextManager[str]]]:
    """Name → how to start it on a core. Prints which one is not installed."""
    found: dict[str, Callable[[int], AbstractContextManager[str]]] = {"null server": null_server}
    if has_nginx():
        found["nginx"] = nginx
    else:
        print(f"not installed, left out: nginx  (to install: {INSTALL_NGINX})")
    return found


def has_nginx() -> bool:
    return shutil.which("nginx") is not None


def null_server(core: int, threads: int = 1) -> AbstractContextManager[str]:
    """The engine's null server on `core`; yields its address."""
    program = str(engine.find(load.ROOT))
    return _started([program, "null-server", "--cores", str(core), "--threads", str(threads)])


def waiting_server(program: Path, core: int, work_ms: float, workers: int = 0) -> AbstractContextManager[str]:
    """Starts waiting_server.rs on `core`: each request takes one of its workers for `work_ms`. With 0
    workers, one is always free."""
    return _started([str(program), str(work_ms), str(workers), str(core)])


@contextmanager
def _started(command: list[str]) -> Iterator[str]:
    """Starts a server that prints its port and ends when its standard input closes. Yields its address."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        said = process.stdout.readline()
        if not said:
            raise load.LoadError(f"{Path(command[0]).name} ended with {process.wait()}")
        yield f"127.0.0.1:{json.loads(said)['port']}"
    finally:
        process.communicate()


@contextmanager
def nginx(core: int, large_bytes: int = 0, *, status: bool = False) -> Iterator[str]:
    """Starts nginx with one worker on `core`, a fixed body of 512 bytes, a file of `large_bytes` at
    LARGE_PATH, a page that it compresses at PAGE_PATH, and with `status` one of how much it has answered.
    Yields its address."""
    port = process_tree.free_port()
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / LARGE_PATH[1:]).write_bytes(b"x" * large_bytes)
        (Path(scratch) / PAGE_PATH[1:]).write_text(_page())
        file = Path(scratch) / "nginx.conf"
        file.write_text(
            NGINX.format(
                scratch=scratch,
                port=port,
                body="x" * SMALL_BYTES,
                large=LARGE_PATH,
                page=PAGE_PATH,
                status=f"location = {STATUS_PATH} {{ stub_status; }}" if status else "",
                # Only this user may read the folder. Without root, nginx runs as this user anyway.
                user="user root;" if os.geteuid() == 0 else "",
            )
        )
        command = ["nginx", "-p", scratch, "-c", str(file)]
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {core})
        )
        try:
            while not _answers(port):
                if process.poll() is not None:
                    raise load.LoadError(f"nginx ended with {process.returncode}")
                time.sleep(0.01)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _page() -> str:
    """Words in random order, which compress to about a third, as pages do."""
    drawn, words = random.Random(1), list[str]()
    while sum(map(len, words)) < PAGE_BYTES:
        words.append(
            f"<td>{drawn.choice(['name', 'price', 'order', 'in stock'])} {drawn.randrange(10**6)}</td>\n"
        )
    return "".join(words)[:PAGE_BYTES]


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.bind((process_tree.ASKED_FROM, 0))
        return probe.connect_ex((load_machine.HOST, port)) == 0
