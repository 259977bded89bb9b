"""The handler of the two servers of the standard library."""

import http.server
from urllib.parse import urlsplit

import work


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers the three paths in the process or thread that serves the connection."""

    # Head and body leave as one piece.
    wbufsize = -1

    def do_GET(self):
        """Answer one request."""
        url = urlsplit(self.path)
        body = work.answer(url.path, url.query)
        content = (body or "").encode()
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Write no log."""
