"""A small server for the pictures: it answers in 20 ms, and stands still for a second once.

    python3 stalling_server.py PORT

It stands still from two seconds after the first request of a load on. A load is over when no request came for
1.5 seconds.
"""

import asyncio
import sys
import time

WAITS_S, STANDS_FROM_S, STANDS_S, OVER_S = 0.02, 2.0, 1.0, 1.5
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
first = last = 0.0


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer what comes on one connection."""
    global first, last
    while await reader.read(4096):
        now = time.monotonic()
        if now - last > OVER_S:
            first = now
            asyncio.get_running_loop().call_later(STANDS_FROM_S, time.sleep, STANDS_S)
        last = now
        await asyncio.sleep(WAITS_S)
        writer.write(ANSWER)
        last = time.monotonic()
    writer.close()


async def main() -> None:
    """Listen on the port."""
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=512)
    await server.serve_forever()


asyncio.run(main())
