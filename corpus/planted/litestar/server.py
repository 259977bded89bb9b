"""Litestar, with causes to plant: WORK=… granian --interface asgi server:app.

GET /work does WORK: wait:MS, diff:LINES (compares two price lists of so many lines), login:ROUNDS (checks a
password in one of Litestar's threads).
"""

import asyncio
import difflib
import hashlib
import os
import random
import time

from litestar import Litestar, MediaType, get

WHAT, N = os.environ["WORK"].split(":")
LINES = random.Random(8)
OLD = [f"{LINES.randrange(900)},{LINES.randrange(99)}" for _ in range(int(N))]
NEW = [line if LINES.random() < 0.7 else f"{LINES.randrange(900)},0" for line in OLD]
PASSWORD, SALT = b"a good one", b"sixteen bytes of"


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


@get("/", media_type=MediaType.TEXT)
async def hello() -> str:
    """Answer at once."""
    return "hello"


@get("/wait", media_type=MediaType.TEXT)
async def wait(ms: float = 0) -> str:
    """Wait by a timer of the loop."""
    await asyncio.sleep(ms / 1000)
    return "waited"


@get("/compute", media_type=MediaType.TEXT)
async def computed(ms: float = 0) -> str:
    """Compute on the loop."""
    return compute(ms)


@get("/work", media_type=MediaType.TEXT)
async def work() -> str:
    """Do what is planted."""
    if WHAT == "diff":
        return "\n".join(difflib.unified_diff(OLD, NEW, lineterm="", n=0))
    await asyncio.sleep(float(N) / 1000)
    return "done"


@get("/work", media_type=MediaType.TEXT, sync_to_thread=True)
def login() -> str:
    """Check a password, in a thread."""
    return hashlib.pbkdf2_hmac("sha256", PASSWORD, SALT, int(N)).hex()


app = Litestar([hello, wait, computed, login if WHAT == "login" else work], openapi_config=None)
