"""Robyn, with causes to plant: python server.py PORT WORK.

GET /work does WORK: wait:MS, route:MS (computes so long, in a handler that is no coroutine).
"""

import asyncio
import os
import signal
import sys
import time

from robyn import Request, Robyn

PORT, WORK = sys.argv[1:]
WHAT, N = WORK.split(":")
sys.argv[1:] = ["--disable-openapi", "--log-level", "ERROR"]
app = Robyn(__file__)


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


@app.get("/")
async def hello():
    """Answer at once."""
    return "hello"


@app.get("/wait")
async def wait(request: Request):
    """Wait by a timer of the loop."""
    await asyncio.sleep(float(request.query_params.get("ms", "0")) / 1000)
    return "waited"


@app.get("/compute")
async def computed(request: Request):
    """Compute on the loop."""
    return compute(float(request.query_params.get("ms", "0")))


async def idle():
    """Wait for a timer."""
    await asyncio.sleep(float(N) / 1000)
    return "done"


def route():
    """Find a route for a parcel; no coroutine, so Robyn calls it in Actix' thread."""
    return compute(float(N))


@app.startup_handler
async def started():
    """End at SIGTERM; Robyn's own handler waits for the interpreter, which waits for Rust."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)


app.get("/work")({"wait": idle, "route": route}[WHAT])
app.start(host="127.0.0.1", port=int(PORT))
