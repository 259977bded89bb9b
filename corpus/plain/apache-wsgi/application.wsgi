"""Waits and computes in the thread that answers."""

import time
from urllib.parse import parse_qs


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time; it holds the interpreter's lock."""
    ends = time.thread_time_ns() + cpu_ms * 1_000_000
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def answer(path, query):
    """The body; None for an unknown path."""
    ms = int(parse_qs(query).get("ms", ["0"])[0])
    if path == "/":
        return "hello"
    if path == "/wait":
        time.sleep(ms / 1000)
        return "waited"
    return compute(ms) if path == "/compute" else None


def application(environ, start_response):
    """Answer a WSGI request."""
    body = answer(environ["PATH_INFO"], environ.get("QUERY_STRING", ""))
    content = (body or "").encode()
    status = "404 Not Found" if body is None else "200 OK"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(content)))])
    return [content]
