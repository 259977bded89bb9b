"""The workloads as an ASGI application on one event loop: sleep and queries are awaited, threads read files.

What costs CPU runs in the loop and holds it up. It listens nowhere: uvicorn serves it.
"""

import asyncio
import os
from uuid import uuid4

from anyio import Path
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.sql.elements import TextClause
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

import queries
import work
from parameters import BadParameterError, one_of, whole_number
from spin import spin
from todos import TODOS

database = create_async_engine(**queries.pool("aiomysql"))


async def hello(request: Request):
    await asyncio.sleep(number(request, "delay_ms", 0, 0, 60_000) / 1000)
    return PlainTextResponse("Hello, World!")


async def todos(_: Request):
    return JSONResponse(TODOS)


async def hash_of_file(request: Request):
    rounds = number(request, "n", 1, 1, 100_000)
    content = await Path(os.environ["HASH_FILE"]).read_bytes()
    return PlainTextResponse(work.digest(content, rounds))


async def file(request: Request):
    fill = one_of("fill", request.query_params.get("fill", "each"), work.FILLS)
    path = Path(os.environ["FILES_FOLDER"]) / uuid4().hex
    try:
        await path.write_text(work.FILLS[fill]())
        return PlainTextResponse(await path.read_text())
    finally:
        await path.unlink(missing_ok=True)


async def options(_: Request):
    return JSONResponse(await asked(queries.OPTIONS))


async def rows(_: Request):
    return JSONResponse(await asked(queries.ROWS))


async def primes(request: Request):
    return JSONResponse(work.primes(number(request, "below", 1_000_000, 0, 10_000_000)))


async def mix(request: Request):
    wait_ms = number(request, "wait_ms", 0, 0, 60_000)
    spin_us = number(request, "spin_us", 0, 0, 10_000_000)
    length = number(request, "bytes", 13, 0, 10_000_000)
    await asyncio.sleep(wait_ms / 1000)
    spin(spin_us)
    return PlainTextResponse(work.letters(length))


async def bad_parameter(_: Request, error: Exception):
    return PlainTextResponse(str(error), 400)


async def no_answer_from_database(_: Request, __: Exception):
    return PlainTextResponse("the database does not answer", 500)


async def asked(query: TextClause) -> list[dict[str, object]]:
    async with database.connect() as connection:
        return [dict(row) for row in (await connection.execute(query)).mappings()]


def number(request: Request, name: str, default: int, least: int, most: int) -> int:
    return whole_number(name, request.query_params.get(name, str(default)), least, most)


app = Starlette(
    routes=[
        Route("/hello", hello),
        Route("/todos", todos),
        Route("/hash", hash_of_file),
        Route("/file", file),
        Route("/options", options),
        Route("/rows", rows),
        Route("/primes", primes),
        Route("/mix", mix),
    ],
    exception_handlers={BadParameterError: bad_parameter, SQLAlchemyError: no_answer_from_database},
)
