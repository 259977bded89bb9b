"""aiohttp on one loop, with causes to plant: python server.py PORT name=value...

backlog=N beside_port=N pool=N (connections to beside_port) threads=N (of the executor) work=STEPS

GET /work does the steps in turn, joined by "+": wait:MS, compute:MS (on the loop), block:MS (sleeps in a
thread of the executor), query:MS (asks the server at beside_port to wait).
"""

import asyncio
import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from aiohttp import ClientSession, TCPConnector, web

GIVEN = dict(part.split("=", 1) for part in sys.argv[2:])
STEPS = [(what, float(n)) for what, n in (part.split(":") for part in GIVEN.get("work", "wait:0").split("+"))]
EXECUTOR = ThreadPoolExecutor(int(GIVEN.get("threads", 6)))
SESSION = web.AppKey("session", ClientSession)


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF


async def perform(what, n, session):
    """Do one step."""
    if what == "wait":
        await asyncio.sleep(n / 1000)
    elif what == "compute":
        compute(n)
    elif what == "block":
        await asyncio.get_running_loop().run_in_executor(EXECUTOR, time.sleep, n / 1000)
    elif what == "query":
        async with session.get(f"http://127.0.0.1:{GIVEN['beside_port']}/wait?ms={n:g}") as answer:
            await answer.read()


async def answer(request):
    """Answer the four paths."""
    path, ms = request.path, float(request.query.get("ms", "0"))
    for what, n in {"/": [], "/work": STEPS}.get(path, [(path[1:], ms)]):
        await perform(what, n, request.app[SESSION])
    return web.Response(text="done")


async def session_of(application):
    """The client, as long as the server runs."""
    application[SESSION] = ClientSession(connector=TCPConnector(limit=int(GIVEN.get("pool", 100))))
    yield
    await application[SESSION].close()


logging.disable()  # it would tell of each connection that could not be accepted
served = web.Application()
served.cleanup_ctx.append(session_of)
served.add_routes([web.get(path, answer) for path in ("/", "/wait", "/compute", "/work")])
queue = int(GIVEN.get("backlog", 1024))
web.run_app(served, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None, backlog=queue)
