"""gevent's WSGI server, one process: python gevent_server.py PORT."""

from gevent import monkey

monkey.patch_all()

import sys  # noqa: E402

from gevent.pywsgi import WSGIServer  # noqa: E402
from work import application  # noqa: E402

WSGIServer(("127.0.0.1", int(sys.argv[1])), application, log=None, backlog=1024).serve_forever()
