"""The standard library's HTTPServer with its ForkingMixIn: python forking_server.py PORT."""

import http.server
import socketserver
import sys

from stdlib import Handler


class Server(socketserver.ForkingMixIn, http.server.HTTPServer):
    """Forks for each connection; HTTP/1.0, as is the library's default, so a connection has one request."""

    request_queue_size = 1024


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
