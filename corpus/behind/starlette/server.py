"""Starlette, with causes to plant: BESIDE_PORT=PORT WORK=… FOLDER=… uvicorn server:app.

GET /work does WORK: wait:MS, invoice:MS (computes so long in one of Starlette's threads, as the handler is
no coroutine), stock:MS (asks the service beside over httpx, which answers after so long), flush:MS (waits,
while a thread writes figures to the disk again and again), render:MS (computes on the loop).
"""

import asyncio
import contextlib
import os
import threading
import time
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

WHAT, N = os.environ["WORK"].split(":")
# The limits are those of the example in httpx's documentation.
LIMITS = httpx.Limits(max_keepalive_connections=5, max_connections=10)


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def flush():
    """Write the figures of this process to the disk, over and over."""
    figures = os.urandom(1 << 20)
    with Path(os.environ["FOLDER"], f"figures.{os.getpid()}").open("wb", buffering=0) as file:
        while True:
            file.seek(0)
            file.write(figures)
            os.fsync(file.fileno())


@contextlib.asynccontextmanager
async def lifespan(app):
    """Open what the handlers use."""
    if WHAT == "flush":
        threading.Thread(target=flush, daemon=True).start()
    url = f"http://127.0.0.1:{os.environ['BESIDE_PORT']}"
    async with httpx.AsyncClient(base_url=url, limits=LIMITS, timeout=None, trust_env=False) as client:
        app.state.client = client
        yield


async def hello(request):
    """Answer at once."""
    return PlainTextResponse("hello")


async def wait(request):
    """Wait by a timer of the loop."""
    await asyncio.sleep(float(request.query_params.get("ms", 0)) / 1000)
    return PlainTextResponse("waited")


async def computed(request):
    """Compute on the loop."""
    return PlainTextResponse(compute(float(request.query_params.get("ms", 0))))


async def idle(request):
    """Wait for a timer, whatever else goes on."""
    await asyncio.sleep(float(N) / 1000)
    return PlainTextResponse("done")


def invoice(request):
    """Set an invoice in pages; no coroutine, so Starlette calls it in a thread."""
    return PlainTextResponse(compute(float(N)))


async def stock(request):
    """Ask the service that knows what is left."""
    answer = await request.app.state.client.get(f"/stock?ms={N}")
    return PlainTextResponse(answer.text)


async def render(request):
    """Render a page on the loop."""
    return PlainTextResponse(compute(float(N)))


work = {"wait": idle, "flush": idle, "invoice": invoice, "stock": stock, "render": render}[WHAT]
routes = [Route("/", hello), Route("/wait", wait), Route("/compute", computed), Route("/work", work)]
app = Starlette(routes=routes, lifespan=lifespan)
