"""aiohttp, which waits on its loop and computes in threads: python aiohttp_server.py PORT THREADS."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web
from work import compute_unlocked

POOL = ThreadPoolExecutor(int(sys.argv[2]))


async def answer(request):
    """Answer the three paths."""
    ms = int(request.query.get("ms", "0"))
    if request.path == "/wait":
        await asyncio.sleep(ms / 1000)
    elif request.path == "/compute":
        return web.Response(text=await asyncio.get_running_loop().run_in_executor(POOL, compute_unlocked, ms))
    return web.Response(text="done")


application = web.Application()
application.add_routes([web.get(path, answer) for path in ("/", "/wait", "/compute")])
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None, backlog=1024)
