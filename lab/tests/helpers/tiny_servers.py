"""Tiny servers for tests: a folder with a server.toml and a Python program, right or wrong in one way."""

import sys
from pathlib import Path

from crumple.subject import server_toml
from crumple.subject.server_toml import ServerDescription

TOML = """
title = "Tiny"
language = "Python"
io_model = "thread-per-connection"
workloads = ["hello"]
about = "For tests."

[requires.python]
command = ["{python}", "--version"]
version = 'Python (\\d+\\.\\d+)'
at_least = "3.11"

[start]
command = ["{python}", "server.py", "{{port}}", "{{scratch}}"]
"""

# Answers the hello workload. Wrong servers replace the parts in capitals.
PROGRAM = """
import http.server, os, re, subprocess, sys, time, urllib.parse

PORT, SCRATCH = int(sys.argv[1]), sys.argv[2]

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        known = url.path == "/hello"
        delay_ms = urllib.parse.parse_qs(url.query, keep_blank_values=True).get("delay_ms", ["0"])[-1]
        if known and REFUSES and not (re.fullmatch("[0-9]+", delay_ms) and int(delay_ms) <= 60000):
            body, status = b"no", 400
        else:
            body, status = (BODY, STATUS) if known else (b"no", UNKNOWN)
        if known and WAITS and status == 200:
            time.sleep(int(delay_ms) / 1000)
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        if CLOSE:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

BODY, STATUS, UNKNOWN, CONTENT_TYPE, CLOSE = b"Hello, World!", 200, 404, "text/plain", False
WAITS, REFUSES = True, True
# HERE
print("serving", PORT, flush=True)
http.server.ThreadingHTTPServer.request_queue_size = 1024
http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""

# Leaves its session and its parent, as a daemon does, and writes its pid to a file.
DAEMON = """
subprocess.Popen([sys.executable, "-c", '''
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
with open(sys.argv[1] + ".part", "w") as file: file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
''', {pid_file!r}]).wait()
while not os.path.exists({pid_file!r}): time.sleep(0.01)
"""


def write(root: Path, name: str, *, here: str = "", program: str | None = None, toml: str = "") -> Path:
    """A server's folder under root/servers. `here`: lines before it serves; `toml`: added to server.toml."""
    folder = root / "servers" / name
    folder.mkdir(parents=True)
    (folder / "server.toml").write_text(TOML.format(python=sys.executable) + toml)
    (folder / "server.py").write_text(program if program is not None else PROGRAM.replace("# HERE", here))
    return folder


def described(root: Path, name: str = "tiny", **parts: str) -> ServerDescription:
    """A server written as by `write`, and loaded."""
    return server_toml.load(write(root, name, **parts))
