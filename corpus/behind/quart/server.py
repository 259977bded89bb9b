"""Quart on Hypercorn, with causes to plant: python server.py PORT BESIDE_PORT WORK.

GET /work does WORK: wait:MS, upload:MS (a library that blocks for so long, by asyncio.to_thread),
ask:MS (asks the server at BESIDE_PORT, and opens a connection for it).
"""

import asyncio
import sys
import time

from hypercorn.asyncio import serve
from hypercorn.config import Config
from quart import Quart, request

PORT, BESIDE_PORT, WORK = sys.argv[1:]
WHAT, TEXT = WORK.split(":")
MS = float(TEXT)

app = Quart(__name__)


def milliseconds():
    """The number in ms=N; 0 without one."""
    return float(request.args.get("ms", 0))


@app.get("/")
async def hello():
    """Answer at once."""
    return "hello"


@app.get("/wait")
async def wait():
    """Sleep on the loop."""
    await asyncio.sleep(milliseconds() / 1000)
    return "waited"


@app.get("/compute")
async def compute():
    """Arithmetic until the loop's thread has used so much CPU time."""
    ends = time.thread_time_ns() + milliseconds() * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


async def ask():
    """Ask the other server, on a connection of this request's own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(BESIDE_PORT))
    writer.write(f"GET /wait?ms={MS} HTTP/1.1\r\nHost: beside\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(len("done"))
    writer.close()


@app.get("/work")
async def work():
    """What was planted."""
    if WHAT == "upload":
        await asyncio.to_thread(time.sleep, MS / 1000)
    elif WHAT == "ask":
        await ask()
    else:
        await asyncio.sleep(MS / 1000)
    return "done"


config = Config()
config.bind = [f"127.0.0.1:{PORT}"]
config.keep_alive_timeout = 60
asyncio.run(serve(app, config))
