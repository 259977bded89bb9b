"""Granian with a WSGI application: python granian_server.py PORT THREADS."""

import sys

from granian import Granian

if __name__ == "__main__":
    Granian(
        "work:application",
        address="127.0.0.1",
        port=int(sys.argv[1]),
        interface="wsgi",
        workers=1,
        blocking_threads=int(sys.argv[2]),
        log_enabled=False,
    ).serve()
