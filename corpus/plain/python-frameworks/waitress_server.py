"""waitress: python waitress_server.py PORT THREADS."""

import logging
import sys

import waitress
from work import application

# It warns of each request that has to wait.
logging.getLogger("waitress.queue").disabled = True
waitress.serve(application, host="127.0.0.1", port=int(sys.argv[1]), threads=int(sys.argv[2]))
