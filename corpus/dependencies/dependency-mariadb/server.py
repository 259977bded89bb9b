"""A MariaDB on which planted servers depend: python server.py PORT MARIADBD SCRATCH.

GET / on PORT answers the port of the database. User and database are both called shop, without a password.
"""

import http.server
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

FIRST = """\
CREATE DATABASE IF NOT EXISTS shop;
CREATE USER IF NOT EXISTS shop@'%';
GRANT ALL ON shop.* TO shop@'%';
CREATE TABLE IF NOT EXISTS shop.counters (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB;
INSERT IGNORE INTO shop.counters VALUES (1, 0), (2, 0);
"""


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


def main(port, mariadbd, scratch):
    """Serve until the process is ended, or the database ends."""
    data, first, db_port = scratch / "data", scratch / "first.sql", free_port()
    shutil.copytree("data", data)
    first.write_text(FIRST)
    database = subprocess.Popen(
        [
            *(mariadbd, "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={scratch}/db.socket"),
            *("--bind-address=127.0.0.1", f"--port={db_port}", "--skip-name-resolve", f"--init-file={first}"),
            *("--max-connections=500", "--innodb-flush-log-at-trx-commit=2", f"--pid-file={scratch}/db.pid"),
        ],
        stderr=subprocess.DEVNULL,
    )
    while database.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", db_port)).close()
            break
        except OSError:
            time.sleep(0.05)

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


main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
