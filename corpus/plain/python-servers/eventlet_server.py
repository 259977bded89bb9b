"""eventlet's WSGI server, one process: python eventlet_server.py PORT."""

import eventlet

eventlet.monkey_patch()

import sys  # noqa: E402

from eventlet import wsgi  # noqa: E402
from work import application  # noqa: E402

wsgi.server(eventlet.listen(("127.0.0.1", int(sys.argv[1])), backlog=1024), application, log_output=False)
