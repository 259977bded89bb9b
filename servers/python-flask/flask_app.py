"""The workloads as a Flask application that blocks: waits, files and queries hold their thread or process.

It listens nowhere: flask_server.py serves it from threads, gunicorn from processes.
"""

import json
import os
import time
from pathlib import Path
from uuid import uuid4

from flask import Flask, Response, request
from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.elements import TextClause

import queries
import work
from parameters import BadParameterError, one_of, whole_number
from spin import spin
from todos import TODOS

app = Flask(__name__)
database = create_engine(**queries.pool("pymysql"))


@app.get("/hello")
def hello():
    time.sleep(number("delay_ms", 0, 0, 60_000) / 1000)
    return answer("Hello, World!")


@app.get("/todos")
def todos():
    return answer_json(TODOS)


@app.get("/hash")
def hash_of_file():
    rounds = number("n", 1, 1, 100_000)
    content = Path(os.environ["HASH_FILE"]).read_bytes()
    return answer(work.digest(content, rounds))


@app.get("/file")
def file():
    fill = one_of("fill", request.args.get("fill", "each"), work.FILLS)
    path = Path(os.environ["FILES_FOLDER"]) / uuid4().hex
    try:
        path.write_text(work.FILLS[fill]())
        return answer(path.read_text())
    finally:
        path.unlink(missing_ok=True)


@app.get("/options")
def options():
    return answer_json(asked(queries.OPTIONS))


@app.get("/rows")
def rows():
    return answer_json(asked(queries.ROWS))


@app.get("/primes")
def primes():
    return answer_json(work.primes(number("below", 1_000_000, 0, 10_000_000)))


@app.get("/mix")
def mix():
    wait_ms = number("wait_ms", 0, 0, 60_000)
    spin_us = number("spin_us", 0, 0, 10_000_000)
    length = number("bytes", 13, 0, 10_000_000)
    time.sleep(wait_ms / 1000)
    spin(spin_us)
    return answer(work.letters(length))


@app.errorhandler(BadParameterError)
def bad_parameter(error: BadParameterError):
    return answer(str(error), 400)


@app.errorhandler(SQLAlchemyError)
def no_answer_from_database(_: SQLAlchemyError):
    return answer("the database does not answer", 500)


def asked(query: TextClause) -> list[dict[str, object]]:
    with database.connect() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def number(name: str, default: int, least: int, most: int) -> int:
    return whole_number(name, request.args.get(name, str(default)), least, most)


def answer(body: str, status: int = 200) -> Response:
    return Response(body, status, mimetype="text/plain")


def answer_json(content: object) -> Response:
    # Not jsonify, which sorts keys and ends with a line feed.
    return Response(json.dumps(content, separators=(",", ":")), mimetype="application/json")
