"""Tornado, with causes to plant: python server.py PORT BESIDE_PORT WORK PROCESSES SCRATCH.

GET /work does WORK: wait:MS, ask:MS (asks the server at BESIDE_PORT, with Tornado's own client as it comes),
audit:MS (waits; beside it, a thread writes what happened and waits for the disk, again and again).
"""

import asyncio
import os
import sys
import threading
import time

from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.process import fork_processes
from tornado.web import Application, RequestHandler

port, beside_port, work, processes, scratch = sys.argv[1:]
what, text = work.split(":")
ms = float(text)


def compute(cpu_ms):
    """Use CPU time."""
    x, ends = 1, time.thread_time_ns() + int(cpu_ms * 1e6)
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


def audit():
    """Write and wait for the disk, for ever."""
    record = b"r" * 4096
    file = os.open(f"{scratch}/audit", os.O_WRONLY | os.O_CREAT, 0o600)
    while True:
        os.pwrite(file, record, 0)
        os.fsync(file)


class Answer(RequestHandler):
    """Waits, computes and works."""

    async def get(self, path):
        """Answer the path."""
        wanted = float(self.get_query_argument("ms", "0"))
        self.set_header("Content-Type", "text/plain")
        if path == "":
            self.finish("hello")
        elif path == "wait":
            await asyncio.sleep(wanted / 1000)
            self.finish("waited")
        elif path == "compute":
            self.finish(compute(wanted))
        elif path == "work":
            if what == "ask":
                await AsyncHTTPClient().fetch(f"http://127.0.0.1:{beside_port}/wait?ms={ms}")
            else:
                await asyncio.sleep(ms / 1000)
            self.finish("done")
        else:
            self.send_error(404)


async def main(sockets):
    """Serve until the process is ended."""
    application = Application([(r"/(.*)", Answer)], log_function=lambda _: None)
    HTTPServer(application).add_sockets(sockets)
    if what == "audit":
        threading.Thread(target=audit, daemon=True).start()
    await asyncio.Event().wait()


sockets = bind_sockets(int(port), "127.0.0.1", backlog=1024)
if int(processes) > 1:
    fork_processes(int(processes), 0)
asyncio.run(main(sockets))
