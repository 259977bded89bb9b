"""A small server for the samples of the documentation: four workers, each of which waits 20 ms a request.

python3 four_workers.py PORT
"""

import socket
import sys
import threading
import time
from contextlib import suppress

WORKERS, WAITS_S = 4, 0.02
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


def work(listener: socket.socket) -> None:
    """Serve one connection after the other."""
    while True:
        connection, _ = listener.accept()
        # A client that resets its connection ends this one, not the worker.
        with connection, suppress(OSError):
            while connection.recv(4096):
                time.sleep(WAITS_S)
                connection.sendall(ANSWER)


with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128) as listener:
    for _ in range(WORKERS):
        threading.Thread(target=work, args=(listener,), daemon=True).start()
    threading.Event().wait()
