"""A small server for the samples of the documentation, with a pool of six connections to another process.

    python3 pooled_server.py 8081 behind &
    python3 pooled_server.py 8080

The process behind it answers in 5 ms. A request keeps its connection for 11 ms more than that, as code does that
leaves a transaction open.
"""

import asyncio
import sys

POOL, ANSWERS_S, KEPT_S = 6, 0.005, 0.011
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


async def behind(port: int) -> None:
    """Answer each line."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            await asyncio.sleep(ANSWERS_S)
            writer.write(b"row\n")

    await (await asyncio.start_server(serve, "127.0.0.1", port)).serve_forever()


async def front(port: int) -> None:
    """Ask the other process for each request."""
    pool: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(POOL):
        pool.put_nowait(await asyncio.open_connection("127.0.0.1", port + 1))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            rows, asks = await pool.get()
            asks.write(b"select\n")
            await rows.readline()
            await asyncio.sleep(KEPT_S)
            pool.put_nowait((rows, asks))
            writer.write(ANSWER)
        writer.close()

    await (await asyncio.start_server(serve, "127.0.0.1", port, backlog=512)).serve_forever()


asyncio.run((behind if sys.argv[2:] else front)(int(sys.argv[1])))
