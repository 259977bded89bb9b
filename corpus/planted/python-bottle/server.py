"""Bottle on the standard library's server, with a thread for a connection: python server.py PORT WORK_MS."""

import sys
import time
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from bottle import Bottle, WSGIRefServer, request

app = Bottle()


def milliseconds():
    """The number in ms=N; 0 without one."""
    return float(request.query.get("ms", 0))


@app.get("/")
def hello():
    """Answer at once."""
    return "hello"


@app.get("/wait")
def wait():
    """Sleep in the connection's thread."""
    time.sleep(milliseconds() / 1000)
    return "waited"


@app.get("/compute")
def compute():
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + milliseconds() * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


@app.get("/work")
def work():
    """Wait, as a handler that asks something else."""
    time.sleep(float(sys.argv[2]) / 1000)
    return "done"


class Threads(ThreadingMixIn, WSGIServer):
    """What answers to "how do I make wsgiref threaded" say."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """Logs nothing."""

    def log_message(self, *args):
        """Nothing."""


app.run(
    server=WSGIRefServer(
        host="127.0.0.1", port=int(sys.argv[1]), server_class=Threads, handler_class=Quiet, quiet=True
    ),
    quiet=True,
)
