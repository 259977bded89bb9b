"""Starlette with functions that block, run in its pool of threads: python starlette_server.py PORT."""

import sys

import uvicorn
import work
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


def answer(request):
    """Answer the three paths."""
    return PlainTextResponse(work.answer(request.url.path, request.url.query))


application = Starlette(routes=[Route(path, answer) for path in ("/", "/wait", "/compute")])
uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
