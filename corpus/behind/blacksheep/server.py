"""BlackSheep, with causes to plant: BESIDE_PORT=PORT WORK=… uvicorn server:app.

GET /work does WORK: wait:MS, lookup:MS (a query that takes so long, by a driver that blocks), pack:MS (waits,
while a thread compresses logs over and over).
"""

import asyncio
import os
import threading
import time
import urllib.request
import zlib

import pymysql
from blacksheep import Application, Request, get, text

WHAT, N = os.environ["WORK"].split(":")
app = Application()


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def pack():
    """Compress yesterday's log, over and over; zlib lets go of the interpreter's lock."""
    log = b"".join(b"GET /articles/%d 200 %d\n" % (i, i * i) for i in range(200_000))
    while True:
        zlib.compress(log, 9)


class Database:
    """The one connection of the process, which the handlers use by turns, as they run by turns."""

    connection = None


@app.on_start
async def start(_):
    """Open what the handlers use."""
    if WHAT == "pack":
        threading.Thread(target=pack, daemon=True).start()
    if WHAT == "lookup":
        with urllib.request.urlopen(f"http://127.0.0.1:{os.environ['BESIDE_PORT']}/") as answer:
            port = int(answer.read())
        Database.connection = pymysql.connect(host="127.0.0.1", port=port, user="shop", database="shop")


def milliseconds(request):
    """The number of the query."""
    return float((request.query.get("ms") or ["0"])[0])


@get("/")
async def hello():
    """Answer at once."""
    return text("hello")


@get("/wait")
async def wait(request: Request):
    """Wait by a timer of the loop."""
    await asyncio.sleep(milliseconds(request) / 1000)
    return text("waited")


@get("/compute")
async def computed(request: Request):
    """Compute on the loop."""
    return text(compute(milliseconds(request)))


@get("/work")
async def work():
    """Do what was planted."""
    if WHAT == "lookup":
        with Database.connection.cursor() as cursor:
            cursor.execute("SELECT n, SLEEP(%s) FROM counters WHERE id = 1", (float(N) / 1000,))
    else:
        await asyncio.sleep(float(N) / 1000)
    return text("done")
