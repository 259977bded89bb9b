"""A small server for the picture of a job summary: each request hashes a number of times.

python3 hashing_server.py PORT ROUNDS
"""

import hashlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hashing(BaseHTTPRequestHandler):
    """Answers after its rounds."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Hash, and answer in one write."""
        value = b""
        for _ in range(int(sys.argv[2])):
            value = hashlib.sha256(value).digest()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hashing).serve_forever()
