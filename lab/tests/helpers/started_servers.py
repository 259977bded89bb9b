"""Small servers in Python that wait, compute or ask, started for a test."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


# A thread for each connection. /hash?ms computes in user mode and /zeros?ms in the kernel, by the thread's
# own clock, without the interpreter's lock; /two?ms computes on two threads at a time; /burn?ms sleeps while
# a thread of the background computes for good.
PROGRAM = """
import hashlib, json, os, random, re, socket, sys, threading, time

BLOCK = bytes(1 << 18)
DATABASE = sys.argv[1] and ("127.0.0.1", int(sys.argv[1]))
local = threading.local()

def hashes(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        hashlib.sha256(BLOCK).digest()

def zeros(seconds):
    file, buffer = os.open("/dev/zero", os.O_RDONLY), bytearray(1 << 20)
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        os.readv(file, [buffer])
    os.close(file)

def two(seconds):
    other = threading.Thread(target=hashes, args=(seconds,))
    other.start()
    hashes(seconds)
    other.join()

def asks(seconds):
    time.sleep(0.02)
    if not hasattr(local, "link"):
        local.link = socket.create_connection(DATABASE)
    local.link.sendall(b"%d\\n" % (1000 * seconds))
    local.link.recv(100)

def syncs(seconds):
    if not hasattr(local, "file"):
        local.file = os.open(sys.argv[2] + "/%d" % threading.get_ident(), os.O_CREAT | os.O_WRONLY)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        os.pwrite(local.file, random.randbytes(1 << 16), 0)
        os.fsync(local.file)

DO = {
    "sleep": time.sleep, "hash": hashes, "zeros": zeros, "two": two, "ask": asks, "burn": time.sleep,
    "sync": syncs,
}
burning = threading.Event()

def burn():
    burning.wait()
    while True:
        hashes(1)

def serve(connection):
    while data := connection.recv(65536):
        what, ms = re.match(rb"GET /([a-z]+)\\?ms=(\\d+)", data).groups()
        if what == b"burn":
            burning.set()
        DO[what.decode()](int(ms) / 1000)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")

threading.Thread(target=burn, daemon=True).start()
with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""


@contextmanager
def started(program: str, *arguments: str) -> Iterator[tuple[int, int]]:
    """Start a program that prints its port; yield its port and its pid."""
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE)
    try:
        assert process.stdout
        yield json.loads(process.stdout.readline())["port"], process.pid
    finally:
        process.kill()
        process.communicate()
