"""What is loaded where no server of a study is: the engine's null server, and nginx with a fixed answer."""

import json
import os
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
from crumple.processes import listening

# Enough for memory.py's connections.
NGINX = """daemon off; pid {scratch}/pid; error_log {scratch}/error.log; worker_processes 1;
worker_rlimit_nofile 16384; events {{ worker_connections 16000; }}
http {{ access_log off; keepalive_requests 1000000000;
client_body_temp_path {scratch}; proxy_temp_path {scratch};
fastcgi_temp_path {scratch}; uwsgi_temp_path {scratch}; scgi_temp_path {scratch};
server {{ listen 127.0.0.1:{port}; location / {{ return 200 "{body}"; }} }} }}
"""


def installed() -> dict[str, Callable[[int], AbstractContextManager[str]]]:
    """Name → how to start it on a core; says which one is not installed."""
    found: dict[str, Callable[[int], AbstractContextManager[str]]] = {"null server": null_server}
    if shutil.which("nginx"):
        found["nginx"] = nginx
    else:
        print("not installed, left out: nginx  (to install: apt-get install nginx)")
    return found


@contextmanager
def null_server(core: int) -> Iterator[str]:
    """The engine's null server on `core`; yields its address."""
    command = [str(engine.find(load.ROOT)), "null-server", "--cores", str(core)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield f"127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    finally:
        process.communicate()


@contextmanager
def nginx(core: int) -> Iterator[str]:
    """nginx with one worker on `core`, a fixed body of 512 bytes; yields its address."""
    port = listening.free_port()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "nginx.conf"
        file.write_text(NGINX.format(scratch=scratch, port=port, body="x" * 512))
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


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.bind((listening.ASKED_FROM, 0))
        return probe.connect_ex((listening.HOST, port)) == 0
