"""FastAPI on uvicorn, with causes to plant: python server.py PORT BESIDE_PORT WORK.

GET /work does WORK: query:MS (has the dependency wait, over a connection of SQLAlchemy's pool, as it comes),
poll:MS (waits on the loop for news, while a thread collects figures).
"""

import asyncio
import http.client
import sys
import threading
import time
from contextlib import closing

import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from sqlalchemy.pool import QueuePool

PORT, BESIDE_PORT, WORK = sys.argv[1:]
WHAT, N = WORK.split(":")


class Connection(http.client.HTTPConnection):
    """A connection to what stands for the database, with what SQLAlchemy's pool asks of one."""

    def rollback(self):
        """Nothing is open that could be rolled back."""

    def query(self, ms):
        """Have the database work for so long."""
        self.request("GET", f"/wait?ms={ms}")
        return self.getresponse().read()


app = FastAPI(default_response_class=PlainTextResponse)
pool = QueuePool(lambda: Connection("127.0.0.1", int(BESIDE_PORT)))


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
async def wait(ms: float = 0):
    """Wait by a timer of the loop."""
    await asyncio.sleep(ms / 1000)
    return "waited"


@app.get("/compute")
async def computed(ms: float = 0):
    """Compute on the loop."""
    return compute(ms)


def query():
    """Ask the database. FastAPI calls this in one of forty threads, as it is no coroutine."""
    with closing(pool.connect()) as database:
        database.query(N)
    return "done"


async def poll():
    """Wait for news that do not come."""
    await asyncio.sleep(float(N) / 1000)
    return "nothing new"


def collect():
    """Make figures of what happened, a little each 20 ms."""
    while True:
        compute(3)
        time.sleep(0.02)


app.get("/work")({"query": query, "poll": poll}[WHAT])
if WHAT == "poll":
    threading.Thread(target=collect, daemon=True).start()
uvicorn.run(app, host="127.0.0.1", port=int(PORT), backlog=1024, log_level="warning")
