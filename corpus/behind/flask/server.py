"""Flask, with causes to plant: BESIDE_PORT=PORT WORK=… gunicorn server:app.

GET /work does WORK: wait:MS, query:MS (a query that takes so long, over a pool of DBUtils).
"""

import os
import time
import urllib.request

import pymysql
from dbutils.pooled_db import PooledDB
from flask import Flask, request

WHAT, N = os.environ["WORK"].split(":")
BESIDE = f"http://127.0.0.1:{os.environ['BESIDE_PORT']}"
app = Flask(__name__)
pool = None


def compute(cpu_ms):
    """Arithmetic until this thread has used so much CPU time."""
    ends = time.thread_time_ns() + cpu_ms * 1e6
    x = 1
    while time.thread_time_ns() < ends:
        for _ in range(500):
            x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return str(x)


if WHAT == "query":
    with urllib.request.urlopen(BESIDE) as answer:
        database_port = int(answer.read())
    # Whoever finds no connection waits for one (blocking).
    pool = PooledDB(
        pymysql,
        maxconnections=3,
        blocking=True,
        host="127.0.0.1",
        port=database_port,
        user="shop",
        database="shop",
    )


def query():
    """Ask the database, with a connection that goes back to the pool."""
    with pool.connection() as connection, connection.cursor() as cursor:
        cursor.execute("DO SLEEP(%s)", (float(N) / 1000,))


works = {"wait": lambda: time.sleep(float(N) / 1000), "query": query}


@app.get("/")
def hello():
    """Answer at once."""
    return "hello"


@app.get("/wait")
def wait():
    """Hold the thread."""
    time.sleep(request.args.get("ms", 0, float) / 1000)
    return "waited"


@app.get("/compute")
def computed():
    """Compute in the thread."""
    return compute(request.args.get("ms", 0, float))


@app.get("/work")
def work():
    """Do what was planted."""
    works[WHAT]()
    return "done"
