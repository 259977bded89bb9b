"""cheroot, the server of CherryPy: python cheroot_server.py PORT THREADS."""

import sys

from cheroot.wsgi import Server
from work import application

address = ("127.0.0.1", int(sys.argv[1]))
Server(address, application, numthreads=int(sys.argv[2]), request_queue_size=1024).start()
