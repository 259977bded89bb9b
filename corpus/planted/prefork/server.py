"""http.server with processes that are forked in advance, with causes to plant.

server.py PORT PROCESSES BACKLOG WORK SCRATCH; GET /work does WORK: wait:MS, order:COUNT (enters an order of
so many items into an SQLite database), render:COUNT (so many rows).
"""

import http.server
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from string import Template
from urllib.parse import parse_qs, urlsplit

ROW = Template("<tr><td>$number</td><td>$name</td><td>$price</td></tr>")


def compute(ms):
    """Use so much CPU time of this thread."""
    ends_ns, x = time.thread_time_ns() + ms * 1e6, 1
    while time.thread_time_ns() < ends_ns:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0xFFFFFFFF
    return str(x)


def order(database, items):
    """Enter an order: take each item from the stock, all or none."""
    database.execute("BEGIN IMMEDIATE")
    for item in range(items):
        database.execute("UPDATE stock SET count = count - 1 WHERE id = ?", (item,))
        database.execute("SELECT SUM(count) FROM stock WHERE shelf = ?", (item % 50,)).fetchone()
    database.execute("COMMIT")


def render(rows):
    """Make a table of a template, row for row."""
    return "\n".join(ROW.substitute(number=i, name=f"article {i}", price=i / 7) for i in range(rows))


class Server(http.server.HTTPServer):
    """A server whose listening socket all processes have."""

    def handle_error(self, request, client_address):
        """Say nothing of clients that are gone."""


class Handler(http.server.BaseHTTPRequestHandler):
    """It closes each connection after its answer, as http.server does where nobody tells it otherwise."""

    database = None

    def do_GET(self):
        """Answer."""
        url = urlsplit(self.path)
        ms = float(parse_qs(url.query).get("ms", ["0"])[0])
        if url.path == "/":
            self.answer("hello")
        elif url.path == "/wait":
            time.sleep(ms / 1000)
            self.answer("waited")
        elif url.path == "/compute":
            self.answer(compute(ms))
        elif url.path == "/work":
            self.answer(self.work())
        else:
            self.send_error(404)

    def work(self):
        """Do what is planted."""
        if WHAT == "order":
            order(Handler.database, NUMBER)
        elif WHAT == "render":
            return render(NUMBER)
        else:
            time.sleep(NUMBER / 1000)
        return "done"

    def answer(self, text):
        """Send it."""
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Log nothing."""


def connect():
    """Open the database, which waits up to a minute for its lock."""
    return sqlite3.connect(PATH, timeout=60, isolation_level=None)


def prepare():
    """Make the database, in which a commit waits for no disk."""
    database = connect()
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE stock (id INTEGER PRIMARY KEY, shelf INTEGER, count INTEGER)")
    database.executemany("INSERT INTO stock VALUES (?, ?, 1000000)", ((i, i % 50) for i in range(2000)))
    database.close()


def serve(server):
    """Serve in a process of its own, for good."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if WHAT == "order":
        Handler.database = connect()
        Handler.database.execute("PRAGMA synchronous = OFF")
    server.serve_forever()


def main(port, processes, backlog):
    """Fork, and end as a whole."""
    if WHAT == "order":
        prepare()
    Server.request_queue_size = backlog
    server = Server(("127.0.0.1", port), Handler)
    children = []
    for _ in range(processes):
        child = os.fork()
        if child == 0:
            serve(server)
            os._exit(0)
        children.append(child)

    def end(*_):
        for each in children:
            os.kill(each, signal.SIGTERM)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    os.wait()
    end()


WHAT, _, given = sys.argv[4].partition(":")
NUMBER = int(given)
PATH = Path(sys.argv[5]) / "shop.db"
main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
