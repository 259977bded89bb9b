"""Pyramid on Waitress, with causes to plant: python server.py PORT BESIDE_PORT WORK THREADS.

GET /work does WORK: wait:MS, quote:MS (asks a service that answers after so long), audit:MS (logs to a
collector that answers after so long, by a handler of the logging module).
"""

import http.client
import logging
import logging.handlers
import sys
import time
import warnings

warnings.simplefilter("ignore")  # Pyramid 2.0 asks for pkg_resources, which setuptools warns of

import waitress  # noqa: E402
from pyramid.config import Configurator  # noqa: E402
from pyramid.response import Response  # noqa: E402

PORT, BESIDE_PORT, WORK, THREADS = sys.argv[1:]
WHAT, N = WORK.split(":")
audit = logging.getLogger("audit")
audit.setLevel(logging.INFO)
audit.propagate = False


class Collector(logging.handlers.HTTPHandler):
    """Sends each record to the collector and waits for its answer."""

    def getConnection(self, host, secure):  # noqa: N802  (the name is that of logging)
        """A connection that gives up after a while, as production has it."""
        return http.client.HTTPConnection(host, timeout=5)


audit.addHandler(Collector(f"127.0.0.1:{BESIDE_PORT}", f"/record?ms={N}"))


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def text(answer):
    """An answer in plain text."""
    return Response(answer, content_type="text/plain", charset="utf-8")


def hello(request):
    """Answer at once."""
    return text("hello")


def wait(request):
    """Hold the thread."""
    time.sleep(float(request.params.get("ms", 0)) / 1000)
    return text("waited")


def computed(request):
    """Compute in the thread."""
    return text(compute(float(request.params.get("ms", 0))))


def quote():
    """Ask the service beside, over a new connection."""
    connection = http.client.HTTPConnection("127.0.0.1", int(BESIDE_PORT))
    connection.request("GET", f"/quote?ms={N}")
    connection.getresponse().read()
    connection.close()


def work(request):
    """Do what is planted."""
    if WHAT == "quote":
        quote()
    elif WHAT == "audit":
        audit.info("order %s seen by %s", request.path, request.client_addr)
    else:
        time.sleep(float(N) / 1000)
    return text("done")


with Configurator() as config:
    for path, view in {"/": hello, "/wait": wait, "/compute": computed, "/work": work}.items():
        config.add_route(path, path)
        config.add_view(view, route_name=path)
waitress.serve(config.make_wsgi_app(), host="127.0.0.1", port=int(PORT), threads=int(THREADS), backlog=1024)
