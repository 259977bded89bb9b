"""Twisted: python twisted_server.py PORT THREADS. With threads it computes in the pool of the reactor."""

import sys

from twisted.internet import reactor, task, threads
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site
from work import compute, compute_unlocked

THREADS = int(sys.argv[2])


class Answer(Resource):
    """Waits by the reactor's timer."""

    isLeaf = True  # noqa: N815

    def render_GET(self, request):  # noqa: N802
        """Answer the three paths."""
        ms = int(request.args.get(b"ms", [b"0"])[0])
        gone = request.notifyFinish()
        if request.path == b"/":
            return b"hello"
        if request.path == b"/wait":
            later = task.deferLater(reactor, ms / 1000, lambda: "waited")
        elif request.path == b"/compute" and THREADS:
            later = threads.deferToThread(compute_unlocked, ms)
        elif request.path == b"/compute":
            return compute(ms).encode()
        else:
            request.setResponseCode(404)
            return b""
        gone.addErrback(lambda _: later.cancel())
        later.addCallback(lambda body: (request.write(body.encode()), request.finish()))
        later.addErrback(lambda _: None)
        return NOT_DONE_YET


if THREADS:
    reactor.suggestThreadPoolSize(THREADS)
reactor.listenTCP(int(sys.argv[1]), Site(Answer()), interface="127.0.0.1", backlog=1024)
reactor.run()
