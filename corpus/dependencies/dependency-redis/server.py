"""A Redis on which planted servers depend: python server.py PORT REDIS KEYS.

GET / on PORT answers the port of the database, which has so many keys.
"""

import http.server
import socket
import subprocess
import sys
import threading
import time


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


def fill(db_port, keys):
    """Wait for the database and make the keys."""
    while True:
        try:
            with socket.create_connection(("127.0.0.1", db_port)) as stream:
                stream.sendall(f"DEBUG POPULATE {keys} session 16\r\n".encode())
                return stream.recv(100)
        except OSError:
            time.sleep(0.05)


def main(port, redis, keys):
    """Serve until the process is ended, or the database ends."""
    db_port = free_port()
    options = {
        "port": db_port,
        "bind": "127.0.0.1",
        "save": "",
        "appendonly": "no",
        "enable-debug-command": "yes",
        "loglevel": "warning",
    }
    database = subprocess.Popen(
        [redis, *(text for name, value in options.items() for text in (f"--{name}", str(value)))],
        stdout=subprocess.DEVNULL,
    )
    fill(db_port, keys)

    class Told(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = str(db_port).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Told)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.exit(database.wait())


main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
