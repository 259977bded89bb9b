"""A WSGI application for gunicorn.

GET /work does the steps of $WORK in turn, joined by "+": wait:MS, compute:MS.
"""

import os
import time
from urllib.parse import parse_qs


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF


def wait(ms):
    """Sleep in the calling thread."""
    time.sleep(ms / 1000)


DO = {"wait": wait, "compute": compute}
STEPS = [(what, float(n)) for what, n in (part.split(":") for part in os.environ["WORK"].split("+"))]


def application(environ, start_response):
    """Answer a request."""
    ms = float(parse_qs(environ.get("QUERY_STRING", "")).get("ms", ["0"])[0])
    path = environ["PATH_INFO"]
    steps = {"/": [], "/wait": [("wait", ms)], "/compute": [("compute", ms)], "/work": STEPS}.get(path)
    for what, n in steps or ():
        DO[what](n)
    start_response("404 Not Found" if steps is None else "200 OK", [("Content-Length", "4")])
    return [b"done"]
