"""Tornado, one process: python tornado_server.py PORT."""

import asyncio
import logging
import sys

import tornado.web
from work import compute


class Answer(tornado.web.RequestHandler):
    """Waits by the loop's timer and computes on the loop."""

    async def get(self):
        """Answer the three paths."""
        ms = int(self.get_argument("ms", "0"))
        if self.request.path == "/wait":
            await asyncio.sleep(ms / 1000)
        self.write(compute(ms) if self.request.path == "/compute" else "done")


async def main():
    """Serve until the process is ended."""
    logging.getLogger("tornado.access").disabled = True
    application = tornado.web.Application([(path, Answer) for path in ("/", "/wait", "/compute")])
    application.listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
