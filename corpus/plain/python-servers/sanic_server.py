"""Sanic with several worker processes: python sanic_server.py PORT WORKERS."""

import asyncio
import sys

from sanic import Sanic
from sanic.response import text
from work import compute

app = Sanic("crumple")


@app.get("/")
async def hello(_):
    """Answer at once."""
    return text("hello")


@app.get("/wait")
async def wait(request):
    """Wait by the loop's timer."""
    await asyncio.sleep(int(request.args.get("ms", "0")) / 1000)
    return text("waited")


@app.get("/compute")
async def burn(request):
    """Compute on the loop."""
    return text(compute(int(request.args.get("ms", "0"))))


if __name__ == "__main__":
    app.run(
        host="127.0.0.1",
        port=int(sys.argv[1]),
        workers=int(sys.argv[2]),
        access_log=False,
        motd=False,
        backlog=1024,
    )
