"""What the planted servers depend on: it answers after ms=N, `workers` requests at a time (0: any number).

python server.py PORT WORKERS
"""

import asyncio
import contextlib
import re
import sys

MS = re.compile(rb"ms=(\d+(?:\.\d+)?)")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ndone"


async def main(port, workers):
    """Serve until the process is ended."""
    turn = asyncio.Semaphore(workers) if workers else contextlib.nullcontext()

    async def serve(reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                wanted = MS.search(head)
                async with turn:
                    await asyncio.sleep(float(wanted[1]) / 1000 if wanted else 0)
                writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
