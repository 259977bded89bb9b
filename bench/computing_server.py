"""A server of one thread that computes for each request, for scripts and tests that need one of a known cost.

    python bench/computing_server.py PORT ROUNDS [BODY_BYTES]

Each request costs so many rounds of a hash, which is the same CPU work each time; 4,000 take about a
millisecond. `/redirect` is answered with a redirect, and paths that begin with `/missing` with 404.
"""

import asyncio
import hashlib
import sys

REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
END = b"\r\n\r\n"


class Computing(asyncio.Protocol):
    """One connection."""

    def __init__(self, rounds: int, body_bytes: int) -> None:
        self._rounds = rounds
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n\r\n"
        self._answer = head.encode() + b"." * body_bytes
        self._came = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to answer on."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request; none has a body."""
        self._came += data
        while END in self._came:
            head, self._came = self._came.split(END, 1)
            self._transport.write(self._answered(head.split(b" ", 2)[1]))

    def _answered(self, path: bytes) -> bytes:
        if path.startswith(b"/redirect"):
            return REDIRECT
        if path.startswith(b"/missing"):
            return MISSING
        hashlib.pbkdf2_hmac("sha256", b"a request", b"an answer", self._rounds)
        return self._answer


async def serve(port: int, rounds: int, body_bytes: int) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Computing(rounds, body_bytes), "127.0.0.1", port, backlog=1_024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 2))
