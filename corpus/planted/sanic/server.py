"""Sanic, one process, with causes to plant: python server.py PORT WORK KEEP BACKLOG.

GET /work does WORK: wait:MS, login:ROUNDS (checks a password with so many rounds, in the handler),
legacy:MS (a call that blocks so long, in the loop's own pool of threads). KEEP: whether connections are
kept alive. BACKLOG: how long the queue of connections is.
"""

import asyncio
import hashlib
import sys
import time

from sanic import Sanic, text

port, work, keep, backlog = sys.argv[1:]
what, number = work.split(":")
n = int(number)
app = Sanic("planted", configure_logging=False)
app.config.KEEP_ALIVE = keep == "1"
app.config.ACCESS_LOG = False


def compute(cpu_ms):
    """Use CPU time."""
    x, ends = 1, time.thread_time_ns() + int(cpu_ms * 1e6)
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


async def login():
    """Check a password."""
    hashlib.pbkdf2_hmac("sha256", b"correct horse", b"battery staple", n)


async def legacy():
    """Call what blocks."""
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, n / 1000)


async def pause():
    """Wait as one should."""
    await asyncio.sleep(n / 1000)


DO = {"wait": pause, "login": login, "legacy": legacy}


@app.get("/")
async def hello(_):
    """Answer at once."""
    return text("hello")


@app.get("/wait")
async def wait(request):
    """Wait."""
    await asyncio.sleep(float(request.args.get("ms", 0)) / 1000)
    return text("waited")


@app.get("/compute")
async def computed(request):
    """Compute."""
    return text(compute(float(request.args.get("ms", 0))))


@app.get("/work")
async def worked(_):
    """Do what shows the cause."""
    await DO[what]()
    return text("done")


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(port), backlog=int(backlog), single_process=True, motd=False)
