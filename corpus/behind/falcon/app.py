"""Falcon under gunicorn's gthread, with causes to plant, in WORK: wait:MS, compute:MS, query:MS.

A query takes so long in the database whose port the server at BESIDE_PORT tells, on a connection of
SQLAlchemy's pool as it comes.
"""

import os
import time
import urllib.request

import falcon
import sqlalchemy

what, text = os.environ["WORK"].split(":")
n = float(text)


def compute(cpu_ms):
    """Use CPU time."""
    x, ends = 1, time.thread_time_ns() + int(cpu_ms * 1e6)
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


if what == "query":
    with urllib.request.urlopen(f"http://127.0.0.1:{os.environ['BESIDE_PORT']}/") as told:
        engine = sqlalchemy.create_engine(f"mysql+pymysql://shop@127.0.0.1:{told.read().decode()}/shop")
    QUERY = sqlalchemy.text(f"SELECT SLEEP({n / 1000})")


def query():
    """Ask the database."""
    with engine.connect() as connection:
        connection.execute(QUERY).all()


DO = {"wait": lambda: time.sleep(n / 1000), "compute": lambda: compute(n), "query": query}


def ms(request):
    """The parameter ms."""
    return request.get_param_as_float("ms", default=0.0)


class Hello:
    """Answers at once."""

    def on_get(self, _, response):
        """GET /."""
        response.text = "hello"


class Wait:
    """Waits."""

    def on_get(self, request, response):
        """GET /wait."""
        time.sleep(ms(request) / 1000)
        response.text = "waited"


class Compute:
    """Computes."""

    def on_get(self, request, response):
        """GET /compute."""
        response.text = compute(ms(request))


class Work:
    """Does what shows the cause."""

    def on_get(self, _, response):
        """GET /work."""
        DO[what]()
        response.text = "done"


application = falcon.App(media_type=falcon.MEDIA_TEXT)
for path, resource in (("/", Hello()), ("/wait", Wait()), ("/compute", Compute()), ("/work", Work())):
    application.add_route(path, resource)
