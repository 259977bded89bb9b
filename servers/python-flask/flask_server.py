"""Serves flask_app.py by Flask's own server, werkzeug's: a thread for each connection."""

import argparse

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from flask_app import app

BACKLOG = 4096


class Handler(WSGIRequestHandler):
    """Logs no requests."""

    def log_request(self, *_: object) -> None:
        pass


arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, required=True)

ThreadedWSGIServer.request_queue_size = BACKLOG
ThreadedWSGIServer("127.0.0.1", arguments.parse_args().port, app, handler=Handler).serve_forever()
