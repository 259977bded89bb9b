"""What the Python servers answer, and their common WSGI application."""

import hashlib
import time
from urllib.parse import parse_qs

BLOCK = bytes(1 << 16)


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time; it holds the interpreter's lock."""
    ends = time.thread_time_ns() + cpu_ms * 1_000_000
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def compute_unlocked(cpu_ms):
    """Use the same CPU time for hashing, during which the interpreter's lock is free."""
    ends = time.thread_time_ns() + cpu_ms * 1_000_000
    digest = hashlib.sha256()
    while time.thread_time_ns() < ends:
        digest.update(BLOCK)
    return digest.hexdigest()


def ms_of(query):
    """The number in ms=N; 0 without one."""
    return int(parse_qs(query).get("ms", ["0"])[0])


def answer(path, query):
    """The body, after waiting or computing in the calling thread; None for an unknown path."""
    if path == "/":
        return "hello"
    if path == "/wait":
        time.sleep(ms_of(query) / 1000)
        return "waited"
    return compute(ms_of(query)) if path == "/compute" else None


def application(environ, start_response):
    """Answer a WSGI request."""
    body = answer(environ["PATH_INFO"], environ.get("QUERY_STRING", ""))
    content = (body or "").encode()
    status = "404 Not Found" if body is None else "200 OK"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(content)))])
    return [content]
