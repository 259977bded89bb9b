"""A server to begin with: the workloads hello and todos, a thread for each connection."""

import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TITLES = [
    ("Renew the TLS certificate", False, 1, "2027-01-08"),
    ("Rotate the backup keys", True, 2, "2027-01-11"),
    ("Answer the audit questions", False, 2, "2027-01-15"),
    ("Order two spare disks", True, 3, "2027-01-19"),
    ("Review the on-call rota", False, 3, "2027-01-22"),
    ("Plan the database upgrade", False, 1, "2027-01-29"),
]
TODOS = [
    {"id": number, "title": title, "done": done, "priority": priority, "due": due}
    for number, (title, done, priority, due) in enumerate(TITLES, 1)
]


class Handler(BaseHTTPRequestHandler):
    # Connections are kept.
    protocol_version = "HTTP/1.1"
    # An answer goes out at once, not when the one before is acknowledged.
    disable_nagle_algorithm = True
    # Head and body in one write.
    wbufsize = -1

    def do_GET(self):
        url = urlsplit(self.path)
        given = {name: values[-1] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        if url.path == "/hello":
            self.hello(given.get("delay_ms", "0"))
        elif url.path == "/todos":
            self.answer(200, "application/json", json.dumps(TODOS, separators=(",", ":")))
        else:
            self.answer(404, "text/plain", "no such path")

    def hello(self, delay_ms):
        if not re.fullmatch("[0-9]{1,5}", delay_ms) or int(delay_ms) > 60000:
            self.answer(400, "text/plain", "delay_ms must be a whole number from 0 to 60000")
            return
        time.sleep(int(delay_ms) / 1000)
        self.answer(200, "text/plain", "Hello, World!")

    def answer(self, status, content_type, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing is logged for each request."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = int(sys.argv[2])

    def handle_error(self, request, client_address):
        # A client that went away is no news.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
