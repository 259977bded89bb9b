"""Flask's development server: python flask_server.py PORT."""

import logging
import sys

import work
from flask import Flask, request

application = Flask(__name__)
logging.getLogger("werkzeug").disabled = True


@application.get("/")
@application.get("/wait")
@application.get("/compute")
def answer():
    """Answer the three paths."""
    return work.answer(request.path, request.query_string.decode())


application.run(host="127.0.0.1", port=int(sys.argv[1]), threaded=True)
