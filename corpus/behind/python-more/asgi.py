"""The ASGI application. GET /work asks $BESIDE_PORT to wait $WORK_MS, in a call that blocks."""

import asyncio
import os
import urllib.request

import sniffio
import trio
from work import compute, ms_of

NEWS = f"http://127.0.0.1:{os.environ['BESIDE_PORT']}/wait?ms={os.environ['WORK_MS']}"


async def sleep(ms):
    """Wait by the timer of the loop, whichever it is."""
    await (trio if sniffio.current_async_library() == "trio" else asyncio).sleep(ms / 1000)


async def application(scope, receive, send):
    """Answer a request."""
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    path, query = scope["path"], scope["query_string"].decode()
    status, body = 200, b"hello"
    if path == "/wait":
        await sleep(ms_of(query))
    elif path == "/compute":
        body = compute(ms_of(query)).encode()
    elif path == "/work":
        with urllib.request.urlopen(NEWS) as answer:
            body = answer.read()
    elif path != "/":
        status = 404
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
