"""Flask on gevent's own server, with causes to plant: python server.py PORT BESIDE_PORT WORK SPAWN.

GET /work does WORK: wait:MS, query:MS (a query that takes so long, with a driver that is written in C),
tool:MS (a call that blocks so long, in the hub's pool of threads). SPAWN: how many connections there may be
at a time; 0: any number.
"""

from gevent import monkey

monkey.patch_all()

import socket  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import urllib.request  # noqa: E402

import gevent  # noqa: E402
import MySQLdb  # noqa: E402
from flask import Flask, Response, request  # noqa: E402
from gevent.pywsgi import WSGIServer  # noqa: E402

port, beside_port, work, spawn = sys.argv[1:]
what, text = work.split(":")
seconds = float(text) / 1000
app = Flask(__name__)
blocking_sleep = monkey.get_original("time", "sleep")
local = threading.local()  # of each greenlet


def compute(cpu_ms):
    """Use CPU time."""
    x, ends = 1, time.thread_time_ns() + int(cpu_ms * 1e6)
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


if what == "query":
    with urllib.request.urlopen(f"http://127.0.0.1:{beside_port}/") as answer:
        db_port = int(answer.read())


def query():
    """A query on a connection that the greenlet keeps."""
    if not hasattr(local, "connection"):
        local.connection = MySQLdb.connect(host="127.0.0.1", port=db_port, user="shop", database="shop")
    cursor = local.connection.cursor()
    cursor.execute("SELECT SLEEP(%s)", (seconds,))
    cursor.fetchall()
    cursor.close()


DO = {
    "wait": lambda: time.sleep(seconds),
    "query": query,
    "tool": lambda: gevent.get_hub().threadpool.apply(blocking_sleep, (seconds,)),
}


def plain(body):
    """An answer."""
    return Response(body, content_type="text/plain")


@app.get("/")
def hello():
    """Answer at once."""
    return plain("hello")


@app.get("/wait")
def wait():
    """Wait."""
    time.sleep(float(request.args.get("ms", 0)) / 1000)
    return plain("waited")


@app.get("/compute")
def computed():
    """Compute."""
    return plain(compute(float(request.args.get("ms", 0))))


@app.get("/work")
def worked():
    """Do what shows the cause."""
    DO[what]()
    return plain("done")


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # its connections take this over
listener.bind(("127.0.0.1", int(port)))
listener.listen(1024)
WSGIServer(listener, app, log=None, spawn=int(spawn) or "default").serve_forever()
