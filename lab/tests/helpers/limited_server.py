"""A small server with one known limit, for tests of experiments: `python limited_server.py KIND`.

It prints its port. A request for /wait waits 150 ms outside of any limit but the workers; any other is the
work. Kinds:

- free: a thread for each connection, and no limit; the work waits 20 ms.
- gate: the same, and four requests at a time are let in to wait these 20 ms.
- keys: the same, and one request at a time for each value of the cookie `id`.
- paced: as free, but at most 100 requests per second pass, evenly spaced, and the others are held back.
- circle: as free, but a request takes two of 40 places one after the other, and keeps both: 40 requests
  that have one each wait for ever.
- pool: a loop polls, and hands each connection on which something has come to one of four workers, which
  reads a whole request.
- accepts: four workers, each of which accepts a connection, serves one request on it and closes it.
- keeps: four workers, each of which accepts a connection and serves it until it is closed.
- grows: as keeps, with one worker, and one more each second, and each closes its connection after an answer.
- hasty: as free, but it takes what comes first for a whole request.
- queue: as free, but it accepts one connection each 5 ms, and one more at most waits to be accepted.
"""

import collections
import queue
import re
import selectors
import socket
import sys
import threading
import time

WORK_S, WAIT_S, LET_IN = 0.02, 0.15, 4
PACE_PER_S, PACED_WORK_S = 100.0, 0.002
KIND = sys.argv[1]

places = threading.Semaphore(40)
gate = threading.Semaphore(LET_IN)
pace, passes_s = threading.Lock(), 0.0
locks: dict[bytes, threading.Lock] = collections.defaultdict(threading.Lock)


def answered(connection: socket.socket, *, closes: bool = False) -> bool:
    """Read a request and answer it; return whether the connection is still open."""
    request = b""
    try:
        while b"\r\n\r\n" not in request:
            more = connection.recv(4096)
            if not more:
                return False
            request += more
            if KIND == "hasty":
                break
        work(request)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + (b"Connection: close\r\n" if closes else b"")
        connection.sendall(head + b"\r\nok")
    except OSError:
        return False
    return not closes


def work(request: bytes) -> None:
    if request.startswith(b"GET /wait"):
        time.sleep(WAIT_S)
    elif KIND == "gate":
        with gate:
            time.sleep(WORK_S)
    elif KIND == "keys":
        found = re.search(rb"\bid=(\w+)", request)
        with locks[found[1] if found else b""]:
            time.sleep(WORK_S)
    elif KIND == "paced":
        time.sleep(paced_s())
        time.sleep(PACED_WORK_S)
    elif KIND == "circle":
        with places:
            time.sleep(WORK_S)
            with places:
                pass
    else:
        time.sleep(WORK_S)


def paced_s() -> float:
    """For how long the next request is held back."""
    global passes_s
    with pace:
        now_s = time.monotonic()
        passes_s = max(now_s, passes_s + 1 / PACE_PER_S)
        return passes_s - now_s


def serve(connection: socket.socket, *, closes: bool = False) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        while answered(connection, closes=closes):
            pass


def accept_and_serve(*, closes: bool) -> None:
    while True:
        serve(listens.accept()[0], closes=closes)


def started(target: object, **given: object) -> None:
    threading.Thread(target=target, kwargs=given, daemon=True).start()  # type: ignore[arg-type]


def run_pool() -> None:
    ready: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    polled: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    wakes, woken = socket.socketpair()

    def serve_ready() -> None:
        while True:
            connection = ready.get()
            if answered(connection):
                polled.put(connection)
                wakes.send(b"x")
            else:
                connection.close()

    for _ in range(LET_IN):
        started(serve_ready)
    with selectors.DefaultSelector() as selector:
        selector.register(listens, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listens:
                    selector.register(listens.accept()[0], selectors.EVENT_READ)
                elif key.fileobj is woken:
                    woken.recv(1)
                    selector.register(polled.get(), selectors.EVENT_READ)
                else:
                    selector.unregister(key.fileobj)
                    ready.put(key.fileobj)  # type: ignore[arg-type]


listens = socket.create_server(("127.0.0.1", 0), backlog=0 if KIND == "queue" else 1024)
print(listens.getsockname()[1], flush=True)
if KIND == "pool":
    run_pool()
elif KIND in ("accepts", "keeps"):
    for _ in range(LET_IN - 1):
        started(accept_and_serve, closes=KIND == "accepts")
    accept_and_serve(closes=KIND == "accepts")
elif KIND == "grows":
    while True:
        started(accept_and_serve, closes=True)
        time.sleep(1.0)
else:
    while True:
        accepted = listens.accept()[0]
        threading.Thread(target=serve, args=(accepted,), daemon=True).start()
        if KIND == "queue":
            time.sleep(0.005)
