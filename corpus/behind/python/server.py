"""A threaded HTTP server of the standard library, with causes to plant: python server.py PORT name=value...

mode=threads|pool|grow workers=N keep=0|1 backlog=N nofile=N beside_port=N grow_ms=N stop=MS work=STEPS

threads: a thread for each connection; pool: a fixed number of threads, each of which accepts a connection and
serves it to its end; grow: such a pool that gets a thread more every grow_ms, from 2. stop: stopped for MS,
running for MS. GET /work does the steps in turn, joined by "+": wait:MS, compute:MS (with the interpreter's
lock), hash:MS (without it), query:MS (asks the server at beside_port to wait, each thread over its own).
"""

import hashlib
import http.client
import os
import resource
import signal
import socket
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

GIVEN = dict(part.split("=", 1) for part in sys.argv[2:])
BLOCK = bytes(1 << 16)
OWN = threading.local()


def number(name, otherwise):
    """The whole number given as `name`."""
    return int(GIVEN.get(name, otherwise))


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF


def compute_unlocked(cpu_ms):
    """Use the same CPU time for hashing, during which the interpreter's lock is free."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    while time.thread_time_ns() < ends:
        hashlib.sha256(BLOCK)


def query(ms):
    """Ask the dependency to wait."""
    if not hasattr(OWN, "connection"):
        OWN.connection = http.client.HTTPConnection("127.0.0.1", number("beside_port", 0))
    OWN.connection.request("GET", f"/wait?ms={ms:g}")
    OWN.connection.getresponse().read()


DO = {"wait": lambda ms: time.sleep(ms / 1000), "compute": compute, "hash": compute_unlocked, "query": query}
STEPS = [(what, float(n)) for what, n in (part.split(":") for part in GIVEN.get("work", "wait:0").split("+"))]


def answered(stream, keep):
    """Answer one request of the connection; False: it is over."""
    line = stream.readline().split()
    head = b""
    while (field := stream.readline()) not in (b"\r\n", b""):
        head += field.lower()
    if len(line) != 3:
        return False
    url = urlsplit(line[1].decode())
    ms = float(parse_qs(url.query).get("ms", ["0"])[0])
    steps = {"/": [], "/wait": [("wait", ms)], "/compute": [("compute", ms)], "/work": STEPS}.get(url.path)
    for what, n in steps or ():
        DO[what](n)
    keep = keep and b"connection: close" not in head
    status = "404 Not Found" if steps is None else "200 OK"
    close = "" if keep else "Connection: close\r\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n{close}\r\n"
    stream.write(f"{head}done".encode())
    stream.flush()
    return keep


def serve(connection):
    """Answer the requests of a connection until it ends."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        with connection, connection.makefile("rwb") as stream:
            while answered(stream, number("keep", 1) == 1):
                pass
    except OSError:
        pass


def accept(listener, use):
    """Accept connections for ever, and call `use` with each."""
    while True:
        try:
            connection = listener.accept()[0]
        except OSError:  # no descriptor is left
            time.sleep(0.001)
            continue
        use(connection)


def start(target, *args):
    """Run `target` in a thread."""
    threading.Thread(target=target, args=args, daemon=True).start()


def stop_and_go(pid, ms):
    """Stop the server for `ms` and let it run for `ms`, until it is gone."""
    try:
        while os.getppid() == pid:
            for number_of_signal in (signal.SIGSTOP, signal.SIGCONT):
                time.sleep(ms / 1000)
                os.kill(pid, number_of_signal)
    except ProcessLookupError:
        pass
    os._exit(0)


def main():
    """Serve until the process is ended."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (number("nofile", 8192),) * 2)
    server = os.getpid()
    if number("stop", 0) and os.fork() == 0:
        stop_and_go(server, number("stop", 0))
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen(number("backlog", 4096))
    mode = GIVEN.get("mode", "threads")
    if mode == "threads":
        accept(listener, lambda connection: start(serve, connection))
    for count in range(number("workers", 8)):
        if mode == "grow" and count >= 2:
            time.sleep(number("grow_ms", 1000) / 1000)
        start(accept, listener, serve)
    threading.Event().wait()


main()
