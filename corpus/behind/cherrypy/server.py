"""CherryPy, with causes to plant: python server.py PORT BESIDE_PORT WORK.

GET /work does WORK: wait:MS, label:MS (a printer's library that is not safe for threads: one at a time),
ask:MS (asks the server at BESIDE_PORT, and opens a connection for it).
"""

import sys
import threading
import time
import urllib.request

import cherrypy

PORT, BESIDE_PORT, WORK = sys.argv[1:]
WHAT, TEXT = WORK.split(":")
MS = float(TEXT)

printing = threading.Lock()


class Root:
    """The pages."""

    @cherrypy.expose
    def index(self):
        """Answer at once."""
        return "hello"

    @cherrypy.expose
    def wait(self, ms="0"):
        """Sleep in the thread of the pool."""
        time.sleep(float(ms) / 1000)
        return "waited"

    @cherrypy.expose
    def compute(self, ms="0"):
        """Arithmetic until this thread has used so much CPU time."""
        ends = time.thread_time_ns() + float(ms) * 1e6
        x = 1
        while time.thread_time_ns() < ends:
            for _ in range(500):
                x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        return str(x)

    @cherrypy.expose
    def work(self):
        """What was planted."""
        if WHAT == "label":
            with printing:
                time.sleep(MS / 1000)
        elif WHAT == "ask":
            with urllib.request.urlopen(f"http://127.0.0.1:{BESIDE_PORT}/wait?ms={MS}") as answer:
                answer.read(4)
        else:
            time.sleep(MS / 1000)
        return "done"


cherrypy.config.update(
    {
        "environment": "production",
        "server.socket_host": "127.0.0.1",
        "server.socket_port": int(PORT),
        "server.socket_queue_size": 128,
        "log.screen": False,
    }
)
cherrypy.quickstart(Root(), "/", {})
