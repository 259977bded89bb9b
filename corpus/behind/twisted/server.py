"""Twisted, with causes to plant: python server.py PORT BESIDE_PORT WORK PROCESSES NOFILE.

GET /work does WORK: wait:MS, query:MS (a query that takes so long, by adbapi), token:MS (renews a token
at the server at BESIDE_PORT, under a lock), call:MS (calls what blocks, by deferToThread). PROCESSES share
the listening socket, each with a loop; NOFILE is the limit of descriptors, 0: as it is.
"""

import contextlib
import os
import resource
import signal
import socket
import sys
import time
import urllib.request

PORT, BESIDE_PORT, WORK, PROCESSES, NOFILE = sys.argv[1:]
WHAT, _, TEXT = WORK.partition(":")
MS = float(TEXT)
# A token is renewed so long before it ends; since the service shortened their life, at once.
LIFE_S, LEEWAY_S = 300, 300


def compute(cpu_ms):
    """Use that much CPU time of this thread."""
    ends, x = time.thread_time_ns() + cpu_ms * 1_000_000, 1
    while time.thread_time_ns() < ends:
        for _ in range(300):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def serve(listening):
    """Serve with a reactor of this process's own."""
    from twisted.enterprise import adbapi
    from twisted.internet import defer, reactor, task, threads
    from twisted.web import client, resource, server

    class Token:
        """A token of an API, which all requests use."""

        def __init__(self):
            self.lock = defer.DeferredLock()
            self.ends_s = 0.0
            pool = client.HTTPConnectionPool(reactor)
            pool.maxPersistentPerHost = 50
            self.agent = client.Agent(reactor, pool)

        @defer.inlineCallbacks
        def get(self):
            """Return when there is a token that is valid."""
            yield self.lock.acquire()
            try:
                if time.time() >= self.ends_s:
                    asked = f"http://127.0.0.1:{BESIDE_PORT}/wait?ms={MS:g}".encode()
                    answer = yield self.agent.request(b"GET", asked)
                    yield client.readBody(answer)
                    self.ends_s = time.time() + LIFE_S - LEEWAY_S
            finally:
                self.lock.release()

    def query():
        return database.runQuery("SELECT SLEEP(%s)", (MS / 1000,))

    if WHAT == "query":
        with urllib.request.urlopen(f"http://127.0.0.1:{BESIDE_PORT}/") as answer:
            db_port = int(answer.read())
        database = adbapi.ConnectionPool(
            "pymysql", host="127.0.0.1", port=db_port, user="shop", database="shop"
        )
    work = {
        "query": query,
        "token": Token().get,
        "call": lambda: threads.deferToThread(time.sleep, MS / 1000),
        "wait": lambda: task.deferLater(reactor, MS / 1000),
    }[WHAT]

    class Answers(resource.Resource):
        isLeaf = True  # noqa: N815  (Twisted's name)

        def render_GET(self, request):  # noqa: N802  (Twisted's name)
            request.setHeader(b"Content-Type", b"text/plain")
            ms = int(request.args.get(b"ms", [b"0"])[0])
            if request.path == b"/":
                return b"hello"
            if request.path == b"/compute":
                return compute(ms).encode()
            if request.path == b"/wait":
                done = task.deferLater(reactor, ms / 1000)
            elif request.path == b"/work":
                done = work()
            else:
                request.setResponseCode(404)
                return b""
            gone = []
            request.notifyFinish().addErrback(gone.append)

            def finish(status):
                if not gone:
                    request.setResponseCode(status)
                    request.setHeader(b"Content-Length", b"4")
                    request.write(b"done")
                    request.finish()

            done.addCallbacks(lambda _: finish(200), lambda _: finish(500))
            return server.NOT_DONE_YET

    class Site(server.Site):
        def log(self, request):
            pass

    reactor.adoptStreamPort(listening.fileno(), socket.AF_INET, Site(Answers()))
    listening.close()
    reactor.run()


def main():
    """Serve until the process is ended, or one of its processes ends."""
    if limit := int(NOFILE):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    listening = socket.create_server(("127.0.0.1", int(PORT)), backlog=1024)
    listening.setblocking(False)
    if PROCESSES == "1":
        serve(listening)
        return
    children = []
    for _ in range(int(PROCESSES)):
        children.append(os.fork())
        if not children[-1]:
            serve(listening)
            return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        os.wait()
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)


main()
