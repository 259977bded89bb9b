"""What the servers here answer: a WSGI application, and the parts of the ASGI application."""

import time
from urllib.parse import parse_qs


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1_000_000
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def ms_of(query):
    """The number in ms=N; 0 without one."""
    return int(parse_qs(query).get("ms", ["0"])[0])


def application(environ, start_response):
    """Answer a WSGI request in the calling thread."""
    path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
    status, body = "200 OK", "hello"
    if path == "/wait":
        time.sleep(ms_of(query) / 1000)
    elif path == "/compute":
        body = compute(ms_of(query))
    elif path != "/":
        status = "404 Not Found"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body.encode()]
