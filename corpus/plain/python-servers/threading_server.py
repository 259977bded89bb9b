"""The standard library's ThreadingHTTPServer, with connections that stay: python threading_server.py PORT."""

import http.server
import sys

from stdlib import Handler


class Server(http.server.ThreadingHTTPServer):
    """Starts a thread for each connection."""

    request_queue_size = 1024


class Staying(Handler):
    """Keeps its connection open."""

    protocol_version = "HTTP/1.1"


Server(("127.0.0.1", int(sys.argv[1])), Staying).serve_forever()
